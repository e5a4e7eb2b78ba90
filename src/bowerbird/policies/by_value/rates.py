"""What is believed about how often one account posts, and how much is to be expected of it.

A decaying memory of posts and of the time they were watched for gives the rate; the first harmonic of the day gives its rhythm;
posts of the last minutes announce more (a self-exciting process of which a share `BURSTS` is answers to earlier posts). All of it
is seven numbers in the task's memory. Times are days since 1970, rates are posts per day.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from math import cos, exp, hypot, pi, sin
from typing import NamedTuple

MEMORY = 10.0
"""Days after which what was seen counts a third."""
BURSTS = 0.4
CALMING = 15 / (24 * 60)
"""Days in which a burst calms down to a third."""
PRIOR_DAYS = 2.0
"""How long watching must last to weigh as much as the profile's own count and age."""
FEW_POSTS = 0.02
"""What nobody is believed to post less than, over the whole memory: the silent are not forgotten."""
_DOUBT = 10.0
"""Posts that it takes to believe in an account's own rhythm."""
_TURN = 2 * pi
_CODE = struct.Struct("<d6f")


class Rates(NamedTuple):
    """One account's posting as last seen at `at`; `price` is what a visit was worth when it was written."""

    at: float
    posts: float = 0.0
    watched: float = 0.0
    burst: float = 0.0
    east: float = 0.0
    north: float = 0.0
    """Sum over posts of the direction in which the clock's hour hand pointed."""
    price: float = 0.0

    def encoded(self) -> bytes:
        return _CODE.pack(*self)

    @property
    def per_day(self) -> float:
        return (self.posts + FEW_POSTS) / (self.watched + FEW_POSTS)


def decoded(memory: bytes | None) -> Rates | None:
    return None if memory is None or len(memory) != _CODE.size else Rates(*_CODE.unpack(memory))


def expected(rates: Rates, until: float) -> float:
    """How many posts the account is believed to write between `rates.at` and `until`."""
    return outlook(rates)(until - rates.at)


def outlook(rates: Rates) -> Callable[[float], float]:
    """How many posts the account is believed to write in so many days from `rates.at` on.

    Those hours count more at which it usually posts, and a burst dies away.
    """
    scale = 2 / (rates.posts + _DOUBT)
    east, north = scale * rates.east, scale * rates.north
    strength = hypot(east, north)
    if strength > 0.9:
        east, north = 0.9 * east / strength, 0.9 * north / strength
    calm, burst, begin = (1 - BURSTS) * rates.per_day, rates.burst, _TURN * rates.at
    east, north = east / _TURN, north / _TURN
    before = east * sin(begin) - north * cos(begin)

    def posts(passed: float) -> float:
        if passed <= 0:
            return 0.0
        end = begin + _TURN * passed
        rhythmic = passed + east * sin(end) - north * cos(end) - before
        return calm * rhythmic + burst * (1 - exp(-passed / CALMING))

    return posts


def first_belief(now: float, posts: int | None, made: float | None) -> Rates:
    """What a profile's own count and age say before anything was watched."""
    if posts is None or made is None or made >= now:
        return Rates(now)
    return Rates(now, PRIOR_DAYS * posts / max(now - made, 1.0), PRIOR_DAYS)


def counted(rates: Rates, now: float, posts: int) -> Rates:
    """The belief after a counter moved by `posts` since the last look; when exactly is not known."""
    passed = max(now - rates.at, 1e-6)
    fading, calming = exp(-passed / MEMORY), exp(-passed / CALMING)
    begin, end = _TURN * rates.at, _TURN * now
    return Rates(
        now,
        rates.posts * fading + posts,
        rates.watched * fading + MEMORY * (1 - fading),
        rates.burst * calming + BURSTS * posts * CALMING / passed * (1 - calming),
        rates.east * fading + posts * (sin(end) - sin(begin)) / (end - begin),
        rates.north * fading - posts * (cos(end) - cos(begin)) / (end - begin),
        rates.price,
    )


def noticed(rates: Rates, now: float, times: Sequence[float]) -> Rates:
    """The belief with some posts more whose times are known; the watch itself goes on."""
    if not times:
        return rates
    weights = [exp(-max(now - time, 0.0) / MEMORY) for time in times]
    return rates._replace(
        posts=rates.posts + sum(weights),
        burst=rates.burst + BURSTS * sum(exp(-max(now - time, 0.0) / CALMING) for time in times),
        east=rates.east + sum(weight * cos(_TURN * time) for weight, time in zip(weights, times, strict=True)),
        north=rates.north + sum(weight * sin(_TURN * time) for weight, time in zip(weights, times, strict=True)),
    )


def watched(rates: Rates, now: float, since: float) -> Rates:
    """The belief at `now`, when everything written after `since` has been noticed or will be."""
    passed = max(now - rates.at, 0.0)
    fading = exp(-passed / MEMORY)
    return rates._replace(
        at=now,
        posts=rates.posts * fading,
        watched=rates.watched * fading + MEMORY * (1 - exp(-max(now - since, 0.0) / MEMORY)),
        burst=rates.burst * exp(-passed / CALMING),
        east=rates.east * fading,
        north=rates.north * fading,
    )
