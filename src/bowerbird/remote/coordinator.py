"""The coordinator: hands the calls of one work source out to workers that have no database, and takes in what came of them.

It knows every lease that it gave out, and a worker names it by its number: what a worker sends back is the answer, never the
lease. What is put twice is settled once: the second time the same is said as the first. Times that it tells
are believed as far as they can be true: limits and budgets begin anew by the time of an answer.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import Protocol

from msgspec import Struct, structs

from bowerbird.errors import Busy, Fenced
from bowerbird.model import Answer, CallReport, Due, Later, Lease, Leased, Loss, Offer
from bowerbird.ports import Clock, WorkSource
from bowerbird.remote.problems import problem_of
from bowerbird.remote.wire import (
    Drop,
    Dropped,
    Ended,
    Endings,
    Get,
    GiveBack,
    Login,
    Orders,
    Put,
    PutError,
    Refused,
    Returned,
    Settle,
    Settled,
    Work,
    written,
)

AGAIN = timedelta(seconds=1)
"""When a worker that is held back asks again."""
MOST_CALLS = 256
"""That one answer hands out."""
_MOST_OUT = 2 * MOST_CALLS
"""Calls that one worker may hold: who takes and takes and puts nothing would spend limits and budgets of all. More than any has
slots for, because an answer may be lost."""
_LEFT = timedelta(seconds=90)
"""What must be left of a lease for its call to begin: a lost answer that is sent again may come late."""
_KEPT = timedelta(minutes=5)
"""How long it is remembered what became of a call, for those who put it again; longer than any lease."""
_LONGEST_HOLD = timedelta(days=1)
"""How long a worker may have a credential left alone: no service closes its logins for longer."""
_LOSSES = frozenset({"fenced", "unasked", "fault"})
"""What a worker may say of a call that it drops."""
_LONGEST_WHY = 500
_TRIES = 3


class Source(WorkSource, Protocol):
    """A work source for many workers, whose leases can be taken from one that is gone."""

    async def lease_together(self, offer: Offer) -> Work:
        """`lease`, together with whoever else waits for calls at this moment."""
        ...

    async def hand_on(self, lease: Lease, why: str) -> None:
        """Ends a call that nobody will settle: it counts as spent, and its tasks are ready for others at once."""
        ...


class Opened(Struct, frozen=True, kw_only=True):
    """A crawl as it is served now."""

    source: Source
    worker: int = 0
    """The number of the coordinator itself."""
    facets: frozenset[str] = frozenset()
    held_until: Callable[[int], datetime | None] = lambda in_flight: None
    """When the crawl's own rules let the next call go, told how many are out; None: now."""
    settled: Callable[[CallReport], object] = lambda report: None
    """Hears of every call that was settled."""
    login: Callable[[Login], Awaitable[datetime]] | None = None
    """Counts a login that is about to be made; answers when it may be. None: logins are not limited here."""


class _Put(Struct, frozen=True):
    """How a call ended, and with which words."""

    digest: bytes
    ended: Ended
    at: datetime


class _Hand(Struct, frozen=True):
    """The last calls that a worker was given."""

    once: str
    leases: tuple[Lease, ...]


