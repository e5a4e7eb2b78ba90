"""Estimate the time zone of an account from the hours of its posts. This is evidence, not proof: some people post at night."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from math import exp, log

from msgspec import Struct

MIN_POSTS = 30
_ZONES = range(-11, 13)
_HOURS = 24
# fmt: off
_TYPICAL = (
    1.5, 0.8, 0.5, 0.4, 0.4, 0.5, 1.0, 2.2, 3.6, 5.0, 5.7, 6.0, 6.1, 6.1, 6.0, 6.0, 6.0, 6.0, 6.0, 6.1, 6.2, 6.1, 5.0, 3.0,
)
# fmt: on
"""Activity by local hour, approximately: asleep from one to six, awake until midnight."""
_UNUSUAL = 0.15
"""Share of posts that follow no rhythm."""
_MAX_INFORMATION = 40
"""Any number of posts gives at most the information of so many independent ones: habits differ more than counts."""
_COVERAGE = 0.9


class Rhythm(Struct, frozen=True):
    """The probability of each offset from UTC in hours, without regard to summer time."""

    posts: int
    zones: Mapping[int, float]

    @property
    def likely(self) -> tuple[int, ...]:
        """The smallest set of offsets with a probability of 90 %, from west to east."""
        chosen: list[int] = []
        for zone in sorted(self.zones, key=lambda zone: -self.zones[zone]):
            if sum(self.zones[each] for each in chosen) >= _COVERAGE:
                break
            chosen.append(zone)
        return tuple(sorted(chosen))

    def fit(self, ahead: float) -> float:
        """Return the probability of the offsets within an hour and a half of `ahead`: summer time and habits differ as much."""
        return sum(share for zone, share in self.zones.items() if abs((zone - ahead + 12) % _HOURS - 12) <= 1.5)


def rhythm(times: Iterable[datetime]) -> Rhythm | None:
    """Return the offsets that fit the times of an account's posts; None if there are fewer than 30."""
    hours = [0] * _HOURS
    for each in times:
        hours[each.astimezone(UTC).hour] += 1
    posts = sum(hours)
    if posts < MIN_POSTS:
        return None
    usual = [(1 - _UNUSUAL) * each / sum(_TYPICAL) + _UNUSUAL / _HOURS for each in _TYPICAL]
    weight = min(1.0, _MAX_INFORMATION / posts)
    likelihoods = {
        zone: weight * sum(count * log(usual[(hour + zone) % _HOURS]) for hour, count in enumerate(hours)) for zone in _ZONES
    }
    best = max(likelihoods.values())
    odds = {zone: exp(each - best) for zone, each in likelihoods.items()}
    total = sum(odds.values())
    return Rhythm(posts, {zone: round(each / total, 4) for zone, each in odds.items()})
