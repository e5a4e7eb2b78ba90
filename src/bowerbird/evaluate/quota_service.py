"""The server of `evaluate quota`: real windows behind a clock that is wrong, a slow network, lost answers and an outage."""

from __future__ import annotations

import random
from collections.abc import Sequence
from datetime import datetime, timedelta
from functools import lru_cache

from msgspec import Struct

from bowerbird.model import Answer, Outcome, Reading, WindowKind
from bowerbird.ports import Clock
from bowerbird.simulated.limiter import Limiter, Throttle

WINDOW = timedelta(minutes=15)
_GIVE_UP = timedelta(seconds=15)
_FASTEST = 0.03
_TYPICAL = 0.07
_SLOW = 0.002
_DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_MONTHS = "JanFebMarAprMayJunJulAugSepOctNovDec"


class Scene(Struct, frozen=True, kw_only=True):
    """What the client has to cope with; times of the outage are since the start, in the server's time."""

    hours: float = 48.0
    credentials: int = 10
    allowances: tuple[int, ...] = (75, 60, 30, 30, 15, 15)
    kind: WindowKind = WindowKind.ALIGNED
    seed: int = 1
    skew: timedelta = timedelta(seconds=-37.4)
    drift: float = 8e-6
    """How much faster the server's clock runs than ours."""
    lost_before: float = 0.003
    """Share of calls that never reach the server."""
    lost_after: float = 0.003
    """Share of calls that the server counts and whose answers never come."""
    outage: tuple[timedelta, timedelta] | None = None

    @property
    def length(self) -> timedelta:
        return timedelta(hours=self.hours)


class Heard(Struct, frozen=True, gc=False):
    """One call's end, as a provider would have understood it."""

    outcome: Outcome
    reading: Reading | None
    answer: Answer


class QuotaService:
    """Answers calls after a while, if at all, and keeps the true count."""

    def __init__(self, scene: Scene, clock: Clock) -> None:
        self.limiter = Limiter()
        self.throttles = [Throttle(f"facet{n}", allowance, WINDOW, scene.kind) for n, allowance in enumerate(scene.allowances)]
        self._scene = scene
        self._clock = clock
        self._start = clock.now()
        self._random = random.Random(scene.seed)

    def server_time(self, now: datetime) -> datetime:
        return now + self._scene.skew + (now - self._start) * self._scene.drift

    async def call(self, facet: int, who: str) -> Heard:
        sent_at = self._clock.now()
        fate = self._random.random()
        await self._travel()
        arrived_at = self.server_time(self._clock.now())
        if self._is_out(arrived_at):
            return await (self._silence(sent_at) if fate < 0.5 else self._overloaded(sent_at, arrived_at))
        if fate < self._scene.lost_before:
            return await self._silence(sent_at)
        verdict = self.limiter.spend([(self.throttles[facet], who)], arrived_at)
        if fate < self._scene.lost_before + self._scene.lost_after:
            return await self._silence(sent_at)
        await self._travel()
        outcome, status = (Outcome.OK, 200) if verdict.is_allowed else (Outcome.RATE_LIMITED, 429)
        reading = Reading(verdict.limit, verdict.remaining, verdict.reset_at)
        return Heard(outcome, reading, self._answer(status, sent_at, arrived_at))

    async def _overloaded(self, sent_at: datetime, arrived_at: datetime) -> Heard:
        await self._travel()
        return Heard(Outcome.OVERLOADED, None, self._answer(503, sent_at, arrived_at))

    async def _silence(self, sent_at: datetime) -> Heard:
        await self._clock.sleep_until(sent_at + _GIVE_UP)
        answer = Answer(status=0, sent_at=sent_at, received_at=self._clock.now(), failure="no answer")
        return Heard(Outcome.UNANSWERED, None, answer)

    def _answer(self, status: int, sent_at: datetime, at: datetime) -> Answer:
        headers = {"date": _date(at.replace(microsecond=0))}
        return Answer(status=status, headers=headers, sent_at=sent_at, received_at=self._clock.now())

    async def _travel(self) -> None:
        seconds = _FASTEST + self._random.expovariate(1 / _TYPICAL)
        if self._random.random() < _SLOW:
            seconds += self._random.uniform(0.5, 4)
        await self._clock.sleep_until(self._clock.now() + timedelta(seconds=seconds))

    def _is_out(self, server_now: datetime) -> bool:
        outage = self._scene.outage
        return outage is not None and self._start + outage[0] <= server_now < self._start + outage[1]


@lru_cache(maxsize=16)
def _date(at: datetime) -> str:
    month = _MONTHS[3 * at.month - 3 : 3 * at.month]
    return f"{_DAYS[at.weekday()]}, {at.day:02} {month} {at.year} {at:%H:%M:%S} GMT"


def allowed(scene: Scene) -> int:
    """Calls per credential that a client could have made that knows everything beforehand, the outage included.

    It opens every window the moment it can, and spends it whole at once. An aligned window counts unless the outage covers
    all of it that lies in the run; first-call windows follow each other without a gap, and one that would open in the outage
    opens at its end.
    """
    starts = _aligned_starts(scene) if scene.kind is WindowKind.ALIGNED else _first_call_starts(scene)
    return len(starts) * sum(scene.allowances)


def _aligned_starts(scene: Scene) -> Sequence[timedelta]:
    """In the server's time since the start of the run, which is itself the end of a window."""
    first, end = scene.skew, scene.skew + scene.length * (1 + scene.drift)
    starts = [n * WINDOW for n in range(first // WINDOW, -(-end // WINDOW))]
    return [start for start in starts if _has_service(scene, max(start, first), min(start + WINDOW, end))]


def _has_service(scene: Scene, start: timedelta, end: timedelta) -> bool:
    return scene.outage is None or start < scene.outage[0] or end > scene.outage[1]


def _first_call_starts(scene: Scene) -> Sequence[timedelta]:
    at, end = scene.skew, scene.skew + scene.length * (1 + scene.drift)
    starts = []
    while at < end:
        if scene.outage is not None and scene.outage[0] <= at < scene.outage[1]:
            at = scene.outage[1]
            continue
        starts.append(at)
        at += WINDOW
    return starts
