"""Searching who follows whom, page by page: in the order in which the following accounts were heard of, the last first."""

from __future__ import annotations

from typing import NamedTuple

from msgspec import structs

from bowerbird.ports import Database, Transaction
from bowerbird.reports.blocks.picking import Picked, picked
from bowerbird.reports.blocks.selection.choosing import conditions
from bowerbird.reports.blocks.tables import FOLLOWS
from bowerbird.reports.browsing.pages import read_token, token
from bowerbird.reports.browsing.searching import MOST_COUNTED, Found, Matching, Search

STRETCH = 2_000
"""Following accounts that one page looks through at most."""
_EVERYBODY = 1 << 62
_LAST = "select max(source) as source from relations where kind = 'follow'"


async def search_follows(database: Database, wanted: Search) -> Found:
    """One page; raises `UserError` for what follows do not have."""
    async with database.reading() as tx:
        found = await _page(database, tx, wanted)
        if wanted.before is not None and found.before is None and len(found.rows) < wanted.size:
            # Whoever comes back to the beginning sees the first page whole.
            return await _page(database, tx, structs.replace(wanted, before=None, after=None))
        return found


async def count_follows(database: Database, wanted: Search, most: int = MOST_COUNTED) -> Matching:
    """How many a search finds in all, counted up to `most` and as far as one page looks."""
    async with database.reading() as tx:
        last = await _last(tx)
        low = _far(wanted, last + 1, is_back=False)
        pairs = await _pairs(database, tx, wanted, _Range((last + 1, 0), low, is_back=False), most + 1)
    is_more = len(pairs) > most
    return Matching(count=min(len(pairs), most), is_more=is_more, among=None if is_more or not low else last - low + 1)


async def _page(database: Database, tx: Transaction, wanted: Search) -> Found:
    is_back, written, last = wanted.before is not None, wanted.before or wanted.after, await _last(tx)
    source, target = read_token(written, 2) if written is not None else [last + 1, 0]
    far = _far(wanted, source, is_back=is_back)
    pairs = await _pairs(database, tx, wanted, _Range((source, target), far, is_back), wanted.size + 1)
    shown = pairs[: wanted.size]
    has_rest = far <= last if is_back else far > 0
    # Beyond a whole stretch: behind all ties of the last account of it.
    on = token(shown[-1]) if len(pairs) > wanted.size else token([far, 0]) if has_rest else None
    back = None if written is None else token(shown[0] if shown else [source, target])
    if is_back:
        shown.reverse()
    return Found(
        rows=await _rows(database, tx, shown, wanted.columns),
        after=back if is_back else on,
        before=on if is_back else back,
        looked=len(shown),
        is_cut=len(pairs) <= wanted.size and has_rest,
    )


class _Range(NamedTuple):
    """Pairs that lie beyond one, down to a following account (this one included), or backwards up to one (without it)."""

    beyond: tuple[int, int]
    far: int
    is_back: bool


def _far(wanted: Search, source: int, *, is_back: bool) -> int:
    """How far a page looks; an index names all of those who are asked about."""
    if wanted.choice.users or wanted.choice.followed:
        return _EVERYBODY if is_back else 0
    return source + STRETCH if is_back else max(source - STRETCH, 0)


async def _last(tx: Transaction) -> int:
    (row,) = await tx.fetch(_LAST)
    return int(row["source"] or 0)


async def _pairs(database: Database, tx: Transaction, wanted: Search, within: _Range, limit: int) -> list[tuple[int, int]]:
    """The nearest first."""
    choice, where = wanted.choice, await conditions(database, tx, FOLLOWS, wanted.choice)
    sign, until, way = (">", "<", "asc") if within.is_back else ("<", ">=", "desc")
    # The followers of one account are in this order in an index. For those of several a sum, which is in none, keeps to it too.
    is_mixed = choice.followed and not choice.users and f"{FOLLOWS.chosen_by('followed')} = ?" not in where.sql
    by = "r.source + 0" if is_mixed else "r.source"
    sql = (
        f"select r.source, r.target from {FOLLOWS.tables} where {where.sql} "
        f"and ({by}, r.target) {sign} (?, ?) and {by} {until} ? order by {by} {way}, r.target {way} limit {limit}"
    )
    return [(row["source"], row["target"]) for row in await tx.fetch(sql, *where.values, *within.beyond, within.far)]


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
