"""What a server lists: everything that a patient visitor would get, with no knowledge of how we ask.

Of a Mastodon-compatible server that is read from the server itself, by following every `next` that it gives; of the central
networks it follows from the world's truth and the reach that the network is known for.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import parse_qsl

import msgspec
from msgspec.structs import replace

from bowerbird.model import Request
from bowerbird.simulated.mastodon import MastodonDialect
from bowerbird.simulated.scale import Scale
from bowerbird.simulated.service import Setup, SimulatedService, simulate
from bowerbird.simulated.world import Availability
from bowerbird.simulated.world.settings import to_ms

_AGES = timedelta(days=9_000)
_BOUNDLESS = Scale(limits=1_000_000)
_NEXT = re.compile(r'<[^>]*\?([^>]*)>; rel="next"')
_LISTS = {
    "followers": "/api/v1/accounts/{}/followers",
    "following": "/api/v1/accounts/{}/following",
    "timeline": "/api/v1/accounts/{}/statuses",
    "hashtag": "/api/v1/timelines/tag/{}",
    "reposts": "/api/v1/statuses/{}/reblogged_by",
    "quotes": "/api/v1/statuses/{}/quotes",
}
_SINGLE = {
    "profile": "/api/v1/accounts/{}",
    "profiles": "/api/v1/accounts/{}",
    "post": "/api/v1/statuses/{}",
    "posts": "/api/v1/statuses/{}",
}


class Listing:
    """What one server has to give, facet by facet, in its own keys."""

    def __init__(self, setup: Setup, service: SimulatedService, now: datetime) -> None:
        self._service = service
        self._now = now
        self._visited: SimulatedService = simulate(replace(setup, scale=_BOUNDLESS), service.world)
        self._token = next(token for token in self._visited.tokens if token.kind == "user").value

    def of(self, facet: str, target: str) -> frozenset[str] | None:
        """The keys of posts or accounts behind a target; None where this facet is not judged."""
        if isinstance(self._service.dialect, MastodonDialect):
            return self._walked(facet, target)
        return self._true(facet, target)

    def _walked(self, facet: str, target: str) -> frozenset[str] | None:
        if facet in _SINGLE:
            path, query = _SINGLE[facet].format(target), {}
            if target.startswith("@"):
                path, query = "/api/v1/accounts/lookup", {"acct": target[1:]}
            found = self._get(path, query)
            return frozenset() if found is None else frozenset({str(found[0]["id"])})
        if facet not in _LISTS:
            return None
        target = target.lstrip("#")
        return frozenset(str(each["id"]) for page in self._pages(_LISTS[facet].format(target)) for each in page)

    def _pages(self, path: str) -> Iterator[list[dict[str, Any]]]:
        query: dict[str, str] = {"limit": "40"}
        while True:
            answer = self._get(path, query)
            if answer is None:
                return
            page, link = answer
            yield page
            match = _NEXT.search(link)
            if match is None or not (page or "max_id" in match[1]):
                return
            query = dict(parse_qsl(match[1]))

    def _get(self, path: str, query: dict[str, str]) -> tuple[Any, str] | None:
        request = Request(path=path, query=tuple(query.items()), headers={"authorization": f"Bearer {self._token}"})
        reply = self._visited.dialect.handle(request, self._now)
        return (msgspec.json.decode(reply.body), reply.headers.get("link", "")) if reply.status == 200 else None

    def _true(self, facet: str, target: str) -> frozenset[str] | None:
        service, world, now = self._service, self._service.world, to_ms(self._now)
        number = service.dialect.account_number(target)
        if service.closure is not None and facet in service.closure.facets:
            return frozenset()
        if facet in ("profile", "profiles") and number is not None:
            return (
                frozenset({target})
                if world.availability(number, now) in (Availability.OPEN, Availability.PROTECTED)
                else frozenset()
            )
        if facet == "timeline" and number is not None and world.is_open(number, now) and service.lists_everybody:
            truth = service.posts_to_find(target, self._now - _AGES, self._now, self._now)
            return frozenset(key for key, gone_at in truth.items() if gone_at is None or gone_at > self._now)
        return None
