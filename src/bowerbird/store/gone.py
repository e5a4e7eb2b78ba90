"""Accounts and posts that are not to be had: since when, why, and when they were back."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from bowerbird.model import Gone, Outcome, Subject, User
from bowerbird.ports import Database, Row
from bowerbird.store.names import has_local_keys, id_for
from bowerbird.store.people import People
from bowerbird.store.purge import PurgeStatements, bury, purge_posts, purge_users
from bowerbird.store.sighting import Sighting

PURGED = frozenset({Outcome.NOT_FOUND, Outcome.SUSPENDED, Outcome.DEACTIVATED})
"""The public can no longer see it, so neither may the store. What is protected or blocked may be seen by others."""

_OPEN = "insert into unavailable (user_no, reason, since, call) values (?, ?, ?, ?)"
_CLOSE = "update unavailable set until = ? where until is null and user_no = ? and reason = ?"


class GoneStatements:
    """The statements of this file in one database's words."""

    def __init__(self, database: Database) -> None:
        self.open = f"select user_no, reason, since from unavailable where until is null and user_no {database.any('bigint')}"
        self.ids = f"select user_no, id from users where user_no {database.any('bigint')}"
        self.posts = f"select post_no, id from posts where deleted_at is null and id {database.any('text')}"
        self.post_keys = (
            "select k.key, p.id from post_keys k join posts p on p.post_no = k.post_no "
            f"where k.service = ? and k.key {database.any('text')}"
        )
        self.dig_up = f"delete from deletions where subject = 'user' and id {database.any('text')}"
        self.purge = PurgeStatements(database)


async def save_gone(s: Sighting, sql: GoneStatements, gone: Sequence[Gone], people: People) -> None:
    """Notes every subject the service refused to show, and purges what the public can no longer see."""
    await _save_gone_users(
        s, sql, {people.keys[g.key]: g.reason for g in gone if g.subject is Subject.USER and g.key in people.keys}
    )
    await _save_gone_posts(s, sql, {g.key: g.reason for g in gone if g.subject is Subject.POST and g.reason in PURGED})


async def _save_gone_users(s: Sighting, sql: GoneStatements, reasons: Mapping[int, Outcome]) -> None:
    known = {(row["user_no"], row["reason"]) for row in await s.fetch_in(sql.open, reasons)}
    news = {number: reason for number, reason in reasons.items() if (number, reason.value) not in known}
    ended = [(s.at, number, reason) for number, reason in known if number in news]
    await s.execute_many(_CLOSE, sorted(ended))
    await s.execute_many(_OPEN, [(number, news[number].value, s.at, s.call) for number in sorted(news)])
    ids = {row["user_no"]: row["id"] for row in await s.fetch_in(sql.ids, [n for n, reason in news.items() if reason in PURGED])}
    for reason in PURGED:
        await purge_users(s, sql.purge, {n: known_id for n, known_id in ids.items() if news[n] is reason}, reason.value)


async def _save_gone_posts(s: Sighting, sql: GoneStatements, reasons: Mapping[str, Outcome]) -> None:
    ids = {key: id_for(s.network, s.service_name, key) for key in reasons}
    if has_local_keys(s.network):
        ids |= {row["key"]: row["id"] for row in await s.fetch_in(sql.post_keys, reasons, s.service)}
    await purge_posts(s, sql.purge, [row["post_no"] for row in await s.fetch_in(sql.posts, ids.values())])
    for reason in PURGED:
        await bury(s, "post", [ids[key] for key, why in reasons.items() if why is reason], reason.value)


async def back_again(s: Sighting, sql: GoneStatements, users: Mapping[int, User]) -> frozenset[int]:
    """Ends the absence of users who are seen again; answers those whose absence is newer than this sighting."""
    absences = await s.fetch_in(sql.open, users)
    if not absences:
        return frozenset()
    observed = await s.observed_at()
    stale = frozenset(row["user_no"] for row in absences if _is_hidden(row) and row["since"] >= observed)
    ended = [row for row in absences if row["user_no"] not in stale and _is_over(row, users[row["user_no"]])]
    await _end(s, sql, ended)
    await s.execute_in(sql.dig_up, [users[row["user_no"]].id for row in ended if _is_hidden(row)])
    return stale


async def readable_again(s: Sighting, sql: GoneStatements, users: Collection[int | None]) -> None:
    """Ends the absence of users whose posts the service listed when asked about them."""
    await _end(s, sql, [row for row in await s.fetch_in(sql.open, users) if not _is_hidden(row)])


async def _end(s: Sighting, sql: GoneStatements, absences: Sequence[Row]) -> None:
    await s.execute_many(_CLOSE, [(s.at, row["user_no"], row["reason"]) for row in absences])


def _is_hidden(absence: Row) -> bool:
    return absence["reason"] in PURGED


def _is_over(absence: Row, user: User) -> bool:
    # A protected or blocking account still shows its profile: only its own word, or its posts, end that.
    return _is_hidden(absence) or (absence["reason"] == Outcome.PROTECTED and user.is_protected is False)
