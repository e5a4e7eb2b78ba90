"""The sheet of one account: its profile, since when it is known and from where, how much of it is stored, what is said of it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from msgspec import Struct

from bowerbird.clock import from_micros
from bowerbird.db.sqlite.millions import by_number
from bowerbird.model import Side
from bowerbird.ports import Database, Row, Transaction
from bowerbird.reports.blocks.picking import Picked, pick
from bowerbird.reports.blocks.tables import USERS
from bowerbird.reports.counting.counts import Count
from bowerbird.reports.histories.find_account import Account
from bowerbird.reports.sheets.parts import (
    Brought,
    Deletion,
    Question,
    Said,
    brought_by,
    call_of,
    deletion,
    deletion_of,
    judged,
    said_of,
)

_USER = "select user_no, id, network, found_at, found_by, seen_at, opts_out from users where id = ?"
_ABSENT = "select reason, since from unavailable where user_no = ? and until is null order by since desc limit 1"
_COUNTED = "select stored, deleted from post_counts where user_no = ?"
_MOST = 10_000
"""More than so many are not counted while somebody waits."""
_POSTS = f"select count(*) as n from (select 1 from posts where author = ? and deleted_at is null limit {_MOST}) x"
_TIED = "select count(*) from (select 1 from relations where kind = 'follow' and {end} = ? and removed_at is null limit {most}) x"
_LISTS = "select side, sweep, began_at, ended_at, listed from listings where user_no = ? and kind = 'follow' order by side"
# What an author's software says of the time is not believed where the service doubts it.
_WRITTEN = f"""
select case when is_time_doubtful = 1 then listed_at else created_at end as at from posts
where author = ? and deleted_at is null order by {by_number("post_no", "desc")} limit ?
"""
_TIES = (
    f"select ({_TIED.format(end='target', most=_MOST)}) as {Side.FOLLOWERS}, "
    f"({_TIED.format(end='source', most=_MOST)}) as {Side.FOLLOWING}"
)
_TOLD = "select user_no, id, network, handle from users where id = ? and coalesce(opts_out, 0) = 0"
_COUNTERS = (
    f"select u.user_no, u.id, u.found_at, u.seen_at, u.followers, u.following from users u where u.id = ? and {USERS.where}"
)
_PROFILE = frozenset(USERS.columns)
"""What is told of a profile: its own columns; the service that told of it first stands with the call."""
_HOURS_OF = 5_000


class Listing(Struct, frozen=True, kw_only=True):
    """How far a list of followers or followed accounts was read the last time."""

    side: str
    began_at: datetime
    ended_at: datetime | None
    listed: int
    is_whole: bool


class AccountSheet(Struct, frozen=True, kw_only=True):
    """What is known of one account. Of one that is gone, or asked not to be collected, only that."""

    number: int
    id: str
    network: str
    profile: Picked | None
    absence: Deletion | None
    """Why and since when it cannot be had; also of accounts that are protected, whose profile stays."""
    opts_out: bool
    found_at: datetime
    seen_at: datetime | None
    brought: Brought | None
    posts: Count
    followers: Count
    following: Count
    listings: tuple[Listing, ...]
    said: tuple[Said, ...]


class Counters(Struct, frozen=True, kw_only=True):
    """What the profile of an account counted when it was seen last."""

    number: int
    id: str
    found_at: datetime
    seen_at: datetime
    followers: int | None
    following: int | None


class Hours(Struct, frozen=True, kw_only=True):
    """When an account writes: posts by weekday (Monday first) and hour, UTC."""

    table: tuple[tuple[int, ...], ...]
    posts: int
    since: datetime | None = None
    until: datetime | None = None

    @property
    def most(self) -> int:
        return max(max(row) for row in self.table)


async def read_account(database: Database, id_: str) -> AccountSheet | None:
    """The sheet of an account by its global id; None where the store has none of this id."""
    async with database.reading() as tx:
        row = await tx.fetch_one(_USER, id_)
        if row is None:
            return None
        number, is_out = int(row["user_no"]), bool(row["opts_out"])
        profile = (await pick(database, tx, USERS, [number], columns=_PROFILE)).get(number)
        (ties,), absent, deleted, call, counted, lists, said = await tx.fetch_all(
            [
                (_TIES, (number, number)),
                (_ABSENT, (number,)),
                deletion("user", id_),
                call_of(row["found_by"]),
                (_COUNTED, (number,)),
                (_LISTS, (number,)),
                judged("user", id_),
            ]
        )
        return AccountSheet(
            number=number,
            id=row["id"],
            network=row["network"],
            profile=profile,
            absence=Deletion(absent[0]["reason"], from_micros(absent[0]["since"])) if absent else deletion_of(deleted),
            opts_out=is_out,
            found_at=from_micros(row["found_at"]),
            seen_at=None if row["seen_at"] is None else from_micros(row["seen_at"]),
            brought=brought_by(call),
            posts=Count(int(counted[0]["stored"]) - int(counted[0]["deleted"])) if counted else await _posts(tx, number),
            followers=_counted(ties[Side.FOLLOWERS]),
            following=_counted(ties[Side.FOLLOWING]),
            listings=tuple(_listing(each) for each in lists),
            said=() if is_out else said_of(said),
        )


async def read_counters(database: Database, id_: str) -> Counters | None:
    """What the profile of an account counts; None where it has none that may be told of."""
    async with database.reading() as tx:
        row = await tx.fetch_one(_COUNTERS, id_)
    if row is None:
        return None
    return Counters(
        number=row["user_no"],
        id=row["id"],
        found_at=from_micros(row["found_at"]),
        seen_at=from_micros(row["seen_at"]),
        followers=row["followers"],
        following=row["following"],
    )


async def read_told(database: Database, id_: str) -> Account | None:
    """An account by its global id; None where the store has none of this id, or the person asked not to be collected."""
    async with database.reading() as tx:
        row = await tx.fetch_one(_TOLD, id_)
    if row is None:
        return None
    return Account(number=row["user_no"], id=row["id"], network=row["network"], handle=row["handle"] or "")


async def hours_of(database: Database, number: int) -> Hours:
    """Of the posts of an account that were stored last, when they were written."""
    async with database.reading() as tx:
        sql, values = times_written(number)
        return hours(await tx.fetch(sql, *values))


def times_written(number: int) -> Question:
    """Asks for the times of an account's posts."""
    return _WRITTEN, (number, _HOURS_OF)


def hours(rows: Sequence[Row]) -> Hours:
    """What `times_written` found."""
    times = [datetime.fromtimestamp(row["at"] / 1_000_000, UTC) for row in rows if row["at"] is not None]
    return _table(times)


def _table(times: Sequence[datetime]) -> Hours:
    table = [[0] * 24 for _ in range(7)]
    for time in times:
        table[time.weekday()][time.hour] += 1
    return Hours(
        table=tuple(map(tuple, table)),
        posts=len(times),
        since=min(times, default=None),
        until=max(times, default=None),
    )


async def _posts(tx: Transaction, number: int) -> Count:
    (row,) = await tx.fetch(_POSTS, number)
    return _counted(row["n"])


def _counted(n: int) -> Count:
    return Count(int(n), is_exact=n < _MOST)


def _listing(row: Row) -> Listing:
    return Listing(
        side=row["side"],
        began_at=from_micros(row["began_at"]),
        ended_at=None if row["ended_at"] is None else from_micros(row["ended_at"]),
        listed=row["listed"],
        is_whole=row["ended_at"] is not None and row["sweep"] != 0,
    )
