"""The ground truth for evaluations: what there was to find, asked in the world's own numbers."""

from __future__ import annotations

from datetime import datetime

import numpy as np
from msgspec import Struct

from bowerbird.simulated.world.people.population import Array
from bowerbird.simulated.world.people.profiles import Profile
from bowerbird.simulated.world.posts.events import EVENT_DAYS, Event
from bowerbird.simulated.world.posts.rows import Row, number_of
from bowerbird.simulated.world.posts.tags import NO_EVENT
from bowerbird.simulated.world.settings import NEVER, from_ms, to_ms
from bowerbird.simulated.world.world import Availability, World


class TruePost(Struct, frozen=True, gc=False):
    """One post that was really written."""

    number: int
    author: int
    kind: int
    written_at: datetime
    deleted_at: datetime | None
    visibility: str
    """`public`, `unlisted` or `private`: only a network that asks (Mastodon) hides the last."""


class Truth:
    """Answers that no visitor of the service could get."""

    def __init__(self, world: World) -> None:
        self._world = world

    def posts(self, account: int, since: datetime, until: datetime) -> list[TruePost]:
        """All posts an account wrote in `since <= time < until`, deleted ones too, oldest first."""
        return [self._post(row) for row in reversed(self._world.all_rows(account, to_ms(since), to_ms(until)))]

    def events(self, since: datetime, until: datetime) -> list[Event]:
        """The events of which posts may fall into `since <= time < until`, the one that began first first."""
        calendar = self._world.calendar
        first, last = calendar.index(to_ms(since)), calendar.index(to_ms(until) - 1)
        found = [event for day in range(first - EVENT_DAYS + 1, last + 1) for event in calendar.events(day)]
        return sorted((event for event in found if event.begins_ms < to_ms(until)), key=lambda event: event.begins_ms)

    def event_posts(self, since: datetime, until: datetime) -> dict[int, frozenset[int]]:
        """By event the posts about it of `since <= time < until`, deleted ones too; reposts are left out."""
        calendar, posts = self._world.calendar, dict[int, set[int]]()
        low, high = number_of(to_ms(since), 0), number_of(to_ms(until), 0)
        for index in range(max(calendar.index(to_ms(since)), calendar.first), calendar.index(to_ms(until) - 1) + 1):
            day = calendar.day(index)
            chosen = (day.event != NO_EVENT) & (low <= day.number) & (day.number < high)
            for event, number in zip(day.event[chosen].tolist(), day.number[chosen].tolist(), strict=True):
                posts.setdefault(event, set()).add(number)
        return {event: frozenset(numbers) for event, numbers in posts.items()}

    def followers(self, account: int, at: datetime) -> frozenset[int]:
        return frozenset(self._world.graph.followers(account, to_ms(at))[0].tolist())

    def following(self, account: int, at: datetime) -> frozenset[int]:
        return frozenset(self._world.graph.following(account, to_ms(at))[0].tolist())

    def profile(self, account: int, at: datetime) -> Profile:
        return self._world.profiles.at(account, to_ms(at))

    def availability(self, account: int, at: datetime) -> Availability:
        return self._world.availability(account, to_ms(at))

    def is_available(self, account: int, at: datetime) -> bool:
        return self._world.is_open(account, to_ms(at))

    def is_collectable(self, account: int, at: datetime) -> bool:
        """Whether an account is open and asks on no network to be left alone."""
        people = self._world.people
        is_shy = people.is_noindex[account] or people.says_nobot[account] or not people.is_indexable[account]
        return self.is_available(account, at) and not is_shy

    def sample_accounts(self, count: int, rng: np.random.Generator, at: datetime, *, writers: bool = False) -> list[int]:
        """Different accounts that exist at that time, drawn evenly; `writers` leaves out the silent."""
        people, now = self._world.people, to_ms(at)
        is_there = (people.created <= now) & (now < people.left)
        pool: Array = np.flatnonzero(is_there & (people.rate > 0) if writers else is_there)
        chosen: list[int] = rng.choice(pool, min(count, len(pool)), replace=False).tolist()
        return chosen

    def _post(self, row: Row) -> TruePost:
        deleted_at = None if row.gone_at == NEVER else from_ms(row.gone_at)
        seen_by = self._world.contents.visibility(row.number)
        return TruePost(row.number, row.author, row.kind, from_ms(row.ms), deleted_at, seen_by)
