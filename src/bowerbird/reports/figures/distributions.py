"""How uneven things are: followers, follows, posts of accounts. Each is a table of how many accounts have how much."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import accumulate

from bowerbird.ports import Row, Transaction
from bowerbird.reports.figures.written import Chosen

_COUNTER = """
select u.{counter} as size, count(*) as accounts from users u
where u.{counter} is not null and coalesce(u.opts_out, 0) = 0 group by 1
"""
_TIES = """
select d.size, count(*) as accounts from (
    select r.{end} as account, count(*) as size from relations r where r.kind = 'follow' and r.removed_at is null group by r.{end}
) d group by 1
"""
_WRITTEN = """
select d.size, count(*) as accounts from (
    select p.author, count(*) as size from posts p where {chosen} group by p.author
) d group by 1
"""
DEGREES = {
    "followers, as profiles say": _COUNTER.format(counter="followers"),
    "following, as profiles say": _COUNTER.format(counter="following"),
    "followers, as stored": _TIES.format(end="target"),
    "following, as stored": _TIES.format(end="source"),
}


async def read_degrees(tx: Transaction) -> dict[str, dict[int, int]]:
    """How many accounts have how many followers and follow how many: by the counters of their profiles, and by stored lists."""
    tables = {name: _table(await tx.fetch(sql)) for name, sql in DEGREES.items()}
    return {name: table for name, table in tables.items() if table}


async def read_activity(tx: Transaction, chosen: Chosen) -> dict[int, int]:
    """How many accounts wrote how many of the stored posts."""
    condition, values = chosen.condition()
    return _table(await tx.fetch(_WRITTEN.format(chosen=condition), *values))


def at_least(table: Mapping[int, int]) -> list[tuple[int, float]]:
    """The share of accounts that have at least so much, for each amount that occurs."""
    total = sum(table.values())
    sizes = sorted(table)
    below = [0, *accumulate(table[size] for size in sizes)]
    return [(size, (total - before) / total) for size, before in zip(sizes, below, strict=False)]


def top_share(table: Mapping[int, int], share: float) -> float:
    """What part of everything the most active share of accounts has."""
    wanted = share * sum(table.values())
    whole = sum(size * accounts for size, accounts in table.items())
    taken = held = 0.0
    for size in sorted(table, reverse=True):
        some = min(table[size], wanted - taken)
        taken, held = taken + some, held + some * size
    return held / whole if whole else 0.0


def _table(rows: Sequence[Row]) -> dict[int, int]:
    return {int(row["size"]): int(row["accounts"]) for row in rows if int(row["size"]) >= 0}
