"""The going price: what a visit was worth when it was made, over the last visits of a lane.

The value of asking an account grows with time, for each at its own pace, so a stored order by value would be wrong a minute
later. What does not change while nothing happens is the moment at which a value reaches a given price. So the rankers order by
that moment, and the price follows what visits turn out to be worth: when calls are scarce they come late and it rises, when calls
are plenty they come early and it falls. Every task's memory holds the price it was last ranked with; a new process takes it from
there.
"""

from __future__ import annotations

from collections.abc import Callable
from math import exp, log

_PACE = 0.001
"""How much a visit moves the price: an order is right only among tasks that were ranked with about the same price, so it must not
follow the hours of the day."""
_FIRST_PACE = 0.01
_FIRST_VISITS = 500
"""After so many the pace is half of the first one: a price nobody knows yet is soon found."""
_LEAST = 1e-12
_STEPS = 3
_SHORTEST = 1e-6


class Price:
    """Follows the worth of the visits that are made; a cache of what the tasks' memories say."""

    def __init__(self, first: float) -> None:
        self._first = first
        self._log: float | None = None
        self._visits = 0

    def recall(self, price: float) -> None:
        """What a task's memory says, heard when this process knows no price yet."""
        if self._log is None and price > 0:
            self._log = log(price)

    @property
    def now(self) -> float:
        return self._first if self._log is None else exp(self._log)

    def paid(self, worth: float) -> None:
        """A visit was made when it was worth that much."""
        before = log(self.now)
        step = log(max(worth, _LEAST)) - before
        self._visits += 1
        pace = max(_PACE, _FIRST_PACE / (1 + self._visits / _FIRST_VISITS))
        self._log = before + pace * min(1.0, max(-1.0, step))


def wait_for(price: float, value: Callable[[float], float], guess: float, longest: float) -> float | None:
    """How long until a growing value reaches the price, or that it takes longer than `longest`.

    Right within a per cent or so: an order needs no more.
    """
    high, above = longest, value(longest)
    if above < price:
        return None
    low = min(guess, longest)
    while (below := value(low)) >= price:
        if low <= _SHORTEST:
            return low
        low, high, above = low / 3, low, below
    while low * 3 < high:
        if (worth := value(low * 3)) < price:
            low, below = low * 3, worth
        else:
            high, above = low * 3, worth
    for _ in range(_STEPS):
        if below <= 0:
            return high
        middle = _meeting(price, low, high, below, above)
        if (worth := value(middle)) < price:
            low, below = middle, worth
        else:
            high, above = middle, worth
    return _meeting(price, low, high, below, above) if below > 0 else high


def _meeting(price: float, low: float, high: float, below: float, above: float) -> float:
    """Where the value meets the price between two times; values grow about as a power of time, straight in logarithms."""
    share = (log(price) - log(below)) / (log(above) - log(below))
    return float(low * (high / low) ** min(0.95, max(0.05, share)))
