"""Looks through a whole store for the names of the forgotten, in small transactions, beside running crawls.

How far it is stands in the database: killed, it goes on there; when more are forgotten meanwhile, it begins anew for all.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Struct

from bowerbird.clock import to_micros
from bowerbird.db.postgres.pages_lock import ALONE
from bowerbird.db.sqlite.short_columns import written
from bowerbird.ports import Clock, Database, Row, Transaction
from bowerbird.store.context import SaveContext
from bowerbird.store.forgetting.erasing import Erased, EraseStatements, erase
from bowerbird.store.forgetting.filtering import Filter
from bowerbird.store.forgetting.names import Kind, user_names
from bowerbird.store.forgetting.payloads import drop_payloads
from bowerbird.store.forgetting.searched_tables import SEARCHED_TABLES, SearchedTable
from bowerbird.store.forgetting.tombstones import Tombstones

BATCH = 1_000
_PAGES = 64
"""Pages of PostgreSQL that are read in one transaction."""
Said = Callable[[str, int], None]
"""Hears the table and how many of its rows were looked through by now."""
_STATE = "select version, sweeping, step, place, after_key, swept from tombstone_state"
_START = "update tombstone_state set sweeping = ?, step = 0, place = 0, after_key = null"
_MOVE = "update tombstone_state set step = ?, place = ?, after_key = ? where sweeping = ?"
_END = "update tombstone_state set swept = ? where sweeping = ?"
_DONE = "update forget_requests set done_at = ? where done_at is null and version <= ?"
_FOUND = "update forget_requests set mentions = mentions + ? where done_at is null and version = ?"
# What is being asked just now is retired when that call ends.
_RETIRED = """
update tasks set target = ?, ready = 0, due = case when token is null then null else due end, woken = 0,
    cursor = null, newest = null, head = null, failure = null,
    state = case when token is null then 'retired' else 'retiring' end
