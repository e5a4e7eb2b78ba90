"""People of a community one by one: who belongs, who may, and of whom the judge was nearly sure; with what it went by."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from enum import StrEnum
from typing import Any, NamedTuple

from msgspec import Struct

from bowerbird.clock import from_micros
from bowerbird.model.subjects.community import JUDGE
from bowerbird.model.subjects.telling import may_be_told
from bowerbird.ports import Row, Transaction
from bowerbird.reports.browsing.pages import PageOf, read_place, token
from bowerbird.reports.community.judged import COLUMNS, JudgedAccount, fields

_COLUMNS = f"{COLUMNS}, j.value, j.decided_by, j.at"
_THERE = may_be_told("u")
_JUDGED = f"from judgements j join users u on u.id = j.id where j.judge = '{JUDGE}' and j.subject = 'user' and {_THERE}"
_BY_VALUE = f"select {_COLUMNS}, j.at as by {_JUDGED} and j.value = ? {{beyond}} order by j.at desc, j.id desc limit ?"
_BY_POSTS = f"""
select {_COLUMNS}, j.at as by {_JUDGED} and j.value = 'yes' and j.reason = 'posts' and j.decided_by is null {{beyond}}
order by j.at desc, j.id desc limit ?
"""
_BY_PERSONS = f"""
select {_COLUMNS}, j.at as by {_JUDGED} and j.decided_by is not null {{beyond}} order by j.at desc, j.id desc limit ?
"""
_NEAR = f"""
select {_COLUMNS}, j.confidence as by {_JUDGED} and j.value = 'undecided' and j.decided_by is null
and j.reason in ('posts', 'relations') {{beyond}} order by j.confidence desc, j.id desc limit ?
"""
_MENTIONED = f"""
select {_COLUMNS}, c.mentions, c.mentions as by from candidates c join users u on u.user_no = c.user_no
left join judgements j on j.judge = '{JUDGE}' and j.subject = 'user' and j.id = u.id
where c.crawl = ? and c.source <> 'member' and c.state <> 'invalid' and c.mentions > 0 and {_THERE}
and j.decided_by is null and coalesce(j.value, 'undecided') = ? {{beyond}}
order by c.mentions desc, c.user_no desc limit ?
"""
_ONE = f"""
select {_COLUMNS} from users u left join judgements j on j.judge = '{JUDGE}' and j.subject = 'user' and j.id = u.id
where u.user_no = ? and {_THERE} order by case when j.decided_by is null then 1 else 0 end limit 1
"""
_POSTS = """
select p.post_no, p.id, p.text, p.created_at, p.language from posts p
where p.author = ? and p.deleted_at is null and p.kind <> 'repost' and p.text is not null order by p.created_at desc limit ?
"""


class Which(StrEnum):
    """A list of people."""

    MEMBERS = "members"
    OUTSIDE = "outside"
    UNDECIDED = "undecided"
    MENTIONED = "mentioned"
    MENTIONED_OUTSIDE = "mentioned-outside"
    BY_POSTS = "by-posts"
    NEAR = "near"
    PERSONS = "persons"

    @property
    def is_by_mentions(self) -> bool:
        return self in _OF_CANDIDATES


_VALUES = {Which.MEMBERS: "yes", Which.OUTSIDE: "no", Which.UNDECIDED: "undecided"}
_OF_CANDIDATES = {Which.MENTIONED: "undecided", Which.MENTIONED_OUTSIDE: "no"}
"""Lists of candidates by how often members mention them, and what is said of these."""
_WITHOUT_VALUE = {Which.PERSONS: _BY_PERSONS, Which.BY_POSTS: _BY_POSTS, Which.NEAR: _NEAR}


class Person(JudgedAccount, frozen=True, kw_only=True):
    """An account, what is said of it, and why."""

    value: str | None
    """None: nothing is said yet."""
    decided_by: str | None
    at: datetime | None
    mentions: int | None = None
    """Posts of members that mention it, where that was counted."""

    @property
    def seen(self) -> str:
        """What is said of it now and since when, for those who then say otherwise."""
        return f"{self.value or ''} {self.decided_by or ''} {'' if self.at is None else self.at.isoformat()}"


class _Order(NamedTuple):
    """What sorts a list, what its tokens hold, and how many rows are read."""

    by: str
    then: str
    kind: type[tuple[Any, ...]]
    limit: int


class Written(Struct, frozen=True):
    """A post, in its author's words."""

    number: int
    id: str
    text: str
    at: datetime | None
    language: str | None


async def read_people(tx: Transaction, crawl: int, which: Which, after: str | None = None, size: int = 50) -> PageOf[Person]:
    """A page of people; each page is as quick as the first."""
    if which.is_by_mentions:
        order = _Order("c.mentions", "c.user_no", tuple[int, int], size + 1)
        return _pages(await _page(tx, _MENTIONED, (crawl, _OF_CANDIDATES[which]), after, order), size, "user_no")
    if which is Which.NEAR:
        order = _Order("j.confidence", "j.id", tuple[float, str], size + 1)
    else:
        order = _Order("j.at", "j.id", tuple[int, str], size + 1)
    sql, values = (_WITHOUT_VALUE[which], ()) if which in _WITHOUT_VALUE else (_BY_VALUE, (_VALUES[which],))
    return _pages(await _page(tx, sql, values, after, order), size, "id")


async def read_person(tx: Transaction, number: int) -> Person | None:
    """One account; None where it is not there, or not to be told of."""
    row = await tx.fetch_one(_ONE, number)
    return None if row is None else _person(row)


async def read_written(tx: Transaction, number: int, most: int) -> Sequence[Written]:
    """The latest posts of an account."""
    rows = await tx.fetch(_POSTS, number, most)
    return [Written(row["post_no"], row["id"], row["text"], _when(row["created_at"]), row["language"]) for row in rows]


async def _page(tx: Transaction, sql: str, values: tuple[object, ...], after: str | None, order: _Order) -> Sequence[Row]:
    if after is None:
        return await tx.fetch(sql.format(beyond=""), *values, order.limit)
    first, second = read_place(after, order.kind)
    beyond = f"and ({order.by} < ? or ({order.by} = ? and {order.then} < ?))"
    return await tx.fetch(sql.format(beyond=beyond), *values, first, first, second, order.limit)


def _pages(rows: Sequence[Row], size: int, key: str) -> PageOf[Person]:
    shown = rows[:size]
    after = token([shown[-1]["by"], shown[-1][key]]) if len(rows) > size else None
    return PageOf(tuple(_person(row) for row in shown), after)


def _when(micros: int | None) -> datetime | None:
    return None if micros is None else from_micros(micros)


def _person(row: Row) -> Person:
    return Person(
        **fields(row),
        value=row["value"],
        decided_by=row["decided_by"],
        at=_when(row["at"]),
        mentions=row["mentions"] if "mentions" in row.keys() else None,  # noqa: SIM118 of such a row `in` looks at the values
    )
