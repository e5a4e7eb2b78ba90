"""For everyone who only reads: the state of crawls, and stored items decoded."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any

import msgspec

from bowerbird.clock import from_micros
from bowerbird.errors import stored_failure
from bowerbird.model import CrawlState, TaskState
from bowerbird.model.subjects.telling import is_gone
from bowerbird.ports import Database, Row, Transaction
from bowerbird.reports.counting.counts import EXACT, Count, Counter
from bowerbird.reports.status.summary import CrawlReport, ErrorNote, LaneReport, LedgerReport, Stored, Summary
from bowerbird.reports.status.timings import Timings, read_timings

if TYPE_CHECKING:
    from bowerbird.reports.browsing.items import ItemReader

_CRAWLS = """
select crawl, name, flow, state, wanted, reason, calls, items, users, posts, created_at, updated_at from crawls order by crawl
"""
_LANES = """
select l.lane, c.name as crawl, s.name as service, l.facet, l.left_out
from lanes l join crawls c on c.crawl = l.crawl join services s on s.service = l.service order by l.lane
"""
_LEDGERS = """
select bucket, allowance, remaining, in_flight, spent, refused, reset_at, backoff_until, next_at from ledgers order by bucket
"""
_ERRORS = "select at, part, outcome, call, message from errors order by error desc limit ?"

_TIMES = frozenset({"at", "created_at", "updated_at", "reset_at", "backoff_until", "next_at"})


def _when(micros: int | None) -> datetime | None:
    return None if micros is None else from_micros(micros)


class Reader:
    """A view on the store that never writes and never blocks the writer."""

    def __init__(self, database: Database, *, exact: int = EXACT) -> None:
        """`exact`: tables of more rows than these are counted by a sample."""
        self._database = database
        self._counter = Counter(database, exact=exact)

    async def summary(self, *, errors: int = 10, with_log: bool = True) -> Summary:
        """Everything `status` shows; its cost hardly grows with the tables. `with_log`: the calls are counted and timed too."""
        async with self._database.reading() as tx:
            return Summary(
                crawls=tuple(_crawl(row) for row in await tx.fetch(_CRAWLS)),
                stored=await self._stored(tx),
                lanes=await self._lanes(tx),
                ledgers=tuple(_ledger(row) for row in await tx.fetch(_LEDGERS)),
                calls=await self._calls(tx) if with_log else {},
                timings=await read_timings(tx) if with_log else Timings(calls=0),
                errors=tuple(_error(row) for row in await tx.fetch(_ERRORS, errors)),
            )

    async def crawls(self) -> tuple[CrawlReport, ...]:
        async with self._database.reading() as tx:
            return tuple(_crawl(row) for row in await tx.fetch(_CRAWLS))

    async def crawl(self, name: str) -> CrawlReport | None:
        return next((crawl for crawl in await self.crawls() if crawl.name == name), None)

    async def stored(self) -> Stored:
        async with self._database.reading() as tx:
            return await self._stored(tx)

    async def lanes(self) -> tuple[LaneReport, ...]:
        async with self._database.reading() as tx:
            return await self._lanes(tx)

    async def ledgers(self) -> tuple[LedgerReport, ...]:
        async with self._database.reading() as tx:
            return tuple(_ledger(row) for row in await tx.fetch(_LEDGERS))

    async def errors(self, limit: int = 50) -> tuple[ErrorNote, ...]:
        """The newest first."""
        async with self._database.reading() as tx:
            return tuple(_error(row) for row in await tx.fetch(_ERRORS, limit))

    async def timings(self, calls: int = 1_000) -> Timings:
        async with self._database.reading() as tx:
            return await read_timings(tx, calls)

    @cached_property
    def _items(self) -> ItemReader:
        # Those who only count need not wait for what unpacks stored items.
        from bowerbird.reports.browsing.items import ItemReader

        return ItemReader(self._database)

    def users(self, *, with_raw: bool = False) -> AsyncIterator[dict[str, Any]]:
        """Every user as a dict, in the order they were heard of; stubs have `seen_at` None."""
        return self._items.users(with_raw)

    def posts(self, *, with_raw: bool = False) -> AsyncIterator[dict[str, Any]]:
        """Every post as a dict with its author's id and handle, tags, mentions and media; tombstones have `deleted_at`."""
        return self._items.posts(with_raw)

    def relations(self) -> AsyncIterator[dict[str, Any]]:
        return self._items.relations()

    async def users_by_handle(self, handle: str) -> list[dict[str, Any]]:
        """Users of any network with this handle, `@` or not: those who bear it, and those who once bore it."""
        return await self._items.users_by_handle(handle.removeprefix("@"))

    async def user_history(self, known_id: str) -> list[dict[str, Any]]:
        """What changed in a profile, oldest first: `at`, `call`, and the fields `before` and `after`."""
        async with self._database.reading() as tx:
            rows = await tx.fetch(
                "select h.at, h.call, h.before, h.after from user_history h join users u on u.user_no = h.user_no "
                f"where u.id = ? and not {is_gone('h')} order by h.at, h.call",
                known_id,
            )
        return [_change(row) for row in rows]

    async def _stored(self, tx: Transaction) -> Stored:
        users = await self._counter.by(tx, "users", "user_no", {"is_stub": "case when seen_at is null then 1 else 0 end"})
        return Stored(
            users_seen=_tally(users, is_stub=False),
            users_stubs=_tally(users, is_stub=True),
            posts=await self._counter.total(tx, "posts"),
            relations=await self._counter.total(tx, "relations"),
            reactions=await self._counter.total(tx, "reactions"),
            quarantined=await _set_aside(tx),
            errors=await self._counter.total(tx, "errors"),
        )

    async def _lanes(self, tx: Transaction) -> tuple[LaneReport, ...]:
        counts = await self._counter.by(tx, "tasks", "task", {"lane": "lane", "state": "state"})
        return tuple(
            LaneReport(
                crawl=row["crawl"],
                service=row["service"],
                facet=row["facet"],
                tasks={TaskState(str(state)): count for (lane, state), count in counts.items() if lane == row["lane"]},
                left_out=stored_failure(row["left_out"]),
            )
            for row in await tx.fetch(_LANES)
        )

    async def _calls(self, tx: Transaction) -> dict[str, Count]:
        counts = await self._counter.by(tx, "calls", "call", {"state": "state", "outcome": "outcome"})
        merged: dict[str, Count] = {}
        for (state, outcome), count in counts.items():
            name = str(outcome or state)
            merged[name] = Count(merged.get(name, Count(0)).value + count.value, count.is_exact)
        return merged


