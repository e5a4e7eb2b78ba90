"""The ties of one account over time: who came and who went, as whole lists and streams told it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from datetime import UTC, date, datetime

from msgspec import Struct

from bowerbird.clock import from_micros
from bowerbird.db.sqlite.millions import by_number
from bowerbird.model.subjects.telling import is_gone
from bowerbird.ports import Database, Row
from bowerbird.reports.sheets.parts import Question

_SIDES = {"followers": ("target", "source"), "following": ("source", "target")}
_SIDE = """
select * from (
    select h.{other} as other, '{side}' as side, h.change, h.after_at, h.before_at, h.call from relation_history h
    where h.{own} = ? and h.kind = 'follow' order by {recorded} limit {most}) {side}
"""
_DAY = 86_400_000_000
_MOST = 10_000
"""Changes of each side that are counted by day."""
_LOOKED = 500
"""… and among which the newest are: some of them are of people who asked not to be collected."""


def _events(database: Database, most: int) -> str:
    """The last changes of either side."""
    # In SQLite the index has them in the order in which they were written down, and no others are read; a server sorts those of
    # one account by itself.
    recorded = by_number("h.change_no", "desc") if database.dialect == "sqlite" else "h.before_at desc"
    sides = [_SIDE.format(side=side, own=own, other=other, recorded=recorded, most=most) for side, (own, other) in _SIDES.items()]
    return " union all ".join(sides)


class Tie(Struct, frozen=True, kw_only=True):
    """Somebody who came or went, somewhere between two times."""

    side: str
    """`followers`: the other one follows the account; `following`: the account follows the other one."""
    change: str
    """`added` or `removed`."""
    id: str
    handle: str | None
    after: datetime | None
    before: datetime
    call: int


class TieDay(Struct, frozen=True, kw_only=True):
    """How many came and went by a day; removed ones are counted apart."""

    day: date
    counts: dict[tuple[str, str], int]
    """By side and change."""


class TieHistory(Struct, frozen=True, kw_only=True):
    """Whole days, the earliest first; those on which nothing was seen to change are left out."""

    days: tuple[TieDay, ...]
    is_cut: bool
    """There are earlier ones: only the last changes were counted."""


async def newest_ties(database: Database, number: int, most: int = 100) -> tuple[Tie, ...]:
    """The last who came and went, the newest first; its cost does not grow with those before."""
    sql, values = last_changes(database, number, most)
    async with database.reading() as tx:
        return ties(await tx.fetch(sql, *values))


def last_changes(database: Database, number: int, most: int) -> Question:
    """Asks for them."""
    sql = (
        f"select e.side, e.change, e.after_at, e.before_at, e.call, u.id, case when {is_gone('u')} then null else u.handle end "
        f"as handle from ({_events(database, max(most, _LOOKED))}) e join users u on u.user_no = e.other "
        "where coalesce(u.opts_out, 0) = 0 order by e.before_at desc, u.user_no desc limit ?"
    )
    return sql, (number, number, most)


def ties(rows: Sequence[Row]) -> tuple[Tie, ...]:
    """What `last_changes` found."""
    return tuple(_tie(row) for row in rows)


async def ties_by_day(database: Database, number: int, most: int = _MOST) -> TieHistory:
    """How many came and went, day by day, of the last so many changes of each side."""
    days: defaultdict[int, dict[tuple[str, str], int]] = defaultdict(dict)
    sums: dict[str, int] = dict.fromkeys(_SIDES, 0)
    first: dict[str, int] = {}
    sql = (
        f"select e.side, e.change, e.before_at / {_DAY} as day, count(*) as n from ({_events(database, most)}) e group by 1, 2, 3"
    )
    async with database.reading() as tx:
        for row in await tx.fetch(f"{sql} order by 3", number, number):
            side, day = row["side"], int(row["day"])
            days[day][side, row["change"]] = int(row["n"])
            sums[side] += int(row["n"])
            first.setdefault(side, day)
    # Of a side that was cut, the first day is counted in part, and those before it not at all.
    after = max((first[side] for side, count in sums.items() if count >= most), default=None)
    told = {day: counts for day, counts in sorted(days.items()) if after is None or day > after}
    return TieHistory(days=tuple(TieDay(day=_date(day), counts=each) for day, each in told.items()), is_cut=after is not None)


def _date(day: int) -> date:
    return datetime.fromtimestamp(day * 86_400, UTC).date()


def _tie(row: Row) -> Tie:
    return Tie(
        side=row["side"],
        change=row["change"],
        id=row["id"],
        handle=row["handle"],
        after=None if row["after_at"] is None else from_micros(row["after_at"]),
        before=from_micros(row["before_at"]),
        call=row["call"],
    )
