"""How a crawl that has so many calls for so long spreads them over its time: most of them as people write, the others kept for
its end.

A timeline read at the very end brings everything its author wrote, as often as it was read before or not. So a crawl in which
look-ups tell who has news keeps a part of its calls for its end, and makes them then as fast as the limits allow. Until then
most of its calls are look-ups, which show posts before they are deleted; at its end few are.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from math import inf

from msgspec import Struct

from bowerbird.crawl.work.lanes import Lane
from bowerbird.crawl.work.rhythm import EVEN, Rhythm
from bowerbird.flows.flow import Stop
from bowerbird.model import Charge

KEPT = 0.4
"""Share of the calls that is kept for the end, where look-ups tell who has news."""
LEANING = 4.0
"""By so much look-ups weigh more before the end, and less at the end, than the flow says."""
_RELIABLE = 0.95
"""Share of what limits allow that is sure to be used."""
_SHORTEST = 0.05
"""Share of the crawl's time that its end takes at least: a service that fails for an hour must not lose all of it."""
_DAY = timedelta(days=1)
_TWO_STAGE = "two_stage"

Options = Mapping[str | None, Sequence[Charge]]
"""By credential: what one call takes from which bucket."""


class Spread(Struct, frozen=True, kw_only=True):
    """Which call of a crawl may be made when. Its start is told as if it had run without a break since."""

    calls: int
    length: timedelta
    kept: float = 0.0
    """Share of the calls that is kept for the end."""
    end_takes: timedelta = timedelta(0)

    @property
    def end_begins(self) -> timedelta:
        return self.length - self.end_takes

    def opens(self, made: int, began: datetime, rhythm: Rhythm = EVEN) -> datetime:
        """When the next call may be made after so many: more of them at hours at which more is written, and evenly at the
        end."""
        early, end_begins = self.calls * (1 - self.kept), began + self.end_begins
        if made < early:
            return rhythm.between(began, end_begins, made / early)
        return end_begins + self.end_takes * ((made - early) / max(self.calls - early, 1))

    def leaning(self, elapsed: timedelta) -> float:
        """By what the weight of look-ups is multiplied."""
        if not self.kept:
            return 1.0
        return LEANING if elapsed < self.end_begins else 1 / LEANING


def spread_over(calls: int, length: timedelta, pace: float) -> Spread:
    """The spread of a crawl in which look-ups tell who has news; `pace` is how many calls a day the limits allow.

    Who may make as many calls as the limits allow has nothing to keep: then it is even.
    """
    sure = pace * _RELIABLE
    if calls >= sure * (length / _DAY):
        return Spread(calls=calls, length=length)
    end_takes = max(_DAY * (calls * KEPT / sure), length * _SHORTEST)
    return Spread(calls=calls, length=length, kept=KEPT, end_takes=end_takes)


def spread_of(stop: Stop, lanes: Iterable[Lane], options: Mapping[int, Options]) -> Spread | None:
    """How a crawl with these conditions and lanes spreads its calls; None where it was not told to."""
    length = stop.spread_over or stop.duration
    if not stop.spread or stop.calls is None or length is None:
        return None
    lanes = list(lanes)
    timelines = [lane.lane for lane in lanes if _is_two_stage(lane) and not lane.facet.is_lookup]
    if not timelines or not any(map(is_leaning, lanes)):
        return Spread(calls=stop.calls, length=length)
    return spread_over(stop.calls, length, pace_of(options[lane] for lane in timelines))


def is_leaning(lane: Lane) -> bool:
    """Whether a lane's weight changes at the end: it looks up who has news."""
    return _is_two_stage(lane) and lane.facet.is_lookup


def _is_two_stage(lane: Lane) -> bool:
    return lane.ranker.name == _TWO_STAGE


def pace_of(lanes: Iterable[Options]) -> float:
    """How many calls a day the limits of these lanes allow, all credentials together."""
    buckets: dict[str, float] = {}
    for options in lanes:
        for charges in options.values():
            paces = {each.bucket: _pace(each) for each in charges if not each.limit.is_money and each.amount}
            if not paces:
                return inf
            slowest = min(paces, key=paces.__getitem__)
            buckets[slowest] = paces[slowest]
    return sum(buckets.values())


def _pace(charge: Charge) -> float:
    return charge.limit.allowance / charge.amount / (charge.limit.window / _DAY)
