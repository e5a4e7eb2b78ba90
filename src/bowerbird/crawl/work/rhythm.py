"""At which hours of the day people write, and so at which hours looking is worth most."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from itertools import accumulate

from msgspec import Struct

_HOUR = timedelta(hours=1)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_HOURS = 24
_DOUBT = 240
"""Posts at all hours alike that are believed in before any were seen."""
_EVENLY = 0.1
"""Share of the calls that goes to all hours alike: who writes at odd hours is not forgotten."""


class Rhythm(Struct, frozen=True):
    """How much is done in each hour of the day (UTC), the mean being one."""

    hours: tuple[float, ...] = (1.0,) * _HOURS

    def between(self, begin: datetime, end: datetime, share: float) -> datetime:
        """The moment between two at which so large a share of what is done between them is done."""
        done, all_done = self._done(begin), self._done(end)
        return max(begin, min(end, self._when(done + (all_done - done) * share)))

    def _done(self, moment: datetime) -> float:
        """How much is done from 1970 on, in mean hours."""
        day, hours = divmod((moment - _EPOCH) / _HOUR, _HOURS)
        hour = min(int(hours), _HOURS - 1)
        return day * _HOURS + sum(self.hours[:hour]) + self.hours[hour] * (hours - hour)

    def _when(self, done: float) -> datetime:
        day, rest = divmod(done, _HOURS)
        ends = list(accumulate(self.hours, initial=0.0))
        hour = min(bisect_right(ends, rest) - 1, _HOURS - 1)
        return _EPOCH + _HOUR * (day * _HOURS + hour + (rest - ends[hour]) / self.hours[hour])


EVEN = Rhythm()


def rhythm_of(posts: Sequence[int]) -> Rhythm:
    """The rhythm of those who wrote so many posts in each hour of the day."""
    believed = [count + _DOUBT / _HOURS for count in posts]
    mean = sum(believed) / _HOURS
    return Rhythm(tuple(_EVENLY + (1 - _EVENLY) * count / mean for count in believed))
