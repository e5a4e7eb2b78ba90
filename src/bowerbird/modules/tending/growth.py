"""Growth log: how many rows each table has, over time."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta

from bowerbird.clock import to_micros
from bowerbird.model.modules import Counts, ModuleOption
from bowerbird.ports import Database, ModuleContext, Transaction

TABLES = (
    "users", "posts", "relations", "post_mentions", "media", "reactions", "user_history", "post_history", "relation_history",
    "deletions", "unavailable", "judgements", "candidates", "tasks", "calls", "errors", "quarantine",
)  # fmt: skip
_EXACT = 100_000
"""Up to this size a full count takes milliseconds."""
_KEEP = "insert into growth (at, name, rows, is_exact) values (?, ?, ?, ?) on conflict (name, at) do nothing"


class Growth:
    """Writes down how many rows each table has."""

    name = "growth"
    about = "Writes down how many rows each table has, so that growth can be plotted and missed growth noticed."
    every = timedelta(hours=1)
    options: Mapping[str, ModuleOption] = {}
    needs: tuple[str, ...] = ()

    async def run(self, context: ModuleContext) -> Counts:
        at = to_micros(context.clock.now())
        async with context.database.reading() as tx:
            found = {table: await _rows(tx, context.database, table) for table in TABLES}
        async with context.transaction() as tx:
            await tx.execute_many(_KEEP, [(at, table, rows, int(is_exact)) for table, (rows, is_exact) in found.items()])
        return {table: rows for table, (rows, _) in found.items()}


async def _rows(tx: Transaction, database: Database, table: str) -> tuple[int, bool]:
    """How many rows a table has, and whether they were counted: of large ones the database's own estimate is taken."""
    if database.dialect == "sqlite":
        size = await tx.fetch_one(f"select max(rowid) as size from {table}")
    else:
        size = await tx.fetch_one("select reltuples::bigint as size from pg_class where oid = cast(? as text)::regclass", table)
    about = int(size["size"] or 0) if size is not None else 0
    if about > _EXACT:
        return about, False
    row = await tx.fetch_one(f"select count(*) as n from {table}")
    return int(row["n"]) if row is not None else 0, True
