"""Everything a streamer writes except what it hears: its hold on the stream, its calls, how each of them began and ended."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime
from functools import partial
from typing import TypeVar

from msgspec import Struct, structs

from bowerbird.crawl.life import registry
from bowerbird.crawl.process.patience import patiently
from bowerbird.crawl.process.tally import Tally
from bowerbird.crawl.process.workers.claims import WorkerClaims
from bowerbird.crawl.streaming import stream_rows
from bowerbird.crawl.streaming.connecting import Refusal
from bowerbird.crawl.streaming.filling import Filler
from bowerbird.crawl.streaming.gaps import Cause, Seam, add_gap, missed, resumes
from bowerbird.crawl.streaming.stream import Stream
from bowerbird.crawl.streaming.stream_rows import Position, Step
from bowerbird.crawl.streaming.waits import Trouble
from bowerbird.crawl.work.bookkeeping import LEASE_TIME, Bookkeeping, Timings, count_call
from bowerbird.errors import Fenced, Taken
from bowerbird.model import Answer, Answered, Ask, Call, CallReport, Charge, Loss, Outcome, Page, StreamState
from bowerbird.ports import Transaction

T = TypeVar("T")


class Batched(Struct, frozen=True, kw_only=True):
    """What one transaction did with a batch; it counts only once it is committed."""

    position: Position
    seam: Seam
    report: CallReport
    held: Sequence[Charge]


class StreamLog:
    """Writes for one streamer, each entry in a transaction of its own that fails when the stream is no longer ours."""

    def __init__(self, books: Bookkeeping, stream: Stream, filler: Filler, tally: Tally) -> None:
        self._books = books
        self._stream = stream
        self._filler = filler
        self._tally = tally
        self._claims = WorkerClaims(stream.me)
        self._position: Position | None = None
        self.lease: Call | None = None
        """The call that is out: the connection, from before it is opened until it has ended."""
        self.second: Call | None = None
        """A second call: for a change, or for the connection that is to follow the one that is open."""
        self.seam = Seam()
        self._unconfirmed: list[Call] = []
        """Calls that the database may have committed without confirming them."""

    @property
    def position(self) -> Position:
        if self._position is None:
            raise Fenced(f"stream {self._stream.name} is not ours")
        return structs.replace(self._position, cursor=self._stream.own_cursor(self._position.cursor))

    @property
    def _left_host(self) -> str:
        """The host whose cursor is saved, if the stream now goes to another."""
        return self._stream.other_host(self._position.cursor) if self._position is not None else ""

    @property
    def call(self) -> int:
        if self.lease is None:
            raise LookupError("no call is out")
        return self.lease.call

    async def brought(self, tx: Transaction, report: CallReport, size: int, now: datetime) -> Sequence[Charge]:
        """Books what the connection has brought; answers what is then reserved for what it brings next."""
        books = self._books
        held: Sequence[Charge] = self.held
        if report.results and held:
            held = await books.ledgers.deliver(tx, held, report.results, now, self._stream.charges)
        if not await books.log.brought(tx, self.call, held, report.results, report.new_items, size):
            raise Fenced(f"call {self.call} was declared lost; what its connection still brings is dropped")
        await books.count(tx, report, calls=0)
        return held

    def moved(self, batched: Batched) -> None:
        """What a committed batch changed."""
        self._position, self.seam = batched.position, batched.seam
        self.lease = structs.replace(self._out(), charges=tuple(batched.held))
        self._tally.heard(batched.report, self._books.clock.now())

    @property
    def held(self) -> tuple[Charge, ...]:
        """What is reserved for what the connection brings next."""
        return self.lease.charges if self.lease is not None else ()

    async def write(self, work: Callable[[Transaction, datetime], Awaitable[T]]) -> T:
        """One transaction, tried again while our own database is busy or full."""

        async def once() -> T:
            await self._expire_unconfirmed()
            async with self._books.database.transaction() as tx:
                return await work(tx, self._books.clock.now())

        return await patiently(once, self._books.clock, self._tally.blocked)

    async def _expire_unconfirmed(self) -> None:
        """Ends the leases of calls whose commits failed, in case the database made them: they would hold back their limits."""
        if expired := tuple(self._unconfirmed):
            async with self._books.database.transaction() as tx:
                await self._books.log.expire(tx, expired, self._books.clock.now())
            self._unconfirmed[:] = [call for call in self._unconfirmed if call not in expired]

    async def take(self) -> datetime | None:
        """Takes the stream; if another worker has it, says when its hold runs out."""

        async def work(tx: Transaction, now: datetime) -> Position | datetime:
            await registry.end_workers(tx, await registry.dead_workers(tx, self._stream.me(), now), now)
            return await stream_rows.take(tx, self._claims, self._stream.stream, now)

        taken = await self.write(work)
        if isinstance(taken, datetime):
            return taken
        self._position = taken
        self._stream.pace.recall(taken.busiest)
        return None

    async def keep(self, state: StreamState, reason: str | None = None, alive_at: datetime | None = None) -> None:
        """Renews the hold; `alive_at`: the connection was alive then and all it had said is saved."""

        async def work(tx: Transaction, now: datetime) -> Position:
            position = await self.advance(tx, Step(state=state, reason=reason, heard_at=alive_at), now)
            await self._filler.arrange(tx, None, now)
            return position

        self._position = await self.write(work)

    async def advance(self, tx: Transaction, step: Step, now: datetime) -> Position:
        """Writes a step of the stream, first of all in a transaction: whoever is fenced shall not write anything in vain."""
        return await stream_rows.advance(tx, self._claims, self.position, step, now)

    async def release(self) -> None:
        position = self.position
        await self.write(lambda tx, _: stream_rows.release(tx, self._claims, position))
        self._position = None

    async def begin_call(self) -> datetime | None:
        """Charges a connection and logs it before it is opened; if its limits say later, answers when."""

        begun = await self._begin(self._stream.charges, StreamState.CONNECTING)
        if isinstance(begun, datetime):
            return begun
        self.lease = begun
        return None

    async def begin_second(self, charges: Sequence[Charge]) -> Call | datetime:
        """The same for a second call while a connection is open."""
        begun = await self._begin(charges, StreamState.LIVE)
        self.second = begun if isinstance(begun, Call) else None
        return begun

    async def _begin(self, charges: Sequence[Charge], state: StreamState) -> Call | datetime:
        async def work(tx: Transaction, now: datetime) -> tuple[Position, Call] | datetime:
            at = self._books.ledgers.available_at(charges, now)
            if at > now:
                return at
            position = await self.advance(tx, Step(state=state), now)
            call = await self._books.begin(tx, self._stream.lane, self._new_call(charges, now), now)
            # Only after a failed commit: keywords may change, which writes as well, while this one is under way.
            tx.on_rollback(partial(self._unconfirmed.append, call))
            return position, call

        try:
            begun = await self.write(work)
        except Taken:
            return self._books.ledgers.available_at(charges, self._books.clock.now())
        if isinstance(begun, datetime):
            return begun
        self._position, lease = begun
        return lease

    def _new_call(self, charges: Sequence[Charge], now: datetime) -> Call:
        stream = self._stream
        return Call(
            worker=stream.me(),
            ask=Ask(stream.channel.facet.name, (stream.name,)),
            credential=stream.credential,
            charges=tuple(charges),
            leased_at=now,
            until=now + LEASE_TIME,
        )

    async def refused(self, refusal: Refusal) -> None:
        """Ends a call that led to no connection."""
        await self._ended(self._out(), refusal)
        self.lease = None
        self._landed(refusal.page.outcome, refusal.page.detail)

    async def end_second(self, lease: Call, refusal: Refusal | None, answer: Answer | None) -> None:
        """Ends a second call that led to no connection: a change that was made, or whatever was refused."""
        now = self._books.clock.now()
        done = Refusal(Page(), answer or Answer(status=200, sent_at=now, received_at=now), is_ours=False)
        await self._ended(lease, refusal or done)
        self.second = None
        self._landed((refusal or done).page.outcome, (refusal or done).page.detail)

    def take_over(self, lease: Call) -> None:
        """The second call is the connection from now on."""
        self.lease, self.second = lease, None

    async def _ended(self, lease: Call, refusal: Refusal) -> None:
        page = refusal.page
        # The streamer waits by the network's rules for connections; only a limit is the bucket's own business.
        outcome = Outcome.OK if page.outcome.is_passing or not refusal.is_ours else page.outcome
        reading = page.reading if refusal.is_ours else None

        async def work(tx: Transaction, now: datetime) -> None:
            if not await self._books.log.end(tx, Answered(lease, refusal.answer, page), Timings(), now):
                raise Fenced(f"call {lease.call} was declared lost before its answer came")
            await self._books.ledgers.settle(tx, lease.charges, Page(outcome=outcome, reading=reading), refusal.answer)
            if page.outcome is not Outcome.OK:
                await self._note(tx, lease.call, page.outcome, page.detail, now)
            await count_call(tx, self._stream.crawl)

        await self.write(work)

    async def refuse(self, credential: str, words: str) -> None:
        """Tells everyone who looks that the service refuses whom the stream was opened as."""
        service = self._stream.service.name
        await self.write(lambda tx, now: registry.refuse_credential(tx, service, credential, words, now))

    async def connected(self, answer: Answer, cause: Cause | None) -> None:
        """The call has become a connection: its limits are settled, and what nobody heard before it is a gap; without a cause it
        was opened while the one before was still heard."""
        lease, channel = self._out(), self._stream.channel
        metered = tuple(structs.replace(charge, amount=0) for charge in lease.charges if charge.limit.per_result)
        said = self._stream.provider.refused(self._stream.wanted, answer).reading
        opened_at = answer.received_at
        # What ended the last connection may have come after this one was open.
        heard_until = max(opened_at, self.position.heard_at or opened_at)
        gap = None if cause is None else missed(self.position, channel, cause, heard_until)
        left = self._left_host
        # From here on everything is heard, unless a cursor leads further back.
        heard_at = None if resumes(self.position, channel) else opened_at
        step = Step(state=StreamState.LIVE, connected_at=opened_at, heard_at=heard_at, connections=1)

        async def work(tx: Transaction, now: datetime) -> tuple[Position, tuple[Charge, ...]]:
            if gap is not None:
                await add_gap(tx, self.position.stream, structs.replace(gap, detail=_moved(left)) if left else gap, lease.call)
            if left:
                await self._note(tx, lease.call, Outcome.OK, _moved(left), now)
            position = await self.advance(tx, step, now)
            await self._filler.arrange(tx, lease.call, now)
            await self._books.ledgers.settle(tx, lease.charges, Page(reading=said), answer)
            # What was reserved for the posts to come stays so until the connection ends: each of them is paid for.
            held = tuple(await self._books.ledgers.deliver(tx, metered, 0, now, self._stream.charges))
            if not await self._books.log.opened(tx, lease.call, answer, held):
                raise Fenced(f"call {lease.call} was declared lost while it was being made")
            return position, held

        self._position, held = await self.write(work)
        self.seam = Seam(has_gap=gap is not None)
        self.lease = structs.replace(lease, charges=held)

    async def hung_up(self, trouble: Trouble, alive_at: datetime | None) -> None:
        """Ends the call of a connection; all that came over it is saved."""
        lease = self._out()

        async def work(tx: Transaction, now: datetime) -> Position:
            step = Step(state=StreamState.WAITING, reason=trouble.words, heard_at=alive_at)
            position = await self.advance(tx, step, now)
            if not trouble.is_wanted:
                await self._note(tx, lease.call, trouble.outcome, trouble.words, now)
            if not await self._books.log.hung_up(tx, lease.call, trouble.outcome, trouble.words, now):
                raise Fenced(f"call {lease.call} was declared lost before the connection ended")
            await self._books.ledgers.deliver(tx, lease.charges, 0, now)
            await count_call(tx, self._stream.crawl)
            return position

        self._position = await self.write(work)
        self.lease = None
        self._landed(trouble.outcome, trouble.words)

    async def restart(self) -> None:
        """Leaves a cursor that the service does not know for the oldest it has."""
        step = Step(state=StreamState.WAITING, cursor=self._stream.kept_cursor(self._stream.channel.restart))
        self._position = await self.write(lambda tx, now: self.advance(tx, step, now))

    async def abandon(self, why: str) -> None:
        """Books a call that will not be heard of again: it is spent, and the log says why."""
        leases = [lease for lease in (self.lease, self.second) if lease is not None]
        self.lease = self.second = self._position = None

        async def work(tx: Transaction, now: datetime) -> None:
            for lease in leases:
                await self._books.lose(tx, lease, Loss("lost", why), now)

        if leases:
            await self.write(work)

    def _out(self) -> Call:
        if self.lease is None:
            raise LookupError("no call is out")
        return self.lease

    async def _note(self, tx: Transaction, call: int, outcome: Outcome, words: str, now: datetime) -> None:
        part = f"{self._stream.service.name}/{self._stream.name}"
        await registry.note_error(tx, self._stream.crawl, part, str(outcome), call, words, now)

    def _landed(self, outcome: Outcome, words: str) -> None:
        report = CallReport(facet=self._stream.channel.facet.name, outcome=outcome, results=0, new_items=0, detail=words)
        self._tally.settled(report, self._books.clock.now())


def _moved(host: str) -> str:
    return f"the cursor is of {host} and means nothing to the host that is now the stream's base: heard anew from here on"