where task = ?
"""
_ASKED = """
select 'service' as by, service as number, name from services
union all select 'lane', l.lane, s.name from lanes l join services s on s.service = l.service
"""
_DISCARD_DECISIONS = "update keyword_progress set version = version + 1"
RESIDUE = "update residue set is_left = 1 where is_left = 0"


class Looked(Struct, frozen=True):
    """One piece of a table: its rows, and where the next piece begins; None: there is none."""

    rows: Sequence[Row]
    place: int | None
    after: str | None = None
    """Of tables that are gone through by a key without a number: the last one, as JSON."""


class Sweep:
    """One sweep over one store."""

    def __init__(self, database: Database, clock: Clock, remove: Callable[[str], object], said: Said) -> None:
        """`remove`: takes a picture or film off the disk, by its media id."""
        self._database = database
        self._clock = clock
        self._remove = remove
        self._said = said
        self._sql = EraseStatements(database)
        self._tombstones = Tombstones()
        self._looked: Counter[str] = Counter()
        self.erased = Erased()

    async def run(self) -> Erased:
        """Goes on where the last one stopped, to the end; answers what this call found."""
        while await self._piece():
            pass
        return self.erased

    async def _piece(self) -> bool:
        async with self._database.transaction() as tx:
            if self._database.dialect == "postgresql":
                await tx.execute(f"select pg_advisory_xact_lock({ALONE})")
            state = await tx.fetch_one(_STATE)
            if state is None or state["swept"] >= state["version"]:
                return False
            if state["sweeping"] != state["version"]:
                await tx.execute(_START, state["version"])
                return True
            if self._tombstones.version != state["version"]:
                self._tombstones.let_go()
            await self._tombstones.load(tx)
            await self._look(tx, state)
        return True

    async def _look(self, tx: Transaction, state: Row) -> None:
        step, version, now = int(state["step"]), state["version"], to_micros(self._clock.now())
        if step >= len(SEARCHED_TABLES):
            await tx.execute(_END, version, version)
            await tx.execute(_DONE, now, version)
            return
        if SEARCHED_TABLES[step].table == "keyword_methods":
            await _reset_memories(tx)
        looked = await self._rows(tx, SEARCHED_TABLES[step], (int(state["place"]), state["after_key"]))
        s = SaveContext(tx=tx, database=self._database, at=now)
        services = {(row["by"], row["number"]): row["name"] for row in await tx.fetch(_ASKED)}
        found = await _Found(s, self._sql, self._tombstones, SEARCHED_TABLES[step], services, self._remove).take(looked.rows)
        self.erased.add(found)
        if found != Erased():
            await tx.execute(_FOUND, found.mentions, version)
            await tx.execute(RESIDUE)
        following = (step + 1, 0, None) if looked.place is None else (step, looked.place, looked.after)
        await tx.execute(_MOVE, *following, version)
        tx.after_commit(lambda: self._tell(SEARCHED_TABLES[step].table, len(looked.rows)))

    def _tell(self, table: str, rows: int) -> None:
        self._looked[table] += rows
        self._said(table, self._looked[table])

    async def _rows(self, tx: Transaction, searched: SearchedTable, begin: tuple[int, str | None]) -> Looked:
        columns, (since, after) = ", ".join(_columns(searched)), begin
        # Not by their places on PostgreSQL: whoever changes a row there meanwhile may move it to where we have been.
        key = "rowid" if self._database.dialect == "sqlite" else _NUMBERS.get(searched.table)
        if key is not None:
            rows = await tx.fetch(
                f"select {key} as row_at, {columns} from {searched.table} where {key} > ? order by {key} limit ?", since, BATCH
            )
            return Looked(rows, int(rows[-1]["row_at"]) if len(rows) == BATCH else None)
        if searched.table in _KEYS:
            return await self._by_key(tx, searched, columns, after)
        return await self._by_pages(tx, searched, columns, since)

    async def _by_key(self, tx: Transaction, searched: SearchedTable, columns: str, after: str | None) -> Looked:
        """Locked, so that nobody moves a row before it is written to."""
        keys = _KEYS[searched.table]
        known = msgspec.json.decode(after) if after is not None else ()
        beyond = f"where ({', '.join(keys)}) > ({', '.join('?' for _ in keys)})" if known else ""
        named = ", ".join(f"{key} as key_{number}" for number, key in enumerate(keys))
        rows = await tx.fetch(
            f"select ctid::text as row_at, {named}, {columns} from {searched.table} {beyond} order by {', '.join(keys)} "
            f"limit {BATCH} for update",
            *known,
        )
        if len(rows) < BATCH:
            return Looked(rows, None)
        last = [rows[-1][f"key_{number}"] for number in range(len(keys))]
        return Looked(rows, 0, msgspec.json.encode(last).decode())

    async def _by_pages(self, tx: Transaction, searched: SearchedTable, columns: str, since: int) -> Looked:
        """Histories, whose lines stay where they are: they are added and deleted; those that are changed are rewritten without
        the forgotten."""
        size = await tx.fetch_one(f"select pg_relation_size('{searched.table}') / current_setting('block_size')::bigint as pages")
        end = since + _PAGES
        rows = await tx.fetch(
            f"select ctid::text as row_at, {columns} from {searched.table} "
            f"where ctid >= '({since},0)'::tid and ctid < '({end},0)'::tid for update"
        )
        return Looked(rows, end if size is not None and end < size["pages"] else None)


async def _reset_memories(tx: Transaction) -> None:
    """Empty what keyword methods learned: it may contain a name as a word, encoded so that no search finds it.

    A decision that was made before is discarded, as after a change of the keywords."""
    await tx.execute(_DISCARD_DECISIONS)
    for row in await tx.fetch("select method, state from keyword_methods"):
        state = msgspec.json.decode(row["state"])
        if state.pop("memory", None):
            await tx.execute(
                "update keyword_methods set state = ? where method = ?", msgspec.json.encode(state).decode(), row["method"]
            )


_NUMBERS = {
    "users": "user_no", "posts": "post_no", "media": "media_no", "lists": "list_no", "media_files": "file", "tasks": "task",
    "results": "result", "crawls": "crawl", "changes": "change", "gaps": "gap", "shortfalls": "shortfall", "paging": "task",
    "streams": "stream", "judgement_history": "entry", "quarantine": "item", "errors": "error", "outages": "outage",
    "calls": "call",
}  # fmt: skip
"""Tables whose rows have numbers that never change."""
_KEYS = {
    "user_tags": ("user_no", "tag"),
    "post_versions": ("post_no", "at"),
    "judgements": ("judge", "subject", "id", "value"),
    "deletions": ("subject", "id"),
    "trends": ("service", "place", "at", "rank"),
    "volumes": ("service", "query", "begins_at"),
    "meanings": ("crawl", "service", "key", "target"),
    "inputs": ("crawl", "number"),
    "bills": ("payer", "day", "item"),
}
"""Others, by keys that never change: on PostgreSQL, where a row that is changed moves."""
_IDENTITY = {"users": ("id", "handle"), "posts": ("id",)}
_PAYLOAD = {"users": ("raw", "raw_dictionary"), "posts": ("raw", "raw_dictionary", "frame", "frame_place")}


def _columns(searched: SearchedTable) -> list[str]:
    table = searched.table
    more = [
        *_IDENTITY.get(table, ()),
        *_PAYLOAD.get(table, ()),
        *(["network"] if searched.has_network else []),
        *([searched.asked_by] if searched.asked_by else []),
    ]
    number = [_NUMBERS[table]] if table in _NUMBERS else []
    return list(dict.fromkeys([*number, *more, *searched.columns]))


class _Found(Struct, frozen=True):
    """What one piece of a table holds of the forgotten, and what becomes of it."""

    s: SaveContext
    sql: EraseStatements
    tombstones: Tombstones
    searched: SearchedTable
    services: Mapping[tuple[str, int], str]
    """The names of services by their numbers, and by those of lanes."""
    remove: Callable[[str], object]

    async def take(self, rows: Sequence[Row]) -> Erased:
        own = [row for row in rows if self._is_own(row)]
        erased = await self._erase(own)
        gone = {row["row_at"] for row in own}
        others = [row for row in rows if row["row_at"] not in gone]
        number = _NUMBERS.get(self.searched.table)
        changes = {
            row["row_at"]: (row[number] if number else row["row_at"], changed)
            for row in others
            if (changed := self._changed(row))
        }
        for at, changed in changes.values():
            await self._write(at, changed)
        dropped = await drop_payloads(self.s, self.sql.purge, self.tombstones, self.searched.table, others, set(changes))
        erased.mentions += len(changes.keys() | dropped)
        return erased

    def _is_own(self, row: Row) -> bool:
        if self.searched.table == "users":
            return self.tombstones.holds_any(user_names(row["network"], row["id"], row["handle"], row["url"]))
        return self.searched.table == "posts" and Filter(self.tombstones, row["network"], "").names_one(row["id"])

    async def _erase(self, own: Sequence[Row]) -> Erased:
        if not own:
            return Erased()
        numbers = [row[_NUMBERS[self.searched.table]] for row in own]
        people, posts = (numbers, []) if self.searched.table == "users" else ([], numbers)
        erased = await erase(self.s, self.sql, self.tombstones, people, posts)
        for media in erased.media:
            self.remove(media)
        return erased

    def _changed(self, row: Row) -> Mapping[str, Any] | None:
        """The new values of a row's columns; None: it stays as it is; nothing: it goes."""
        network = row["network"] if self.searched.has_network else None
        by = self.searched.asked_by
        service = self.services.get((by, row[by])) if by else None
        if any(self._is_named(row[name], network, service) for name in self.searched.doomed):
            return {"": None}
        changed: dict[str, Any] = {}
        for names, kind in ((self.searched.texts, Kind.TEXT), (self.searched.lines, Kind.LINE)):
            read = {name: self.tombstones.redacted(str(row[name]), kind, network, service=service) for name in names if row[name]}
            changed |= {name: text for name, text in read.items() if text != str(row[name])}
        return changed | {name: None for name in self.searched.references if self._is_named(row[name], network)}

    def _is_named(self, value: Any, network: str | None, service: str | None = None) -> bool:
        if value is None:
            return False
        text = value if isinstance(value, str) else bytes(value).decode(errors="replace").replace("\\/", "/")
        kind = Kind.LINE if isinstance(value, str) else Kind.PAYLOAD
        return self.tombstones.named_in(text, kind, network, service)

    def _where(self, at: Any) -> tuple[str, tuple[Any, ...]]:
        if number := _NUMBERS.get(self.searched.table):
            return f"{number} = ?", (at,)
        return ("rowid = ?", (at,)) if self.s.database.dialect == "sqlite" else (f"ctid = '{at}'::tid", ())

    def _written(self, column: str) -> str:
        return written(self.s.database.dialect, column) if self.searched.table == "posts" else column

    async def _write(self, number: Any, changed: Mapping[str, Any]) -> None:
        at, values = self._where(number)
        if "" not in changed:
            # References are only emptied: nothing is to be shortened.
            columns = ", ".join(f"{self._written(name)} = ?" for name in changed)
            await self.s.tx.execute(f"update {self.searched.table} set {columns} where {at}", *changed.values(), *values)
        elif self.searched.table == "tasks":
            await self.s.tx.execute(_RETIRED, f"forgotten {number}", number)
        else:
            await self.s.tx.execute(f"delete from {self.searched.table} where {at}", *values)
