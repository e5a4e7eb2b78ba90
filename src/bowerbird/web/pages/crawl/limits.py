"""The limits of a crawl's services: each a window that fills and is emptied, and whose it is."""

from __future__ import annotations

from datetime import datetime, timedelta

from msgspec import Struct

from bowerbird.limits.bucket import Bucket
from bowerbird.limits.budget import BudgetStatus, budget_statuses, is_budget
from bowerbird.limits.rate_limits import read_buckets
from bowerbird.ports import Transaction
from bowerbird.reports.status.health import Refusal, read_refusals
from bowerbird.reports.status.limit_names import limit_words


class Window(Struct, frozen=True, kw_only=True):
    """One limit as it is now."""

    words: str
    service: str
    allowance: int
    used: int
    in_flight: int
    length: timedelta
    passed: float | None
    """Part of the window's time that is over; None: it has not begun."""
    resets_at: datetime | None
    waits_until: datetime | None
    spent: int
    """Over all windows."""
    refused: int

    @property
    def share(self) -> float:
        return self.used / max(1, self.allowance)


class Limits(Struct, frozen=True, kw_only=True):
    """All limits of some services."""

    windows: list[Window]
    """The tightest first."""
    purses: list[BudgetStatus]
    refusals: list[Refusal]
    at: datetime


async def read_limits(tx: Transaction, crawl: str, services: set[str], now: datetime) -> Limits:
    states = [state for state in await read_buckets(tx) if state.name.partition("/")[0] in services]
    buckets = [state.current(now) for state in states if not is_budget(state.name)]
    named = limit_words(state.name for state in buckets)
    windows = [_window(state, named[state.name], now) for state in buckets]
    budgets = budget_statuses(await read_buckets(tx), now)
    money = [each for each in budgets if each.of in services or (each.is_crawl and each.of == crawl)]
    refusals = [refusal for refusal in await read_refusals(tx) if refusal.service in services]
    return Limits(windows=sorted(windows, key=lambda each: (-each.share, each.words)), purses=money, refusals=refusals, at=now)


def _window(state: Bucket, words: str, now: datetime) -> Window:
    resets = None if state.reset_at is None else state.resumes_at
    waits = state.backoff_until if state.backoff_until is not None and state.backoff_until > now else None
    passed = None if resets is None else min(1.0, max(0.0, 1 - (resets - now) / state.window))
    return Window(
        words=words,
        service=state.name.partition("/")[0],
        allowance=state.allowance,
        used=state.allowance - max(0, state.available),
        in_flight=state.in_flight,
        length=state.window,
        passed=passed,
        resets_at=resets,
        waits_until=waits,
        spent=state.spent,
        refused=state.refused,
    )
