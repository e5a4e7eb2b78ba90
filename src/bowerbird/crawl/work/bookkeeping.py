"""Where a call is written down, before it is made and when it ends: its limits, the query log, the crawl's totals."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import TypeVar

import msgspec
from msgspec import Struct, structs

from bowerbird.clock import to_micros
from bowerbird.crawl.life import registry
from bowerbird.errors import Fenced
from bowerbird.limits.rate_limits import RateLimits
from bowerbird.model import Answer, Answered, Call, CallReport, CallState, Charge, Loss, Outcome
from bowerbird.ports import Clock, Database, Frontier, Transaction

LEASE_TIME = timedelta(minutes=3)
"""How long a call may be out before its tasks are given to others."""
CALL_TIME = timedelta(seconds=90)
"""What must be left of a lease to start a call with it; longer than any request may take."""
C = TypeVar("C", bound=Call)
_SECOND = timedelta(microseconds=1)
_BEGIN = f"""
insert into calls (crawl, lane, facet, credential, worker, state, charges, objects, targets, leased_at, expires_at, rank_micros)
select ?, ?, ?, ?, worker, '{CallState.FLYING}', ?, ?, ?, ?, ?, ? from workers where worker = ? and ended_at is null
returning call, (select version from tombstone_state) as forgotten
"""
_END = f"""
update calls set state = '{CallState.SETTLED}', charges = '', sent_at = ?, received_at = ?, settled_at = ?, status = ?,
    outcome = ?, results = ?, new_items = ?, bytes = ?, call_micros = ?, seed_micros = ?, settle_micros = ?, detail = ?
where call = ? and state = '{CallState.FLYING}'
"""
_LOSE = f"""
update calls set state = '{CallState.LOST}', charges = '', settled_at = ?, outcome = ?, detail = ?
where call = ? and state = '{CallState.FLYING}'
"""
# Its own limits are settled by then; if the worker dies with the connection, what was reserved for its posts is left to book.
# It has no lease to run out.
_OPENED = f"""
update calls set charges = ?, sent_at = ?, received_at = ?, status = ?, results = 0, new_items = 0, bytes = 0,
    expires_at = {to_micros(datetime.max.replace(tzinfo=UTC))}
where call = ? and state = '{CallState.FLYING}'
"""
_ABANDONED = f"""
select call, charges from calls where state = '{CallState.FLYING}'
    and (expires_at <= ? or worker not in (select worker from workers where ended_at is null)) order by call
"""
_EXPIRE = f"update calls set expires_at = ? where call = ? and leased_at = ? and state = '{CallState.FLYING}'"
_IN_FLIGHT = f"select charges from calls where state = '{CallState.FLYING}'"
_BROUGHT = f"""
update calls set charges = ?, results = results + ?, new_items = new_items + ?, bytes = bytes + ?
where call = ? and state = '{CallState.FLYING}'
"""
_HUNG_UP = f"""
update calls set state = '{CallState.SETTLED}', charges = '', settled_at = ?, outcome = ?, call_micros = ? - sent_at, detail = ?
where call = ? and state = '{CallState.FLYING}'
"""
_SURVEYED = f"""
insert into calls (crawl, lane, facet, worker, state, charges, objects, targets, leased_at, expires_at, sent_at, received_at,
    settled_at, status, outcome, results, new_items, bytes, call_micros, detail)