class Coordinator:
    """What workers without a database get and put, for whatever source is open just now."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._opened: Opened | None = None
        self._out: dict[int, Lease] = {}
        self._putting: dict[int, asyncio.Future[_Put]] = {}
        self._ended: dict[int, _Put] = {}
        self._hands: dict[int, _Hand] = {}
        self._getting = 0
        """Workers that are just being answered what to do: their calls are out in a moment."""
        self.orders: dict[int, Orders] = {}
        """By worker, what is wanted of it."""
        self.is_closing = False
        """Nothing more is handed out: what is out comes home."""

    def open(self, opened: Opened) -> None:
        """Hands out calls of this crawl from now on. Leases of another source are not known here any more."""
        self._opened = opened
        self._out.clear()
        self._hands.clear()

    def close(self) -> None:
        """Hands out nothing until a source is opened again."""
        self._opened = None

    @property
    def in_flight(self) -> int:
        return len(self._out) + self._getting

    async def get(self, asked: Get) -> Work:
        """The next calls for a worker, as many as it has room for; a moment later while there is no source to ask."""
        worker, now = asked.offer.worker, self._clock.now()
        hand = self._hands.get(worker)
        if hand is not None and hand.once == asked.once:
            return Leased(hand.leases) if all(each.until - now >= _LEFT for each in hand.leases) else Later(now)
        orders, free = self.orders.get(worker, Orders()), _MOST_OUT - self._held_by(worker, now)
        if self.is_closing or self._opened is None or orders.is_paused or orders.stop or free < 1:
            return Later(now + AGAIN)
        # Who offers no room asks for a call all the same: one, if the crawl's rules let it go.
        room = self._room(self._opened, min(max(asked.offer.room, 1), MOST_CALLS, free))
        if isinstance(room, datetime):
            return Later(room)
        self._getting += 1
        try:
            work = await self._leased(self._opened.source, structs.replace(asked.offer, room=room))
        finally:
            self._getting -= 1
        if isinstance(work, Leased):
            self._out.update((lease.call, lease) for lease in work.leases)
            self._hands[worker] = _Hand(asked.once, work.leases)
        return work

    def _held_by(self, worker: int, now: datetime) -> int:
        return sum(lease.worker == worker and lease.until > now for lease in self._out.values())

    async def _leased(self, source: Source, offer: Offer) -> Work:
        """Calls of several lanes, one after the other, until there is no more room or nothing more to ask."""
        leases: list[Lease] = []
        tries = 0
        while True:
            try:
                work = await source.lease_together(structs.replace(offer, room=offer.room - len(leases)))
            except Exception:
                # Those that were given out before it failed are the worker's.
                if leases:
                    return Leased(tuple(leases))
                raise
            if isinstance(work, Leased):
                leases += work.leases
            elif not isinstance(work, Later) or work.at > self._clock.now() or tries >= _TRIES:
                return Leased(tuple(leases)) if leases else work
            else:
                tries += 1
            if len(leases) >= offer.room:
                return Leased(tuple(leases))

    def _room(self, opened: Opened, wanted: int) -> int | datetime:
        """How many calls may be begun, as far as the crawl's own rules go; none of them: when to ask again."""
        for room in range(wanted):
            if (until := opened.held_until(len(self._out) + room)) is not None:
                return room or until
        return wanted

    async def put(self, sent: Put) -> Endings:
        return Endings(tuple(await asyncio.gather(*(self._put(sent.worker, each) for each in sent.calls))))

    async def put_error(self, sent: PutError) -> Endings:
        return Endings(tuple([await self._put(sent.worker, each) for each in sent.calls]))

    async def _put(self, worker: int, sent: Settle | GiveBack | Drop) -> Ended:
        """What becomes of one call, once, however often it is put."""
        digest = sha256(written(sent)).digest()
        known = await self._known(sent.call)
        while sent.call in self._putting and (known is None or known.digest != digest):
            # Others waited too, and one of them is putting it now.
            known = await self._known(sent.call)
        if known is not None and known.digest == digest:
            return known.ended
        lease = self._out.get(sent.call)
        if lease is None or lease.worker != worker:
            return _unknown(sent)
        self._putting[sent.call] = coming = asyncio.get_running_loop().create_future()
        try:
            put = _Put(digest, await self._end(lease, sent), self._clock.now())
            coming.set_result(put)
        finally:
            del self._putting[sent.call]
            if not coming.done():
                coming.cancel()
        if not isinstance(put.ended, Refused):
            # A refused one may still be dropped, or tried again when the database answers.
            self._out.pop(sent.call, None)
            self._ended[sent.call] = put
        return put.ended

    async def _known(self, call: int) -> _Put | None:
        """How a call has ended; one that is being put just now is waited for."""
        if (coming := self._putting.get(call)) is not None:
            with suppress(asyncio.CancelledError):
                return await asyncio.shield(coming)
        return self._ended.get(call)

    async def _end(self, lease: Lease, sent: Settle | GiveBack | Drop) -> Ended:
        try:
            if self._opened is None:
                raise Busy("the coordinator is opening its crawl", "put it again in a moment")
            source, now = self._opened.source, self._clock.now()
            if isinstance(sent, Settle):
                report = await source.settle(lease, _in_time(sent.answer, lease, now), has_expired=sent.has_expired)
                self._opened.settled(report)
                return Settled(report)
            if isinstance(sent, GiveBack):
                # Only a login closes a credential: what is asked without one is not held back for everybody.
                most = now if lease.credential is None else now + _LONGEST_HOLD
                await source.give_back(lease, _between(sent.until, now, most))
                return Returned()
            return Dropped(await source.drop(lease, _plain(sent.loss)))
        except Exception as error:
            problem = problem_of(error)
            return Refused(problem.kind, problem.code, problem.problem, problem.advice)

    async def login(self, asked: Login) -> Due:
        now, opened = self._clock.now(), self._opened
        if opened is None or opened.login is None:
            return Due(now if opened is not None else now + AGAIN)
        return Due(await opened.login(asked))

    async def wake(self) -> Due:
        return await self._opened.source.wake() if self._opened is not None else Due(self._clock.now() + AGAIN)

    async def look(self, living: Callable[[frozenset[int]], Awaitable[frozenset[int]]]) -> None:
        """Hands on what workers hold that are dead, and forgets what nobody will ask about any more."""
        now = self._clock.now()
        self._ended = {call: put for call, put in self._ended.items() if now - put.at < _KEPT}
        self._out = {call: lease for call, lease in self._out.items() if now - lease.until < _KEPT}
        holders = frozenset(lease.worker for lease in self._out.values())
        dead = holders - await living(holders) if holders else frozenset()
        for lease in [each for each in self._out.values() if each.worker in dead]:
            await self._hand_on(lease)

    async def _hand_on(self, lease: Lease) -> None:
        if lease.call in self._putting or self._opened is None:
            return
        await self._opened.source.hand_on(lease, f"worker {lease.worker} is gone")
        self._out.pop(lease.call, None)


def _in_time(answer: Answer, lease: Lease, now: datetime) -> Answer:
    """The answer with times that can be true: it was asked for after the lease, and is here."""
    sent = _between(answer.sent_at, lease.leased_at, now)
    return structs.replace(answer, sent_at=sent, received_at=_between(answer.received_at, sent, now))


def _between(told: datetime, first: datetime, last: datetime) -> datetime:
    known = told if told.tzinfo is not None else told.replace(tzinfo=UTC)
    return min(max(known, first), last)


def _plain(loss: Loss) -> Loss:
    """The loss in words that others know, and not too many."""
    return structs.replace(loss, outcome=loss.outcome if loss.outcome in _LOSSES else "fault", why=loss.why[:_LONGEST_WHY])


def _unknown(sent: Settle | GiveBack | Drop) -> Ended:
    """Of a call that is not out: whoever has it now, its answer is late. It is booked as spent already, or will be."""
    if isinstance(sent, Drop):
        return Dropped(0)
    if isinstance(sent, GiveBack):
        return Returned()
    problem = problem_of(Fenced(f"call {sent.call} is no longer out: its lease ran out, or the coordinator began anew"))
    return Refused(problem.kind, problem.code, problem.problem, problem.advice)
