"""Which conversation a post belongs to, and which posts belong to a conversation; deleted links hold the chain together."""

from __future__ import annotations

from bowerbird.simulated.world import World
from bowerbird.simulated.world.posts.cascades import REACH
from bowerbird.simulated.world.posts.rows import REPLY, Row, ms_of

_KEPT = 50_000


class Conversations:
    """Chains of replies, up and down."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._roots: dict[int, int] = {}

    def root(self, row: Row) -> int:
        """The number of the post that opened the conversation."""
        seen: list[int] = []
        number, at = row.number, row
        while at.kind == REPLY and number not in self._roots:
            seen.append(number)
            number = at.target
            above = self._world.row(number, at.ms)
            if above is None:
                break
            at = above
        root = self._roots.get(number, number)
        if len(self._roots) > _KEPT:
            self._roots.clear()
        self._roots.update(dict.fromkeys(seen, root))
        return root

    def replies(self, root: int, now: int) -> list[int]:
        """Numbers of every post below the root, deleted ones too."""
        found: list[int] = []
        waiting = [root]
        while waiting:
            below = self._answers(waiting.pop(), now)
            found += below
            waiting += below
        return found

    def _answers(self, number: int, now: int) -> list[int]:
        calendar = self._world.calendar
        written = calendar.index(ms_of(number))
        found: list[int] = []
        for index in range(max(written, calendar.first), min(written + REACH, calendar.index(now)) + 1):
            references = calendar.day(index).references
            part = references.of(number)
            is_wanted = (references.kind[part] == REPLY) & (references.ms[part] <= now)
            found += references.by[part][is_wanted].tolist()
        return found
