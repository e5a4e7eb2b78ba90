"""`two_stage`: cheap look-ups tell who has news, and only those timelines are asked, those that have waited most first."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from datetime import datetime, timedelta
from math import log, sqrt
from typing import NamedTuple

from bowerbird.model import Arrival, Draw, Placement, Task, Visit
from bowerbird.policies.by_value.order import Order
from bowerbird.policies.by_value.price import Price
from bowerbird.policies.by_value.rates import counted, decoded, first_belief
from bowerbird.policies.moments import days, seconds

_MINUTES = 1440.0
_FIRST_PRICE = 1e-3
_CODE = struct.Struct("<d2f")
_LEFT_TO_FETCH = 0.5
"""Share of its posts that an account is believed to leave to the second stage; the first one brings the others along."""

_IMPATIENCE = 7.0
"""Days in which news that wait come to count e times as much."""


class Lookup:
    """Who is looked up next: by expected news and how long they have waited."""

    name = "two_stage"
    remembers = False

    def __init__(self, revisit: timedelta | None = None) -> None:
        self._order = Order(_waiting, Price(_FIRST_PRICE), revisit)

    def added(self, arrival: Arrival, known: Task | None, now: datetime) -> Placement:
        return Placement(0.0, now)

    def continued(self, visit: Visit) -> bytes | None:
        return visit.task.memory

    def visited(self, visit: Visit) -> Placement:
        if visit.outcome.is_about_target:
            return self._order.absent(visit)
        now, before = days(visit.at), decoded(visit.task.memory)
        if before is None:
            made = days(visit.created_at) if visit.created_at else None
            return self._order.placement(first_belief(now, visit.posts_now, made), visit.at)
        self._order.paid(before, now)
        return self._order.placement(counted(before, now, _moved(visit)), visit.at)

    def draws(self, room: int, now: datetime) -> Sequence[Draw]:
        return self._order.draws(room, now)


def _moved(visit: Visit) -> int:
    """By how much the counter moved; where the profile has none, what was new on the page."""
    if visit.posts_now is None or visit.posts_before is None:
        return visit.new
    return max(visit.posts_now - visit.posts_before, 0)


def _waiting(posts: float, passed: float) -> float:
    # The root, for what an early look gains is not time alone: much of what is ever deleted is deleted within minutes.
    return posts * sqrt(passed * _MINUTES + 1)


class News(NamedTuple):
    """Posts known to exist and not fetched yet, and how much their author was believed to write at `at`."""

    at: float
    posts: float = 0.0
    per_day: float = 1.0

    def encoded(self) -> bytes:
        return _CODE.pack(*self)

    @property
    def worth(self) -> float:
        """How long all these posts would wait, together, until as many have come again.

        Who may clear queues of known length, each at the same price, best clears one when this reaches the price: a long queue of
        one who writes much, a short one of one who writes little.
        """
        return self.posts * (self.posts + 1) / (2 * _LEFT_TO_FETCH * self.per_day)


class Fetch:
    """Who is fetched next: whose known news are most for one who writes so much; who is about to pass the reach of the service
    goes before all others."""

    name = "two_stage"
    remembers = True

    def __init__(self, revisit: timedelta | None = None, *, reach: int | None = None) -> None:
        self._revisit = revisit
        self._reach = reach

    def added(self, arrival: Arrival, known: Task | None, now: datetime) -> Placement:
        moment = days(now)
        before = _news_in(known, moment)
        rates = decoded(arrival.belief)
        # History does not age: an account looked at for the first time counts as one post, however long its past.
        fresh = 1 if rates is None and (known is None or known.visits == 0) else max(arrival.news, 1)
        news = News(moment, before.posts + fresh, before.per_day if rates is None else rates.per_day)
        return Placement(self._priority(news), now, news.encoded(), moves=True)

    def continued(self, visit: Visit) -> bytes | None:
        return visit.task.memory

    def visited(self, visit: Visit) -> Placement:
        moment = days(visit.at)
        memory = _news_in(visit.task, moment)._replace(at=moment, posts=0.0).encoded()
        return Placement(-seconds(visit.at), None if self._revisit is None else visit.at + self._revisit, memory)

    def draws(self, room: int, now: datetime) -> Sequence[Draw]:
        return (Draw(room),)

    def _priority(self, news: News) -> float:
        if self._reach is not None and news.posts > self._reach / 2:
            return 0.0
        # What waits grows slowly, all at the same pace: so the order stands still, and nobody waits for ever.
        return _IMPATIENCE * log(news.worth) - news.at


def _news_in(task: Task | None, moment: float) -> News:
    memory = task.memory if task is not None else None
    return News(moment) if memory is None or len(memory) != _CODE.size else News(*_CODE.unpack(memory))