values (?, ?, ?, ?, '{CallState.SETTLED}', '', 0, '', ?, ?, ?, ?, ?, ?, ?, 0, 0, ?, ?, ?)
"""
_ANSWERED = """
select 1 as found from calls join lanes on lanes.lane = calls.lane join services on services.service = lanes.service
where services.name = ? and lanes.facet = ? and calls.outcome = 'ok' and calls.objects >= ? limit 1
"""
_COUNT = "update crawls set calls = calls + ?, items = items + ?, users = users + ?, posts = posts + ? where crawl = ?"
_LEFT_ALONE = "update crawls set seeds_left_alone = seeds_left_alone + ? where crawl = ?"
SURVEY = "survey"
"""What the log calls a question to a server about itself; no facet has this name."""
_NAMED_TARGETS = 3


class Timings(Struct, frozen=True):
    """How long our own part of a settle took, up to the moment the log row is written."""

    seed: float = 0.0
    settle: float = 0.0


class QueryLog:
    """Writes table `calls` for one crawl and one worker."""

    def __init__(self, crawl: int, me: Callable[[], int]) -> None:
        """`me`: the number of this worker, as it is now."""
        self._crawl = crawl
        self.me = me
        self.forgotten: int | None = None
        """Grows when somebody is forgotten: what was chosen before may be about them."""

    async def begin(self, tx: Transaction, lane: int, call: Call) -> int:
        """Writes the call as flying, with what it was charged; its number names it from here on.

        Raises `Fenced` when others have taken this worker for dead: nobody would look after its calls.
        """
        targets = call.ask.targets
        named = ",".join(targets[:_NAMED_TARGETS]) + (f",… ({len(targets)})" if len(targets) > _NAMED_TARGETS else "")
        rows = await tx.fetch(
            _BEGIN,
            *(self._crawl, lane, call.ask.facet, call.credential, encode_charges(call.charges), len(targets)),
            *(named, to_micros(call.leased_at), to_micros(call.until), call.rank_time // _SECOND, call.worker),
        )
        if not rows:
            raise Fenced(
                f"worker {call.worker} was silent for too long and is taken for dead; it makes no call under this number"
            )
        self.forgotten = rows[0]["forgotten"]
        number: int = rows[0]["call"]
        return number

    async def end(self, tx: Transaction, done: Answered, timings: Timings, now: datetime, new_items: int = 0) -> bool:
        """Marks the call settled; False when somebody declared it lost before."""
        answer, page = done.answer, done.page
        detail = (page.detail or answer.failure)[:500] or None
        touched = await tx.execute(
            _END,
            *(to_micros(answer.sent_at), to_micros(answer.received_at), to_micros(now), answer.status, str(page.outcome)),
            *(page.results, new_items, len(answer.body), (answer.received_at - answer.sent_at) // _SECOND),
            *(round(timings.seed * 1e6), round(timings.settle * 1e6), detail, done.call.call),
        )
        return touched == 1

    async def surveyed(self, tx: Transaction, lane: int, facet: str, answer: Answer, outcome: Outcome) -> None:
        """Writes down a question to a server about itself, which was asked before there was a crawl to ask it."""
        sent, received = to_micros(answer.sent_at), to_micros(answer.received_at)
        await tx.execute(
            _SURVEYED,
            *(self._crawl, lane, facet, self.me(), sent, received, sent, received, received, answer.status, str(outcome)),
            *(len(answer.body), received - sent, answer.failure[:500] or None),
        )

    async def opened(self, tx: Transaction, call: int, answer: Answer, held: Sequence[Charge]) -> bool:
        """The call has become a live connection, which brings more and more; False when somebody declared it lost before."""
        times = to_micros(answer.sent_at), to_micros(answer.received_at)
        return await tx.execute(_OPENED, encode_charges(held), *times, answer.status, call) == 1

    async def brought(self, tx: Transaction, call: int, held: Sequence[Charge], results: int, new_items: int, size: int) -> bool:
        return await tx.execute(_BROUGHT, encode_charges(held), results, new_items, size, call) == 1

    async def hung_up(self, tx: Transaction, call: int, outcome: Outcome, detail: str, now: datetime) -> bool:
        at = to_micros(now)
        return await tx.execute(_HUNG_UP, at, str(outcome), at, detail[:500] or None, call) == 1

    async def lose(self, tx: Transaction, call: int, outcome: str, why: str, now: datetime) -> bool:
        return await tx.execute(_LOSE, to_micros(now), outcome, why[:500], call) == 1

    async def expire(self, tx: Transaction, calls: Sequence[Call], now: datetime) -> None:
        """Ends the leases of calls whose commit was not confirmed, in case the database made it: `Recovery` books them as spent.

        The number alone does not identify such a call: after a crash PostgreSQL may give it to another one.
        """
        at = to_micros(now)
        await tx.execute_many(_EXPIRE, [(at, call.call, to_micros(call.leased_at)) for call in calls])

    async def abandoned(self, tx: Transaction, now: datetime) -> list[tuple[int, tuple[Charge, ...]]]:
        """Flying calls whose worker has ended or whose lease has run out, with what they were charged."""
        rows = await tx.fetch(_ABANDONED, to_micros(now))
        return [(row["call"], decode_charges(row["charges"])) for row in rows]

    async def in_flight(self, tx: Transaction) -> Counter[str]:
        """By bucket: how much the flying calls of all workers were charged."""
        taken: Counter[str] = Counter()
        for row in await tx.fetch(_IN_FLIGHT):
            for charge in decode_charges(row["charges"]):
                taken[charge.bucket] += charge.amount
        return taken


class Bookkeeping(Struct, frozen=True, kw_only=True):
    """The accounts of one crawl in one process: whoever makes calls writes them here, in a transaction of his own."""

    crawl: int
    database: Database
    clock: Clock
    frontier: Frontier
    ledgers: RateLimits
    log: QueryLog

    async def begin(self, tx: Transaction, lane: int, call: C, now: datetime) -> C:
        """Charges a call and logs it as flying, before it is made; answers it with its number and with what it was charged."""
        charges = tuple(await self.ledgers.charge(tx, call.charges, now))
        call = structs.replace(call, charges=charges)
        return structs.replace(call, call=await self.log.begin(tx, lane, call))

    async def end(self, tx: Transaction, done: Answered, report: CallReport, timings: Timings, now: datetime) -> None:
        """Books an answered call, last of all in its transaction: every worker changes the row of the crawl's totals, and waits
        for it. Raises `Fenced` when somebody declared the call lost before."""
        call, page = done.call, done.page
        # First the call, as whoever loses one does: of two who end it at the same time, one books it.
        if not await self.log.end(tx, done, timings, now, report.new_items):
            raise Fenced(f"call {call.call} was declared lost before its answer came; the answer is dropped")
        await self.ledgers.settle(tx, call.charges, page, done.answer)
        if page.outcome is not Outcome.OK and not page.outcome.is_about_target:
            part = f"{report.service}/{report.facet}"
            await registry.note_error(tx, self.crawl, part, str(page.outcome), call.call, page.detail, now)
        if report.left_alone:
            # Nothing else in the store tells of a seed by handle.
            await tx.execute(_LEFT_ALONE, len(report.left_alone), self.crawl)
        await self.count(tx, report)

    async def count(self, tx: Transaction, report: CallReport, *, calls: int = 1) -> None:
        """Adds what a call brought to the crawl's totals; a live connection brings things before its call has ended."""
        await tx.execute(_COUNT, calls, report.new_items, report.new_users, report.new_posts, self.crawl)

    async def lose(self, tx: Transaction, call: Call, loss: Loss, now: datetime) -> bool:
        """Ends a call without an answer: it counts as spent. False when somebody has ended it before."""
        # First the call: of two who end it at the same time, one books it.
        if not await self.log.lose(tx, call.call, loss.outcome, loss.why, now):
            return False
        await self.ledgers.lose(tx, call.charges, now)
        return True


async def count_call(tx: Transaction, crawl: int) -> None:
    """Adds a call that brought nothing to the totals of a crawl."""
    await tx.execute(_COUNT, 1, 0, 0, 0, crawl)


async def has_answered(tx: Transaction, service: str, facet: str, objects: int = 0) -> bool:
    """Whether a service ever answered well to a facet, asked for so many objects at once, whoever asked."""
    return await tx.fetch_one(_ANSWERED, service, facet, objects) is not None


def encode_charges(charges: Sequence[Charge]) -> str:
    return msgspec.json.encode(charges).decode()


_charges = msgspec.json.Decoder(tuple[Charge, ...])


def decode_charges(text: str) -> tuple[Charge, ...]:
    """What a call was charged; nothing where that cannot be read: then its accounts are reconciled."""
    try:
        return _charges.decode(text)
    except msgspec.DecodeError:
        return ()
