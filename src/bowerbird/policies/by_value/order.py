"""The order in which tasks are asked whose value grows with time: new ones, then by the moment their value reaches the price.

Accounts that would not be worth a call for long wait apart, the least recently asked first, and get a fixed small share of the
calls: so nobody is forgotten, and an account that comes back to life is found. Priorities: 0 for the new, minus the moment for
the others, and far below for the quiet.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from math import ceil

from bowerbird.model import Draw, Placement, Visit
from bowerbird.policies.by_value.price import Price, wait_for
from bowerbird.policies.by_value.rates import Rates, expected, outlook
from bowerbird.policies.moments import ABSENT, days, lot, seconds

SOONEST = timedelta(minutes=1)
QUIET = 2.0
"""Days: who is not worth a call for longer is quiet."""
QUIET_SHARE = 0.05
_BELOW = -1e12
_LIVE = _BELOW / 2

Value = Callable[[float, float], float]
"""What asking is worth, by how many posts are expected and how many days have passed since the last time."""


class Order:
    """Where a task goes after a visit, by what the next visit will be worth."""

    def __init__(self, value: Value, price: Price, revisit: timedelta | None = None) -> None:
        self._value = value
        self._price = price
        self._soonest = SOONEST if revisit is None else revisit

    def paid(self, before: Rates, now: float) -> None:
        """A visit was made: what it was worth then moves the price."""
        self._price.recall(before.price)
        self._price.paid(self._value(expected(before, now), now - before.at))

    def placement(self, rates: Rates, now: datetime) -> Placement:
        price, posts, value = self._price.now, outlook(rates), self._value
        wait = wait_for(price, lambda passed: value(posts(passed), passed), _guess(rates), QUIET)
        memory = rates._replace(price=price).encoded()
        moment = seconds(now)
        priority = _BELOW - moment if wait is None else -(moment + wait * 86_400)
        return Placement(priority, now + self._soonest, memory)

    def absent(self, visit: Visit) -> Placement:
        """What the service says is not to be had is asked again after a rest, among the quiet."""
        return Placement(_BELOW - seconds(visit.at), visit.at + max(self._soonest, ABSENT), visit.task.memory)

    def draws(self, room: int, now: datetime) -> Sequence[Draw]:
        share = room * QUIET_SHARE
        quiet = ceil(share) if share >= 1 else int(lot(now) < share)
        return (Draw(room - quiet, low=_LIVE), Draw(room, high=_LIVE), Draw(room, low=_LIVE))


def _guess(rates: Rates) -> float:
    return max(0.3 / rates.per_day, 1e-3)


def moments(times: Sequence[datetime]) -> list[float]:
    return [days(time) for time in times]
