"""Lists that would starve all others, such as the followers of a celebrity: each gets its first pages like everybody, then
waits among the long ones, which share a part of the lane's calls.

A long list goes below every other task of its lane, and lower each time it doubles: of two long lists the shorter one is done
first. What the others do not need is theirs too, so that nothing is left unused. Whose turn it is comes from the database; here
is only the count of calls since the last turn of a long list.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from msgspec.structs import replace

from bowerbird.model import Draw, Settled, Task

_STEP = 1e13
"""Far below what any ranker uses; whole numbers and seconds survive the way down and up again."""
_FLOOR = -_STEP / 2


class LongLists:
    """Keeps the long listings of one lane to a share of its calls."""

    def __init__(self, share: float, after: int) -> None:
        """`share` of the calls, from 0 to 1; a listing is long after so many pages."""
        self._share = share
        self._after = after
        self._credit: defaultdict[bool, float] = defaultdict(float)
        """By half of the lane: what the long lists have earned since their last turn."""

    def draws(self, draws: Sequence[Draw], room: int, *, is_paged: bool) -> Sequence[Draw]:
        """The ranker's draws, kept above the long lists; before them comes their share, after them what is left over."""
        self._credit[is_paged] += self._share * room
        due = min(int(self._credit[is_paged]), room)
        self._credit[is_paged] -= due
        above = [Draw(draw.count, max(draw.low, _FLOOR), draw.high) for draw in draws if draw.high > _FLOOR]
        return [*([Draw(due, high=_FLOOR)] if due else []), *above, Draw(room, high=_FLOOR)]

    def placed(self, settled: Settled) -> Settled:
        """The settled task where its length puts it."""
        level = 0 if settled.is_visit else (settled.pages // self._after).bit_length()
        if not level:
            return settled
        placement = replace(settled.placement, priority=settled.placement.priority - level * _STEP)
        return replace(settled, placement=placement)


def as_ranked(task: Task) -> Task:
    """The task with the priority its ranker gave it."""
    level = round(-task.priority / _STEP) if task.priority < _FLOOR else 0
    return replace(task, priority=task.priority + level * _STEP) if level else task
