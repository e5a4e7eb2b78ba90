"""Growth log: how many rows and bytes each table and index has, over time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta

from bowerbird.clock import to_micros
from bowerbird.db.table_sizes import Sized, table_sizes, whole_size
from bowerbird.model.modules import Counts, ModuleOption
from bowerbird.ports import ModuleContext, Transaction

TABLES = (
    "users", "posts", "relations", "post_mentions", "media", "reactions", "user_history", "post_history", "relation_history",
    "deletions", "unavailable", "judgements", "candidates", "tasks", "calls", "errors", "quarantine",
)  # fmt: skip
"""Written down every time; the others, and indexes, when they have changed."""
DATABASE = "database"
"""What the log calls all of them together."""
_NOTABLE = 0.01
_KEEP = "insert into growth (at, name, rows, is_exact, bytes) values (?, ?, ?, ?, ?) on conflict (name, at) do nothing"
_LAST = """
select g.name, g.rows, g.bytes from growth g join (select name, max(at) as at from growth group by name) l
on l.name = g.name and l.at = g.at
"""


class Growth:
    """Writes down how large each table and index is."""

    name = "growth"
    about = "Writes down how many rows and bytes each table has, so that growth can be plotted and missed growth noticed."
    every = timedelta(hours=1)
    options: Mapping[str, ModuleOption] = {}
    needs: tuple[str, ...] = ()

    async def run(self, context: ModuleContext) -> Counts:
        at, dialect = to_micros(context.clock.now()), context.database.dialect
        async with context.database.reading() as tx:
            found = await table_sizes(tx, dialect)
            rows = [(at, each.name, each.rows, int(each.is_exact), each.bytes) for each in await _news(tx, found)]
            rows.append((at, DATABASE, 0, 1, await whole_size(tx, dialect)))
        async with context.transaction() as tx:
            await tx.execute_many(_KEEP, rows)
        return {each.name: each.rows for each in found if each.name in TABLES}


async def _news(tx: Transaction, found: Sequence[Sized]) -> list[Sized]:
    """What is not as the log has it last: most tables hardly ever change."""
    last = {row["name"]: row for row in await tx.fetch(_LAST)}
    return [
        each
        for each in found
        if each.name in TABLES
        or each.name not in last
        or _differs(last[each.name]["rows"], each.rows)
        or _differs(last[each.name]["bytes"] or 0, each.bytes)
    ]


def _differs(before: int, after: int) -> bool:
    return abs(after - before) > _NOTABLE * before