def _tally(users: dict[tuple[object, ...], Count], *, is_stub: bool) -> Count:
    return next((count for (flag,), count in users.items() if bool(flag) is is_stub), Count(0))


def _crawl(row: Row) -> CrawlReport:
    states = {name: CrawlState(row[name]) for name in ("state", "wanted")}
    reason = stored_failure(row["reason"])
    return CrawlReport(**_values(row, CrawlReport.__struct_fields__) | states | {"reason": reason})


def _ledger(row: Row) -> LedgerReport:
    return LedgerReport(**_values(row, LedgerReport.__struct_fields__))


def _error(row: Row) -> ErrorNote:
    return ErrorNote(**_values(row, ErrorNote.__struct_fields__))


def _values(row: Row, fields: Sequence[str]) -> dict[str, Any]:
    return {name: _when(row[name]) if name in _TIMES else row[name] for name in fields}


async def _set_aside(tx: Transaction) -> Count:
    """How many items could not be used, those of which nothing is kept included."""
    row = await tx.fetch_one("select cast(coalesce(sum(items), 0) as bigint) as items from quarantine_sources")
    return Count(int(row["items"]) if row else 0)


def _change(row: Row) -> dict[str, Any]:
    return {
        "at": from_micros(row["at"]),
        "call": row["call"],
        "before": msgspec.json.decode(row["before"]),
        "after": msgspec.json.decode(row["after"]),
    }
