"""From the hours at which somebody posts to the time zones they may live in. Evidence, no proof: some people write at night."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from math import exp, log

from msgspec import Struct

LEAST_POSTS = 30
"""With fewer nothing is said."""
_ZONES = range(-11, 13)
_HOURS = 24
_TYPICAL = (
    1.5,
    0.8,
    0.5,
    0.4,
    0.4,
    0.5,
    1.0,
    2.2,
    3.6,
    5.0,
    5.7,
    6.0,
    6.1,
    6.1,
    6.0,
    6.0,
    6.0,
    6.0,
    6.0,
    6.1,
    6.2,
    6.1,
    5.0,
    3.0,
)
"""How much people write by local hour, roughly: asleep from one to six, awake until midnight."""
_UNUSUAL = 0.15
"""Share of posts that follow no rhythm."""
_AT_MOST = 40
"""However many posts there are, they say no more than so many independent ones: habits differ more than counts."""
_ENOUGH = 0.9


class Rhythm(Struct, frozen=True):
    """How likely somebody lives so many hours ahead of UTC, winter and summer time not told apart."""

    posts: int
    zones: Mapping[int, float]

    @property
    def likely(self) -> tuple[int, ...]:
        """The fewest zones that are right with nine in ten, from west to east."""
        chosen: list[int] = []
        for zone in sorted(self.zones, key=lambda zone: -self.zones[zone]):
            if sum(self.zones[each] for each in chosen) >= _ENOUGH:
                break
            chosen.append(zone)
        return tuple(sorted(chosen))

    def fit(self, ahead: float) -> float:
        """How likely it is one of the zones within an hour and a half of this one, as summer time and habits move it."""
        return sum(share for zone, share in self.zones.items() if abs((zone - ahead + 12) % _HOURS - 12) <= 1.5)


def rhythm(times: Iterable[datetime]) -> Rhythm | None:
    """Of somebody's posts, when they were written; None where they are too few."""
    hours = [0] * _HOURS
    for each in times:
        hours[each.astimezone(UTC).hour] += 1
    posts = sum(hours)
    if posts < LEAST_POSTS:
        return None
    usual = [(1 - _UNUSUAL) * each / sum(_TYPICAL) + _UNUSUAL / _HOURS for each in _TYPICAL]
    weight = min(1.0, _AT_MOST / posts)
    likelihoods = {
        zone: weight * sum(count * log(usual[(hour + zone) % _HOURS]) for hour, count in enumerate(hours)) for zone in _ZONES
    }
    best = max(likelihoods.values())
    odds = {zone: exp(each - best) for zone, each in likelihoods.items()}
    return Rhythm(posts, {zone: round(each / sum(odds.values()), 4) for zone, each in odds.items()})
