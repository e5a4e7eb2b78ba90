"""The pages under `/_simulated/`: the truth and the audit as JSON, for demos and evaluations on the same machine."""

from __future__ import annotations

from datetime import datetime, timedelta
from itertools import islice
from typing import Any

from bowerbird.errors import UserError
from bowerbird.model import Request
from bowerbird.simulated.service import SimulatedService
from bowerbird.simulated.wire import Params, Reply, reply
from bowerbird.simulated.world.hashing import generator
from bowerbird.simulated.world.people.vocabulary import TOWNS
from bowerbird.simulated.world.posts.events import event_terms
from bowerbird.simulated.world.settings import from_ms

PREFIX = "/_simulated/"
_MOST_HAPPENINGS = 100_000
LOOPBACK = frozenset({"127.0.0.1", "::1"})


class TruthPages:
    """Answers what no visitor may ask; only to callers on the same machine, and never counted against limits."""

    def __init__(self, service: SimulatedService) -> None:
        self._service = service

    def handle(self, request: Request, now: datetime, address: str) -> Reply:
        if address not in LOOPBACK:
            return reply({"error": "The truth is told on the same machine only."}, 403)
        now = self._service.world.settings.moment(now)
        page, _, rest = request.path.removeprefix(PREFIX).partition("/")
        params = Params(request)
        try:
            return self._page(page, rest, params, request.method, now)
        except (UserError, ValueError) as problem:
            return reply({"error": str(problem)}, 404)

    def _page(self, page: str, rest: str, params: Params, method: str, now: datetime) -> Reply:
        if page == "audit":
            return reply(self._service.audit())
        if page == "accounts":
            return reply(self._accounts(params, now))
        if page == "truth":
            return reply(self._account(rest, params, now) if rest else self._summary(now))
        if page == "events":
            return reply(self._events(params, now))
        if page == "happenings":
            return reply(self._happenings(params, now))
        if page == "tokens" and method == "POST" and self._service.tokens.get(rest) is not None:
            self._service.tokens.mark(rest, params.get("state", "revoked"))
            return reply({"token": rest, "state": params.get("state", "revoked")})
        raise UserError("There are /_simulated/audit, accounts, events, happenings, truth, truth/KEY and (POST) tokens/TOKEN.")

    def _summary(self, now: datetime) -> dict[str, Any]:
        settings = self._service.world.settings
        return {
            "dialect": self._service.dialect.name,
            "accounts": settings.accounts,
            "seed": settings.seed,
            "start": settings.start.isoformat(),
            "now": now.isoformat(),
            "follows": len(self._service.world.graph),
        }

    def _accounts(self, params: Params, now: datetime) -> list[dict[str, str]]:
        """A reproducible sample of existing accounts."""
        rng = generator(self._service.world.settings.seed, 99, params.integer("sample", 1))
        count = min(max(params.integer("count", 20), 1), 10_000)
        chosen = self._service.truth.sample_accounts(count, rng, now, writers=params.flag("writers"))
        dialect = self._service.dialect
        return [{"key": dialect.account_key(account), "handle": dialect.handle_of(account, now)} for account in chosen]

    def _events(self, params: Params, now: datetime) -> list[dict[str, Any]]:
        """The events of a stretch of time, by default of the last three days, with the posts about each."""
        since, until = _stretch(params, now, timedelta(days=3))
        truth, dialect = self._service.truth, self._service.dialect
        posts = truth.event_posts(since, min(until, now))
        return [
            {
                "begins": from_ms(event.begins_ms).isoformat(),
                "hashtags": list(event.tags),
                "words": event_terms(event.number, TOWNS[event.town].language),
                "posts": sorted(map(dialect.post_key, posts.get(event.number, ()))),
            }
            for event in truth.events(since, min(until, now))
        ]

    def _happenings(self, params: Params, now: datetime) -> list[dict[str, Any]]:
        """What streams had to tell, by default in the last minute of the world's time."""
        since, until = _stretch(params, now, timedelta(minutes=1))
        return [
            {
                "at": each.at.isoformat(),
                "kind": each.kind.name.lower(),
                "account": each.account,
                "post": each.post,
                "other": each.other,
            }
            for each in islice(self._service.happenings(since, min(until, now)), _MOST_HAPPENINGS)
        ]

    def _account(self, key: str, params: Params, now: datetime) -> dict[str, Any]:
        service = self._service
        account = service.account(key)
        since, until = _stretch(params, now, timedelta(days=7))
        posts = service.posts_to_find(key, since, until, now)
        return {
            "key": key,
            "handle": service.dialect.handle_of(account, now),
            "availability": service.truth.availability(account, now),
            "post_count": service.world.post_count(account, int(now.timestamp() * 1000)),
            "posts": {post: at.isoformat() if at else None for post, at in posts.items()},
            "followers": sorted(map(service.dialect.account_key, service.truth.followers(account, now))),
            "following": sorted(map(service.dialect.account_key, service.truth.following(account, now))),
        }


def _stretch(params: Params, now: datetime, usual: timedelta) -> tuple[datetime, datetime]:
    until = datetime.fromisoformat(params.get("until")) if params.get("until") else now
    return datetime.fromisoformat(params.get("since")) if params.get("since") else until - usual, until
