"""What an account wrote before the world's days begin: drawn for one account at a time, when it is asked for."""

from __future__ import annotations

from bisect import bisect_left
from collections import OrderedDict

import numpy as np

from bowerbird.simulated.world.hashing import generator, mix
from bowerbird.simulated.world.people.graph import FollowGraph
from bowerbird.simulated.world.people.population import Population
from bowerbird.simulated.world.posts.rows import LASTING, POST, QUOTE, REPLY, REPOST, Row, author_of, ms_of, number_of
from bowerbird.simulated.world.posts.tags import NO_TAG, TAGS_PER_TOWN
from bowerbird.simulated.world.settings import WorldSettings

_KEPT_POSTS = 2_000_000


class Histories:
    """Old posts by account; the times are kept for the accounts asked lately, the rest follows from them."""

    def __init__(self, settings: WorldSettings, people: Population, graph: FollowGraph) -> None:
        self._settings = settings
        self._people = people
        self._graph = graph
        self._kept: OrderedDict[int, list[int]] = OrderedDict()
        self._size = 0

    def numbers(self, account: int) -> list[int]:
        """Numbers of the old posts, oldest first."""
        kept = self._kept.get(account)
        if kept is None:
            kept = self._kept[account] = self._draw(account)
            self._size += len(kept)
            while self._size > _KEPT_POSTS:
                self._size -= len(self._kept.popitem(last=False)[1])
        else:
            self._kept.move_to_end(account)
        return kept

    def find(self, number: int) -> Row | None:
        author = author_of(number)
        numbers = self.numbers(author)
        place = bisect_left(numbers, number)
        return self.row(number) if place < len(numbers) and numbers[place] == number else None

    def row(self, number: int) -> Row:
        """The old post of that number, which must exist."""
        draw = mix(number, 21)
        share = (draw & 0xFF) / 256
        kind = POST if share < 0.5 else REPLY if share < 0.7 else REPOST if share < 0.95 else QUOTE
        target = self._target(number, draw) if kind != POST else 0
        tag = NO_TAG
        if (draw >> 8) & 3 == 0:
            home = int(self._people.community[author_of(number)]) * TAGS_PER_TOWN
            tag = home + min((draw >> 10) % 64, (draw >> 16) % 64) % TAGS_PER_TOWN
        return Row(number, kind if target else POST, target, tag, NO_TAG, LASTING)

    def _target(self, number: int, draw: int) -> int:
        followed = self._graph.everyone_followed(author_of(number))
        if not len(followed):
            return 0
        whom = int(followed[(draw >> 24) % len(followed)])
        numbers = self.numbers(whom) if self._people.history[whom] else []
        place = bisect_left(numbers, number_of(ms_of(number), 0)) - 1 - ((draw >> 50) & 3)
        # Only what was written by somebody, not what was passed on: a repost of a repost is a repost of the original.
        if place < 0 or (mix(numbers[place], 21) & 0xFF) / 256 >= 0.7:
            return 0
        return numbers[place]

    def _draw(self, account: int) -> list[int]:
        count = int(self._people.history[account])
        if not count:
            return []
        rng = generator(self._settings.seed, 8, account)
        first, last = int(self._people.history_from[account]), self._settings.warm_ms - 60_000 - 4 * count
        gaps = np.cumsum(rng.exponential(1.0, count + 1))
        steps = (gaps[:-1] / gaps[-1] * max(last - first, 0) / 4).astype(np.int64)
        order = np.arange(count)
        steps = np.maximum.accumulate(steps - order) + order
        ms = first // 4 * 4 + steps * 4 + (account >> 16)
        numbers: list[int] = (((ms - 1_288_834_974_657) << 22) | account).tolist()
        return numbers
