"""The ties of one account over time: who came and who went, as whole lists and streams told it."""

from __future__ import annotations

from collections import defaultdict
from datetime import UTC, date, datetime

from msgspec import Struct

from bowerbird.clock import from_micros
from bowerbird.ports import Database, Row
from bowerbird.reports.histories.find_account import is_gone

_ENDS = """
select h.{other} as other, '{side}' as side, h.change, h.after_at, h.before_at, h.call from relation_history h
where h.{own} = ? and h.kind = 'follow'
"""
_EVENTS = f"{_ENDS.format(own='target', other='source', side='followers')} union all " + _ENDS.format(
    own="source", other="target", side="following"
)
_NEWEST = f"""
select e.side, e.change, e.after_at, e.before_at, e.call, u.id, case when {is_gone("u")} then null else u.handle end as handle
from ({_EVENTS}) e join users u on u.user_no = e.other where coalesce(u.opts_out, 0) = 0
order by e.before_at desc, u.user_no desc limit ?
"""
_DAY = 86_400_000_000
_BY_DAY = f"""
select e.side, e.change, e.before_at / {_DAY} as day, count(*) as n from ({_EVENTS}) e group by 1, 2, 3 order by 3
"""


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


async def newest_ties(database: Database, number: int, most: int = 100) -> tuple[Tie, ...]:
    async with database.reading() as tx:
        return tuple(_tie(row) for row in await tx.fetch(_NEWEST, number, number, most))


async def ties_by_day(database: Database, number: int) -> tuple[TieDay, ...]:
    """Days on which nothing was seen to change are left out."""
    days: defaultdict[int, dict[tuple[str, str], int]] = defaultdict(dict)
    async with database.reading() as tx:
        for row in await tx.fetch(_BY_DAY, number, number):
            days[int(row["day"])][row["side"], row["change"]] = int(row["n"])
    return tuple(TieDay(day=_date(day), counts=counts) for day, counts in sorted(days.items()))


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
