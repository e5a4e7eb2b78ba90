"""Searching who follows whom, page by page: in the order in which the following accounts were heard of, the last first."""

from __future__ import annotations

from bowerbird.ports import Database, Transaction
from bowerbird.reports.blocks.choosing import Conditions, conditions
from bowerbird.reports.blocks.picking import Picked, picked
from bowerbird.reports.blocks.tables import FOLLOWS
from bowerbird.reports.browsing.pages import read_token, token
from bowerbird.reports.browsing.searching import Found, Search

STRETCH = 2_000
"""Following accounts that one page looks through at most."""
_LAST = "select max(source) as source from relations where kind = 'follow'"


async def search_follows(database: Database, wanted: Search) -> Found:
    """One page; raises `UserError` for what follows do not have."""
    choice = wanted.choice
    async with database.reading() as tx:
        begin = read_token(wanted.after) if wanted.after is not None else [await _last(tx) + 1, 0]
        source, target = begin[0], begin[1] if len(begin) > 1 else 0
        low = 0 if choice.users or choice.followed else max(source - STRETCH, 0)
        where = await conditions(database, tx, FOLLOWS, choice)
        beyond = _beyond(source, target, low)
        # A sum is in no index: that of those who are followed is to be used then.
        by = "r.source + 0" if choice.followed and not choice.users else "r.source"
        pairs = await _pairs(tx, where, Conditions(beyond.sql.replace("r.source", by), beyond.values), by, wanted.size + 1)
        shown = pairs[: wanted.size]
        rows = await _rows(database, tx, shown, wanted.columns)
    if len(pairs) > wanted.size:
        return Found(rows=rows, after=token(shown[-1]), looked=len(shown))
    return Found(rows=rows, after=token([low, 0]) if low else None, looked=len(shown), is_cut=low > 0)


async def _last(tx: Transaction) -> int:
    (row,) = await tx.fetch(_LAST)
    return int(row["source"] or 0)


def _beyond(source: int, target: int, low: int) -> Conditions:
    if low:
        return Conditions("(r.source, r.target) < (?, ?) and r.source >= ?", (source, target, low))
    return Conditions("(r.source, r.target) < (?, ?)", (source, target))


async def _pairs(tx: Transaction, where: Conditions, beyond: Conditions, by: str, limit: int) -> list[tuple[int, int]]:
    sql = (
        f"select r.source, r.target from {FOLLOWS.tables} where {where.sql} and {beyond.sql} "
        f"order by {by} desc, r.target desc limit {limit}"
    )
    return [(row["source"], row["target"]) for row in await tx.fetch(sql, *where.values, *beyond.values)]


async def _rows(
    database: Database, tx: Transaction, pairs: list[tuple[int, int]], columns: frozenset[str] | None
) -> tuple[Picked, ...]:
    """The rows of pairs, in the order of these."""
    if not pairs:
        return ()
    several = database.any("bigint")
    sources, targets = (database.members(sorted(set(ends))) for ends in zip(*pairs, strict=True))
    both = f"r.source {several} and r.target {several}"
    found = dict(await picked(database, tx, FOLLOWS, both, sources, targets, columns=columns))
    return tuple(found[pair] for pair in pairs if pair in found)
