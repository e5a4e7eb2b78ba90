"""What an app has used this month: posts against the cap and money against its credits, each resource once a day."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any

from msgspec import Struct, field

from bowerbird.simulated.wire import Reply
from bowerbird.simulated.world.hashing import mix
from bowerbird.simulated.x_v2.problems import capped, out_of_credits

PRICES = {"post": 5, "user": 10, "follow": 10, "like": 1, "trends": 10, "counts": 5, "list": 5}
"""Thousandths of a dollar for each object returned; trends and counts by the request."""


class Budget(Struct, frozen=True, kw_only=True):
    """What an app may use in a calendar month; without credits it is not billed."""

    posts: int = 3_000_000
    credits: int | None = None
    """Thousandths of a dollar."""


class _Account(Struct):
    month: tuple[int, int] = (0, 0)
    day: str = ""
    posts: int = 0
    spent: int = 0
    by_day: dict[str, int] = field(default_factory=dict)
    seen: set[tuple[str, str]] = field(default_factory=set)
    """What was returned today already: it is not counted again before midnight UTC."""


class Meter:
    """Counts by app what was returned; failed calls are free."""

    def __init__(self, budget: Budget) -> None:
        self._budget = budget
        self._accounts: dict[str, _Account] = {}

    def refusal(self, app: str, is_about_posts: bool, now: datetime) -> Reply | None:
        """The answer to an app that has used up its posts or its credits."""
        account = self._account(app, now)
        if self._budget.credits is not None and account.spent >= self._budget.credits:
            return out_of_credits(_number(app))
        return capped(_number(app)) if is_about_posts and account.posts >= self._budget.posts else None

    def count(self, app: str, kind: str, keys: Iterable[str], now: datetime) -> None:
        account = self._account(app, now)
        new = {(kind, key) for key in keys} - account.seen
        account.seen |= new
        account.spent += PRICES[kind] * len(new)
        if kind == "post":
            account.posts += len(new)
            account.by_day[account.day] = account.by_day.get(account.day, 0) + len(new)

    def spent(self, app: str, now: datetime) -> int:
        """Thousandths of a dollar this month."""
        return self._account(app, now).spent

    def usage(self, app: str, now: datetime, days: int) -> dict[str, Any]:
        account, project = self._account(app, now), str(_number(app))
        listed = [f"{now - timedelta(days=back):%Y-%m-%d}" for back in range(days)]
        daily = [{"date": f"{day}T00:00:00.000Z", "usage": str(account.by_day.get(day, 0))} for day in listed]
        return {
            "cap_reset_day": 1,
            "project_cap": str(self._budget.posts),
            "project_id": project,
            "project_usage": str(account.posts),
            "daily_project_usage": {"project_id": project, "usage": daily},
        }

    def _account(self, app: str, now: datetime) -> _Account:
        account = self._accounts.setdefault(app, _Account())
        if account.month != (now.year, now.month):
            account.month, account.posts, account.spent = (now.year, now.month), 0, 0
        if account.day != f"{now:%Y-%m-%d}":
            account.day, account.seen = f"{now:%Y-%m-%d}", set()
        return account


def _number(app: str) -> int:
    return mix(sum(app.encode()), 77) >> 4
