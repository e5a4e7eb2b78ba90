"""Who answered, passed on, quoted or liked a post: lists and counters as of a time."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec import Struct

from bowerbird.simulated.world.hashing import mix
from bowerbird.simulated.world.posts.cascades import REACH, References
from bowerbird.simulated.world.posts.rows import LIKE, QUOTE, REPLY, REPOST, author_of, ms_of
from bowerbird.simulated.world.world import World


class Counters(Struct, gc=False):
    """How often a post was answered, passed on, quoted and liked."""

    replies: int = 0
    reposts: int = 0
    quotes: int = 0
    likes: int = 0


class Reactions:
    """Reactions to posts of the world's days come from the same table as the reacting posts, so both sides agree.

    For older posts, written before the days begin, a few of the author's followers are drawn as reposters and likers.
    """

    def __init__(self, world: World) -> None:
        self._world = world

    def counters(self, numbers: Sequence[int], now: int) -> list[Counters]:
        counters = [Counters() for _ in numbers]
        by_day: dict[int, list[int]] = {}
        for place, number in enumerate(numbers):
            if ms_of(number) < self._world.warm_ms:
                few = self._few(number)
                counters[place] = Counters(reposts=-(-few // 3), likes=few)
            else:
                by_day.setdefault(self._world.calendar.index(ms_of(number)), []).append(place)
        for index, places in by_day.items():
            self._count_day(index, places, numbers, now, counters)
        return counters

    def posts(self, number: int, now: int, kind: int) -> list[int]:
        """Numbers of the existing posts of one kind that refer to a post, oldest first."""
        return [by for _, by in self._referring(number, now, kind)]

    def reposters(self, number: int, now: int) -> list[tuple[int, int]]:
        """(time, account) of each repost, oldest first, each account once."""
        if ms_of(number) < self._world.warm_ms:
            return self._old(number)[::3]
        return list({author_of(by): (ms_of(by), author_of(by)) for by in self.posts(number, now, REPOST)[::-1]}.values())[::-1]

    def likers(self, number: int, now: int) -> list[tuple[int, int]]:
        """(time, account) of each like, oldest first."""
        is_old = ms_of(number) < self._world.warm_ms
        return self._old(number) if is_old else self._referring(number, now, LIKE)

    def _referring(self, number: int, now: int, kind: int) -> list[tuple[int, int]]:
        """(time, by whom or what) of every reaction of one kind."""
        calendar = self._world.calendar
        written = calendar.index(ms_of(number))
        found: list[tuple[int, int]] = []
        for index in range(max(written, calendar.first), min(written + REACH, calendar.index(now)) + 1):
            references = calendar.day(index).references
            part = references.of(number)
            is_wanted = (references.kind[part] == kind) & (references.ms[part] <= now) & (references.gone_at[part] > now)
            found += zip(references.ms[part][is_wanted].tolist(), references.by[part][is_wanted].tolist(), strict=True)
        return found

    def _count_day(self, index: int, places: list[int], numbers: Sequence[int], now: int, counters: list[Counters]) -> None:
        wanted = np.array([numbers[place] for place in places], np.int64)
        calendar = self._world.calendar
        for later in range(index, min(index + REACH, calendar.index(now)) + 1):
            references = calendar.day(later).references
            if not len(references.target):
                continue
            found = references.target.searchsorted(wanted)
            is_there = references.target.take(found, mode="clip") == wanted
            for nth in is_there.nonzero()[0].tolist():
                part = slice(int(references.start[found[nth]]), int(references.start[found[nth] + 1]))
                _add(counters[places[nth]], references, part, now)

    def _few(self, number: int) -> int:
        """How many likers an old post has."""
        draw, known = mix(number, 41), len(self._world.graph.ever_followed_by(author_of(number)))
        return min(known, 60, (draw % 64 + 1).bit_length() ** 2 * known // 400)

    def _old(self, number: int) -> list[tuple[int, int]]:
        followers = self._world.graph.ever_followed_by(author_of(number))
        first = mix(number, 42)
        chosen = (int(followers[(first + k) % len(followers)]) for k in range(self._few(number)))
        return [(ms_of(number) + 60_000 * (k + 1), account) for k, account in enumerate(chosen)]


def _add(counters: Counters, references: References, part: slice, now: int) -> None:
    is_live = (references.ms[part] <= now) & (references.gone_at[part] > now)
    counts = np.bincount(references.kind[part][is_live], minlength=LIKE + 1).tolist()
    counters.replies += counts[REPLY]
    counters.reposts += counts[REPOST]
    counters.quotes += counts[QUOTE]
    counters.likes += counts[LIKE]
