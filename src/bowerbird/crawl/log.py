"""The query log: every call is written before it is made and once more when it ends."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

import msgspec

from bowerbird.clock import to_micros
from bowerbird.model import Answer, Charge, Lease, Outcome, Page, Saved
from bowerbird.ports import Database, Transaction

_SECOND = timedelta(microseconds=1)
_BEGIN = """
insert into calls (crawl, lane, facet, credential, worker, state, charges, objects, targets, leased_at, expires_at, rank_micros)
values (?, ?, ?, ?, ?, 'flying', ?, ?, ?, ?, ?, ?) returning call
"""
_END = """
update calls set state = 'settled', charges = '', sent_at = ?, received_at = ?, settled_at = ?, status = ?, outcome = ?,
    results = ?, new_items = ?, bytes = ?, call_micros = ?, seed_micros = ?, settle_micros = ?, detail = ?
where call = ? and state = 'flying'
"""
_LOSE = (
    "update calls set state = 'lost', charges = '', settled_at = ?, outcome = ?, detail = ? where call = ? and state = 'flying'"
)
# The limits are settled by then: if the worker dies with the connection, nothing is left to book.
_OPENED = """
update calls set charges = '[]', sent_at = ?, received_at = ?, status = ?, results = 0, new_items = 0, bytes = 0
where call = ? and state = 'flying'
"""
_BROUGHT = """
update calls set results = results + ?, new_items = new_items + ?, bytes = bytes + ? where call = ? and state = 'flying'
"""
_HUNG_UP = """
update calls set state = 'settled', charges = '', settled_at = ?, outcome = ?, call_micros = ? - sent_at, detail = ?
where call = ? and state = 'flying'
"""
_SURVEYED = """
insert into calls (crawl, lane, facet, worker, state, charges, objects, targets, leased_at, expires_at, sent_at, received_at,
    settled_at, status, outcome, results, new_items, bytes, call_micros, detail)
values (?, ?, ?, ?, 'settled', '', 0, '', ?, ?, ?, ?, ?, ?, ?, 0, 0, ?, ?, ?)
"""
_NAMED_TARGETS = 3


class Timings(msgspec.Struct, frozen=True):
    """How long our own part of a settle took, up to the moment the log row is written."""

    seed: float = 0.0
    settle: float = 0.0


class QueryLog:
    """Writes table `calls` for one crawl and one worker."""

    def __init__(self, database: Database, crawl: int, worker: int) -> None:
        self._database = database
        self._crawl = crawl
        self._worker = worker

    async def begin(self, tx: Transaction, lane: int, lease: Lease) -> int:
        """Writes the call as flying, with what it was charged; its number names it from here on."""
        targets = lease.ask.targets
        named = ",".join(targets[:_NAMED_TARGETS]) + (f",… ({len(targets)})" if len(targets) > _NAMED_TARGETS else "")
        rows = await tx.fetch(
            _BEGIN,
            *(self._crawl, lane, lease.ask.facet, lease.credential, self._worker, encode_charges(lease.charges), len(targets)),
            *(named, to_micros(lease.leased_at), to_micros(lease.expires_at), lease.rank_time // _SECOND),
        )
        call: int = rows[0]["call"]
        return call

    async def end(
        self, tx: Transaction, lease: Lease, answer: Answer, page: Page, saved: Saved, timings: Timings, now: datetime
    ) -> bool:
        """Marks the call settled; False when somebody declared it lost before."""
        new_items = sum(user.is_new for user in saved.users) + sum(post.is_new for post in saved.posts)
        new_items += saved.relations_new + saved.reactions_new
        touched = await tx.execute(
            _END,
            *(to_micros(answer.sent_at), to_micros(answer.received_at), to_micros(now), answer.status, str(page.outcome)),
            *(page.results, new_items, len(answer.body), (answer.received_at - answer.sent_at) // _SECOND),
            *(round(timings.seed * 1e6), round(timings.settle * 1e6), (page.detail or answer.failure)[:500] or None, lease.call),
        )
        return touched == 1

    async def surveyed(self, tx: Transaction, lane: int, facet: str, answer: Answer, outcome: Outcome) -> None:
        """Writes down a question to a server about itself, which was asked before there was a crawl to ask it."""
        sent, received = to_micros(answer.sent_at), to_micros(answer.received_at)
        await tx.execute(
            _SURVEYED,
            *(self._crawl, lane, facet, self._worker, sent, received, sent, received, received, answer.status, str(outcome)),
            *(len(answer.body), received - sent, answer.failure[:500] or None),
        )

    async def opened(self, tx: Transaction, call: int, answer: Answer) -> bool:
        """The call has become a live connection, which brings more and more; False when somebody declared it lost before."""
        times = to_micros(answer.sent_at), to_micros(answer.received_at)
        return await tx.execute(_OPENED, *times, answer.status, call) == 1

    async def brought(self, tx: Transaction, call: int, results: int, new_items: int, size: int) -> bool:
        return await tx.execute(_BROUGHT, results, new_items, size, call) == 1

    async def hung_up(self, tx: Transaction, call: int, outcome: Outcome, detail: str, now: datetime) -> bool:
        at = to_micros(now)
        return await tx.execute(_HUNG_UP, at, str(outcome), at, detail[:500] or None, call) == 1

    async def lose(self, tx: Transaction, call: int, outcome: str, why: str, now: datetime) -> bool:
        return await tx.execute(_LOSE, to_micros(now), outcome, why[:500], call) == 1

    async def flying(self, tx: Transaction, workers: Sequence[int]) -> list[tuple[int, tuple[Charge, ...]]]:
        """Calls that dead workers never settled, with what they were charged."""
        statement = f"select call, charges from calls where state = 'flying' and worker {self._database.any('bigint')}"
        rows = await tx.fetch(statement, self._database.members(list(workers)))
        return [(row["call"], decode_charges(row["charges"])) for row in rows]


def encode_charges(charges: Sequence[Charge]) -> str:
    return msgspec.json.encode(charges).decode()


_charges = msgspec.json.Decoder(tuple[Charge, ...])


def decode_charges(text: str) -> tuple[Charge, ...]:
    return _charges.decode(text)
