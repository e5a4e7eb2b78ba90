"""`index`: one stage, timelines asked directly, by what a visit is expected to be worth."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from math import erf, sqrt

from bowerbird.model import Arrival, Draw, Placement, Task, Visit
from bowerbird.policies.by_value.order import Order, moments
from bowerbird.policies.by_value.price import Price
from bowerbird.policies.by_value.rates import Rates, decoded, noticed, watched
from bowerbird.policies.moments import days

_DELAY = 0.002
"""What a post-minute of delay weighs against a lost post."""
_FIRST_PRICE = 1e-3
_MINUTES = 1440.0


class Index:
    """Highest expected loss and delay first: `L · P(N > L) + w · Λ · τ / 2` for a page of L posts."""

    name = "index"
    remembers = False

    def __init__(self, revisit: timedelta | None = None, *, page: int = 20) -> None:
        self._page = page
        self._order = Order(self._value, Price(_FIRST_PRICE), revisit)

    def added(self, arrival: Arrival, known: Task | None, now: datetime) -> Placement:
        return Placement(0.0, now)

    def continued(self, visit: Visit) -> bytes | None:
        """Adds the page's posts to the belief. Before the first visit ends, `at` is the oldest post so far."""
        now, times = days(visit.at), moments(visit.post_times)
        before = decoded(visit.task.memory)
        if visit.task.visits == 0:
            oldest = min([now if before is None else before.at, *times])
            return noticed(before or Rates(oldest), now, times)._replace(at=oldest).encoded()
        return noticed(before or Rates(now), now, times).encoded()

    def visited(self, visit: Visit) -> Placement:
        if visit.outcome.is_about_target:
            return self._order.absent(visit)
        now, before = days(visit.at), decoded(visit.task.memory)
        if visit.task.visits == 0 or before is None:
            begun = self.continued(visit) if visit.task.visits == 0 else None
            return self._order.placement(_first(decoded(begun) or Rates(now), now, visit), visit.at)
        self._order.paid(before, now)
        times = moments(visit.post_times)
        # A full page that did not reach what was known says nothing of the time before its oldest post.
        since = min(times) if len(times) >= self._page else before.at
        return self._order.placement(noticed(watched(before, now, max(since, before.at)), now, times), visit.at)

    def draws(self, room: int, now: datetime) -> Sequence[Draw]:
        return self._order.draws(room, now)

    def _value(self, posts: float, passed: float) -> float:
        return self._page * more_than(self._page, posts) + _DELAY * posts * passed * _MINUTES / 2


def _first(begun: Rates, now: float, visit: Visit) -> Rates:
    """The belief after the first listing: it shows everything since its oldest post."""
    since = begun.at
    if since >= now:
        since = days(visit.created_at) if visit.created_at else now - 1.0
    return watched(begun._replace(at=now), now, min(since, now - 1e-3))


def more_than(most: int, mean: float) -> float:
    """Probability that a Poisson number exceeds `most` (Wilson and Hilferty's cube root; good to a per cent)."""
    if mean <= 0:
        return 0.0
    shape = most + 1
    z = 3 * sqrt(shape) * ((mean / shape) ** (1 / 3) - 1 + 1 / (9 * shape))
    return 0.5 * (1 + erf(z / sqrt(2)))
