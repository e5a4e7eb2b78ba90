"""`echo`: TwitterEcho's priorities of 1 to 100, as published.

A level goes up when a visit finds something new (a look-up: the newest post is not in the database; a list: it differs, removals
included) and down when it does not, but not at night and not sooner than some hours after
the newest known post. Every choice is made up of sub-lists, one per class of levels, longer for higher classes; inside a class
the least recently asked goes first. Whoever has been silent for a month is frozen: asked between 3 and 7 in the morning, and at
other times only when nobody else is left. Not published, and therefore options: the steps, and the hour's distance from UTC; the
night, the hours of the thaw and after how many days somebody is frozen are as published unless they are said otherwise.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from datetime import datetime, timedelta

from bowerbird.model import Arrival, Draw, Placement, Task, Visit
from bowerbird.policies.moments import ABSENT, days, lot

LOOKUP_CLASSES = (100, 81, 61, 41, 21, 1)
LINK_CLASSES = (61, 21, 1)
"""The lowest level of each class, highest first; lists of followers and friends have fewer classes."""
_FIRST_LEVEL = 50
_FROZEN = 0.0
_FROZEN_DAYS = 30
_NIGHT = (0, 7)
_THAW = (3, 7)
"""From one hour up to another; a span may go over midnight."""
_CODE = struct.Struct("<?Bd")


class Echo:
    """Busy accounts are asked more often, by classes of priority."""

    name = "echo"
    remembers = False

    def __init__(
        self,
        revisit: timedelta | None = None,
        *,
        classes: Sequence[int] = LOOKUP_CLASSES,
        up: int = 10,
        down: int = 1,
        grace_hours: int = 1,
        utc_offset: int = 0,
        frozen_days: int = _FROZEN_DAYS,
        night_from: int = _NIGHT[0],
        night_to: int = _NIGHT[1],
        thaw_from: int = _THAW[0],
        thaw_to: int = _THAW[1],
    ) -> None:
        self._revisit = revisit or timedelta()
        self._classes = tuple(classes)
        self._up = up
        self._down = down
        self._grace = grace_hours / 24
        self._offset = timedelta(hours=utc_offset)
        self._frozen_days = float(frozen_days)
        self._night = _hours(night_from, night_to)
        self._thaw = _hours(thaw_from, thaw_to)
        self._thaw_from = thaw_from % 24

    def added(self, arrival: Arrival, known: Task | None, now: datetime) -> Placement:
        return Placement(self._class(_FIRST_LEVEL), now)

    def continued(self, visit: Visit) -> bytes | None:
        """Remembers whether some page of the listing had something new."""
        had_news, level, newest = _decoded(visit)
        return _CODE.pack(had_news or _has_news(visit), level, _newest(visit, newest))

    def visited(self, visit: Visit) -> Placement:
        had_news, level, newest = _decoded(visit)
        newest = _newest(visit, newest)
        level = self._moved(level, visit.at, newest, is_news=had_news or _has_news(visit))
        memory = _CODE.pack(False, level, newest)
        rest = max(self._revisit, ABSENT) if visit.outcome.is_about_target else self._revisit
        if days(visit.at) - newest > self._frozen_days:
            return Placement(_FROZEN, self._morning(visit.at), memory)
        return Placement(self._class(level), visit.at + rest, memory)

    def draws(self, room: int, now: datetime) -> Sequence[Draw]:
        """Sub-lists of decreasing length; a lone place goes to one class by lot; gaps are filled from the top."""
        bands = self._bands()
        weights = range(len(bands), 0, -1)
        if room == 1:
            bands = [_chosen(bands, list(weights), lot(now)), *bands]
            draws = [Draw(1, low, high) for low, high in bands]
        else:
            ends = [sum(list(weights)[: place + 1]) / sum(weights) for place in range(len(bands))]
            draws = [Draw(round(room * end), low, high) for (low, high), end in zip(bands, ends, strict=True)]
        frozen = Draw(room, _FROZEN, 1.0)
        is_thaw = (now + self._offset).hour in self._thaw
        return (*draws, frozen, Draw(room)) if is_thaw else (*draws, Draw(room, low=1.0), frozen)

    def _bands(self) -> list[tuple[float, float]]:
        tops = (float("inf"), *map(float, self._classes))
        return [(float(low), high) for low, high in zip(self._classes, tops, strict=False)]

    def _class(self, level: int) -> float:
        return float(next(low for low in self._classes if level >= low))

    def _moved(self, level: int, now: datetime, newest: float, *, is_news: bool) -> int:
        if is_news:
            return min(100, level + self._up)
        is_night = (now + self._offset).hour in self._night
        return level if is_night or days(now) - newest < self._grace else max(1, level - self._down)

    def _morning(self, now: datetime) -> datetime:
        """The next beginning of the hours in which the frozen are asked."""
        local = now + self._offset
        start = local.replace(hour=self._thaw_from, minute=0, second=0, microsecond=0)
        return (start if start > local else start + timedelta(days=1)) - self._offset


def _hours(first: int, end: int) -> frozenset[int]:
    """The hours from one up to another, over midnight where the second is the smaller one; none where both are the same."""
    return frozenset((first + step) % 24 for step in range((end - first) % 24))


def _decoded(visit: Visit) -> tuple[bool, int, float]:
    memory = visit.task.memory
    if memory:
        return _CODE.unpack(memory)
    return False, _FIRST_LEVEL, min(map(days, visit.post_times), default=_silent_since(visit))


def _silent_since(visit: Visit) -> float:
    """Since when a newcomer of whom no post is known has been silent: always, if its counter says so, or else from now on."""
    return days(visit.created_at if visit.posts_now == 0 and visit.created_at else visit.at)


def _has_news(visit: Visit) -> bool:
    """Whether the newest post was not in the database, or a list differs from what it was, removals included.

    A profile that shows no post has only its counter to tell: one that rose. A deletion is no news.
    """
    if visit.new or visit.removed:
        return True
    if visit.shows_posts or visit.posts_before is None or visit.posts_now is None:
        return False
    return visit.posts_now > visit.posts_before


def _newest(visit: Visit, newest: float) -> float:
    """When the newest known post was written; where only a counter moved, now."""
    if visit.post_times:
        return max(newest, *(days(time) for time in visit.post_times))
    return days(visit.at) if _has_news(visit) else newest


def _chosen(bands: Sequence[tuple[float, float]], weights: Sequence[int], chance: float) -> tuple[float, float]:
    left = chance * sum(weights)
    for band, weight in zip(bands, weights, strict=True):
        left -= weight
        if left < 0:
            return band
    return bands[-1]
