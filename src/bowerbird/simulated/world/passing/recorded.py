"""A world whose accounts write at times that were recorded elsewhere."""

from __future__ import annotations

import numpy as np
from msgspec import Struct, structs

from bowerbird.simulated.world.hashing import generator
from bowerbird.simulated.world.passing.days import Writers, Writing
from bowerbird.simulated.world.people.population import Array, Population
from bowerbird.simulated.world.posts.events import Event
from bowerbird.simulated.world.posts.rows import POST, QUOTE, REPLY, REPOST
from bowerbird.simulated.world.posts.tags import NO_EVENT
from bowerbird.simulated.world.settings import DAY, NEVER, WorldSettings

_KINDS = np.array([POST, REPLY, QUOTE], np.int8)
_SHARES = [0.6, 0.33, 0.07]
_PAST_DAYS = 60
"""For how long everybody had written at the same pace before the recording begins."""


class Recorded(Struct, frozen=True):
    """Who wrote when, in the order of time; accounts are numbers from 0 on, times ms since the epoch."""

    author: Array
    ms: Array
    is_repost: Array
    accounts: int

    @property
    def span(self) -> tuple[int, int]:
        """The first and the last moment."""
        return int(self.ms[0]), int(self.ms[-1])

    def between(self, begin: int, end: int) -> slice:
        low, high = np.searchsorted(self.ms, [begin, end])
        return slice(int(low), int(high))

    def people(self, people: Population) -> Population:
        """The accounts with the rates that they really had; nobody leaves, is suspended or hides, for nobody recorded that."""
        begin, end = self.span
        never, nobody = np.full(len(people), NEVER), np.zeros(len(people), bool)
        rate = np.bincount(self.author, minlength=len(people)) / max(1.0, (end - begin) / DAY)
        return structs.replace(
            people,
            rate=rate,
            like_rate=np.zeros(len(people)),
            created=np.minimum(people.created, begin - (_PAST_DAYS + 1) * DAY),
            left=never,
            suspended=never,
            returned=never,
            protected=never,
            unprotected=never,
            says_nobot=nobody,
            history=(rate * _PAST_DAYS).astype(np.int32),
            history_from=np.full(len(people), begin - _PAST_DAYS * DAY),
        )


class RecordedWriters(Writers):
    """Writes each day what was recorded of it."""

    def __init__(self, settings: WorldSettings, people: Population, recorded: Recorded) -> None:
        super().__init__(settings, people)
        self._recorded = recorded

    def day(self, day: int) -> Writing:
        begin = self._settings.start_ms + day * DAY
        part = self._recorded.between(begin, begin + DAY)
        author, ms = self._recorded.author[part], self._recorded.ms[part]
        rng = generator(self._settings.seed, 3, day & 0xFFFFFFFF)
        tag, second = self._topics(rng, author)
        kind = np.where(self._recorded.is_repost[part], np.int8(REPOST), rng.choice(_KINDS, len(author), p=_SHARES))
        return self._sorted(author, ms, kind, tag, second, np.full(len(author), NO_EVENT, np.int32))

    def events(self, day: int) -> list[Event]:
        return []
