"""Accounts and posts that are not to be had: since when, why, and when they were back."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from msgspec import Struct

from bowerbird.model import Gone, Outcome, Subject, User
from bowerbird.ports import Database, Row
from bowerbird.store.absences.authority import WITHDRAWN, is_home, may_end, withdrawing
from bowerbird.store.absences.lagging import LAG, LagStatements, told_by_streams
from bowerbird.store.absences.purge import PurgeStatements, purge_posts, purge_users, record_deletions
from bowerbird.store.context import SaveContext, ordered
from bowerbird.store.people.identities import PagePeople
from bowerbird.store.people.names import tells_returns
from bowerbird.store.posts.by_id import with_ids
from bowerbird.store.relations.absent_ends import AbsentEndStatements, take_back_removals

PURGED = frozenset({Outcome.NOT_FOUND, Outcome.SUSPENDED, Outcome.DEACTIVATED})
"""The public can no longer see it, so neither may the store. What is protected or blocked may be seen by others."""

_EXACT = frozenset({Outcome.SUSPENDED, Outcome.DEACTIVATED})
_OPEN = "insert into unavailable (user_no, reason, since, call) values (?, ?, ?, ?)"
_NAME = f"update unavailable set reason = ? where until is null and user_no = ? and reason = '{Outcome.NOT_FOUND}'"
_CLOSE = "update unavailable set until = ? where until is null and user_no = ? and reason = ?"


class GoneStatements:
    """The statements of this file in one database's words."""

    def __init__(self, database: Database) -> None:
        self.lag = LagStatements(database)
        self.open = (
            f"select user_no, reason, since, call from unavailable where until is null and user_no {database.any('bigint')}"
        )
        self.users = f"select user_no, id, told_by, seen_at from users where user_no {database.any('bigint')}"
        self.posts = (
            "select post_no, id, told_by, seen_at, deleted_at, found_at, found_by, seen_by from posts "
            f"where {with_ids(database)}{ordered(database, 'post_no', 'update')}"
        )
        self.withdraw = f"update users set {WITHDRAWN} where user_no {database.any('bigint')}"
        self.post_keys = (
            "select k.key, p.id from post_keys k join posts p on p.post_no = k.post_no "
            f"where k.service = ? and k.key {database.any('text')}"
        )
        # Heard on a stream, and never shown by a service that was asked.
        self.heard_only = (
            "select u.user_no, u.found_at, u.found_by from users u "
            f"where u.seen_at is null and u.user_no {database.any('bigint')} "
            # With a limit, or SQLite joins them, and a join does not go from million to million.
            "and exists (select 1 from posts p where p.author = u.user_no and p.deleted_at is null limit 1)"
        )
        self.undelete = f"delete from deletions where subject = 'user' and id {database.any('text')}"
        self.purge = PurgeStatements(database)
        self.absent_ends = AbsentEndStatements(database)


async def save_gone(s: SaveContext, sql: GoneStatements, gone: Sequence[Gone], people: PagePeople) -> None:
    """Notes every subject that is gone by the word of a service that may say so, and purges what the public can no longer see."""
    users = [(people.keys[g.key], g) for g in gone if g.subject is Subject.USER and g.key in people.keys]
    unknown = await _not_known_yet(s, sql, dict(users))
    ids = await _speaking_for(s, sql, [number for number, _ in users if number not in unknown])
    await _save_gone_users(s, sql, {n: g.reason for n, g in users if n in ids}, ids)
    await _save_gone_posts(s, sql, {g.key: g.reason for g in gone if g.subject is Subject.POST and g.reason in PURGED})


async def _not_known_yet(s: SaveContext, sql: GoneStatements, gone: Mapping[int, Gone]) -> set[int]:
    """Authors named by a stream that the service lags behind: that it leaves them out of a batch means nothing, and for a while
    not even that it says it does not know them."""
    if s.is_live:
        return set()
    rows = await s.fetch_in(sql.heard_only, [n for n, g in gone.items() if g.is_vague or g.reason is Outcome.NOT_FOUND])
    vague = {row["user_no"] for row in rows if gone[row["user_no"]].is_vague}
    stated = [row for row in rows if row["user_no"] not in vague]
    if not stated or not tells_returns(s.origin.network):
        return vague
    since = await s.observed_at() - LAG
    heard = await told_by_streams(s, sql.lag, [row["found_by"] for row in stated if row["found_at"] > since])
    return vague | {row["user_no"] for row in stated if row["found_by"] in heard and row["found_at"] > since}


async def _speaking_for(s: SaveContext, sql: GoneStatements, users: Collection[int]) -> dict[int, str]:
    """Numbers and ids of those of whom this service may say that they are gone."""
    return {row["user_no"]: row["id"] for row in await s.fetch_in(sql.users, users) if may_end(s, row["id"], row)}


async def _save_gone_users(s: SaveContext, sql: GoneStatements, reasons: Mapping[int, Outcome], ids: Mapping[int, str]) -> None:
    known = {(row["user_no"], row["reason"]) for row in await s.fetch_in(sql.open, reasons)}
    # Many answers know no better word than this: the more exact one stands. A stream means what it says.
    explained = {n for n, why in known if why in _EXACT and reasons[n] is Outcome.NOT_FOUND and not s.is_live}
    news = {n: reason for n, reason in reasons.items() if (n, reason.value) not in known and n not in explained}
    await _note_absences(s, news, known)
    await take_back_removals(s, sql.absent_ends, [n for n, reason in news.items() if reason is not Outcome.PROTECTED])
    for reason in PURGED:
        gone = {n: ids[n] for n, why in news.items() if why is reason}
        await purge_users(
            s, sql.purge, {n: known_id for n, known_id in gone.items() if _speaks_for_all(s, known_id)}, reason.value
        )
        own = {n: known_id for n, known_id in gone.items() if not _speaks_for_all(s, known_id)}
        await purge_users(s, sql.purge, own, reason.value, told_by=s.origin.number)
    await s.execute_in(sql.withdraw, [n for n, reason in news.items() if reason in PURGED], *withdrawing(s))


def _speaks_for_all(s: SaveContext, known_id: str) -> bool:
    """Whether with the account everything goes that anybody told of it; a mere witness takes back its own copies."""
    return not s.origin.homes or is_home(s, known_id)


async def _note_absences(s: SaveContext, news: Mapping[int, Outcome], known: Collection[tuple[int, str]]) -> None:
    """A more exact word names the same absence; any other is the end of one and the beginning of the next."""
    named = {n for n, reason in news.items() if reason in _EXACT and (n, Outcome.NOT_FOUND) in known}
    await s.execute_many(_NAME, [(news[number].value, number) for number in sorted(named)])
    await s.execute_many(_CLOSE, sorted((s.at, number, why) for number, why in known if number in news.keys() - named))
    await s.execute_many(_OPEN, [(number, news[number].value, s.at, s.call) for number in sorted(news.keys() - named)])


async def _save_gone_posts(s: SaveContext, sql: GoneStatements, reasons: Mapping[str, Outcome]) -> None:
    ids = s.origin.ids_of(reasons)
    if s.origin.has_local_keys:
        ids |= {row["key"]: row["id"] for row in await s.fetch_in(sql.post_keys, reasons, s.origin.number)}
    rows = await s.fetch_in(sql.posts, ids.values())
    views = {row["id"] for row in rows if not may_end(s, row["id"], row)} | await _just_heard(s, sql, rows)
    living = [row["post_no"] for row in rows if row["deleted_at"] is None and row["id"] not in views]
    await purge_posts(s, sql.purge, living)
    for reason in PURGED:
        gone = {ids[key] for key, why in reasons.items() if why is reason}
        await record_deletions(s, "post", gone - views, reason.value)


async def _just_heard(s: SaveContext, sql: GoneStatements, posts: Sequence[Row]) -> set[str]:
    """Posts of which a stream has just spoken for the first time, and nobody else: a service that lags behind it does not know
    them yet."""
    if s.is_live or not tells_returns(s.origin.network):
        return set()
    since = await s.observed_at() - LAG
    fresh = [row for row in posts if row["found_at"] > since and row["seen_by"] == row["found_by"]]
    heard = await told_by_streams(s, sql.lag, [row["found_by"] for row in fresh])
    return {row["id"] for row in fresh if row["found_by"] in heard}


class Returns(Struct, frozen=True):
    """What a page's profiles mean for those of their owners who were gone."""

    present: frozenset[int] = frozenset()
    """They were not gone at all."""
    stale: frozenset[int] = frozenset()
    """Their absence is newer than this sighting."""
    back: frozenset[int] = frozenset()
    """The public can see them again."""


async def back_again(
    s: SaveContext, sql: GoneStatements, users: Mapping[int, User], views: Collection[int], absences: Sequence[Row]
) -> Returns:
    """Ends the absence of users who are seen again; those in `views` are shown by a service whose word does not count."""
    present = frozenset(users.keys() - {row["user_no"] for row in absences})
    observed, heard = await s.observed_at(), await told_by_streams(s, sql.lag, [row["call"] for row in absences if row["call"]])
    stale = frozenset(
        row["user_no"]
        for row in absences
        if _is_hidden(row) and (row["user_no"] in views or not _is_news(s, row, users[row["user_no"]], observed, heard))
    )
    ended = [row for row in absences if row["user_no"] not in {*stale, *views} and _is_over(row, users[row["user_no"]])]
    await _end(s, sql, ended)
    back = frozenset(row["user_no"] for row in ended if _is_hidden(row))
    await s.execute_in(sql.undelete, [users[number].id for number in sorted(back)])
    return Returns(present, stale, back)


def is_bare(user: User) -> bool:
    """Whether all it says is that the account is there."""
    return user == User(id=user.id, key=user.key, is_there=user.is_there)


async def hidden_people(s: SaveContext, sql: GoneStatements, users: Collection[int]) -> set[int]:
    """Those of the users whom the public cannot see."""
    return {row["user_no"] for row in await s.fetch_in(sql.open, users) if _is_hidden(row)}


async def readable_again(s: SaveContext, sql: GoneStatements, users: Collection[int | None]) -> None:
    """Ends the absence of users whose posts the service listed when asked about them."""
    await _end(s, sql, [row for row in await s.fetch_in(sql.open, users) if not _is_hidden(row)])


async def _end(s: SaveContext, sql: GoneStatements, absences: Sequence[Row]) -> None:
    await s.execute_many(_CLOSE, [(s.at, row["user_no"], row["reason"]) for row in absences])


def _is_hidden(absence: Row) -> bool:
    return absence["reason"] in PURGED


def _is_news(s: SaveContext, absence: Row, user: User, observed: int, heard: Collection[int]) -> bool:
    """Whether the sighting is later than the absence. After a cut a stream may repeat profiles from before it, and a service may
    lag behind a stream that has told the absence (`heard`: the calls that are streams)."""
    if s.is_live and tells_returns(s.origin.network):
        return user.is_there
    lag = LAG if absence["call"] in heard and tells_returns(s.origin.network) else 0
    return bool(absence["since"] < observed - lag)


def _is_over(absence: Row, user: User) -> bool:
    # A protected or blocking account still shows its profile: only its own word, or its posts, end that.
    return _is_hidden(absence) or (absence["reason"] == Outcome.PROTECTED and user.is_protected is False)
