"""How an account or a post changed: everything the store kept of it, in the order of time."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import msgspec
from msgspec import Struct

from bowerbird.clock import from_micros
from bowerbird.model import post_at
from bowerbird.model.subjects.telling import is_gone
from bowerbird.ports import Database, Row, Transaction
from bowerbird.reports.histories.find_account import Account, find_accounts
from bowerbird.store.posts.by_id import end_of

_POSTS = f"""
select post_no, id, found_at, deleted_at from posts where {end_of("id")} = {end_of("cast(? as text)")} and id = ?
union select post_no, id, found_at, deleted_at from posts where post_no in (
    select post_no from post_keys where service in (select service from services) and key = ?)
order by post_no
"""
_AT_URL = "select post_no, id, found_at, deleted_at from posts where url = ? order by post_no"
_FOUND = "select found_at, found_by, seen_at from users where user_no = ?"
# What is deleted is not told, where a crawl keeps it either.
_PROFILE = f"select at, call, before, after from user_history h where user_no = ? and not {is_gone('h')} order by at, call"
_EDITS = "select at, call, before, after from post_history where post_no = ? order by at, call"
_ABSENT = "select reason, since, until, call from unavailable where user_no = ? order by since, call"
_VERSIONS = "select at, text, call from post_versions where post_no = ? order by at, call"
_DELETED = "select reason, at, call from deletions where subject = ? and id = ?"
_EDGES = """
select h.kind, h.change, h.after_at, h.before_at, h.call, s.id as source, t.id as target
from relation_history h join users s on s.user_no = h.source join users t on t.user_no = h.target
where h.source = ? or h.target = ? order by h.before_at, h.change, s.id, t.id
"""
_TIMES = frozenset({"created_at", "newest_post_at", "edited_at", "listed_at"})


class Change(Struct, frozen=True, kw_only=True):
    """One thing that happened: at a time, or somewhere between two."""

    at: datetime
    after: datetime | None = None
    """It happened after this, where only an interval is known."""
    what: str
    """`found`, `profile`, `post`, `version`, `followed`, `unfollowed`, `follower`, `lost follower`, `gone`, `back`, `deleted`."""
    field: str = ""
    before: Any = None
    now: Any = None
    call: int | None = None


class History(Struct, frozen=True, kw_only=True):
    """One account or post, and all that is known of its past."""

    subject: str
    id: str
    name: str = ""
    had: str = ""
    """The handle by which the account was found, where it bears another now."""
    until: datetime | None = None
    """When it was first seen without that one."""
    changes: tuple[Change, ...]


async def find_history(database: Database, text: str, network: str | None = None, *, ties: bool = True) -> list[History]:
    """The accounts and posts that a text may mean (id, handle, key or address), each with its past; only accounts of the
    network where one is named. `ties`: with those who came and went, who may be very many."""
    async with database.reading() as tx:
        accounts = [account for account in await find_accounts(database, tx, text) if network in (None, account.network)]
        users = [await _user(tx, account, ties=ties) for account in accounts]
        name = post_at(text) or text
        rows = await tx.fetch(_POSTS, name, name, name) if network is None else []
        # No index serves addresses: only an address is worth the search.
        rows = rows or (await tx.fetch(_AT_URL, text) if text.startswith("http") and not users else [])
        posts = [await _post(tx, row) for row in sorted(rows, key=lambda row: row["post_no"])]
    return users + posts


async def read_profile_history(database: Database, number: int, id_: str) -> tuple[Change, ...]:
    """All that is known of the past of an account but its ties."""
    async with database.reading() as tx:
        return _in_order(await _of_user(tx, number, id_))


def profile_questions(number: int, id_: str) -> list[tuple[str, Sequence[Any]]]:
    """What is asked for the past of an account, for those who ask for more at once."""
    return [(_FOUND, (number,)), (_PROFILE, (number,)), (_ABSENT, (number,)), (_DELETED, ("user", id_))]


def profile_changes(answers: Sequence[Sequence[Row]]) -> tuple[Change, ...]:
    """What the answers to `profile_questions` say."""
    return _in_order(_told_of_user(answers))


async def read_edits(database: Database, number: int) -> tuple[Change, ...]:
    """How a post that is there was edited, and its versions."""
    async with database.reading() as tx:
        return _in_order(await _edits(tx, number))


async def _of_user(tx: Transaction, number: int, id_: str) -> list[Change]:
    return _told_of_user(await tx.fetch_all(profile_questions(number, id_)))


def _told_of_user(answers: Sequence[Sequence[Row]]) -> list[Change]:
    found, profile, absent, deleted = answers
    return [*_found(found), *_fields("profile", profile), *_absences(absent), *_deletions(deleted)]


async def _user(tx: Transaction, account: Account, *, ties: bool) -> History:
    number = account.number
    changes = await _of_user(tx, number, account.id)
    if ties:
        changes += [_edge(edge, account.id) for edge in await tx.fetch(_EDGES, number, number)]
    return History(
        subject="user",
        id=account.id,
        name=account.handle,
        had=account.had,
        until=account.until,
        changes=_in_order(changes),
    )


async def _post(tx: Transaction, row: Row) -> History:
    changes = [Change(at=from_micros(row["found_at"]), what="found")]
    if row["deleted_at"] is None:
        changes += await _edits(tx, row["post_no"])
    changes += _deletions(await tx.fetch(_DELETED, "post", row["id"]))
    return History(subject="post", id=row["id"], changes=_in_order(changes))


async def _edits(tx: Transaction, number: int) -> list[Change]:
    edits, versions = await tx.fetch_all([(_EDITS, (number,)), (_VERSIONS, (number,))])
    told = [
        Change(at=from_micros(each["at"]), what="version", field="text", now=each["text"], call=each["call"]) for each in versions
    ]
    return _fields("post", edits) + told


def _found(rows: Sequence[Row]) -> list[Change]:
    return [Change(at=from_micros(row["found_at"]), what="found", call=row["found_by"]) for row in rows]


def _fields(what: str, rows: Sequence[Row]) -> list[Change]:
    """One change per field."""
    changes = []
    for row in rows:
        before, after = msgspec.json.decode(row["before"]), msgspec.json.decode(row["after"])
        changes += [
            Change(
                at=from_micros(row["at"]),
                what=what,
                field=name,
                before=_value(name, before.get(name)),
                now=_value(name, after[name]),
                call=row["call"],
            )
            for name in after
        ]
    return changes


def _value(name: str, value: Any) -> Any:
    return from_micros(value) if name in _TIMES and value is not None else value


def _absences(rows: Sequence[Row]) -> list[Change]:
    """Who is gone for another reason from the same moment on is not back."""
    went = [Change(at=from_micros(row["since"]), what="gone", now=row["reason"], call=row["call"]) for row in rows]
    ended = [row for row in rows if row["until"] is not None]
    back = [row for row in ended if not any(each["since"] == row["until"] for each in rows if each is not row)]
    return went + [Change(at=from_micros(row["until"]), what="back", before=row["reason"]) for row in back]


def _edge(row: Row, me: str) -> Change:
    is_mine = row["source"] == me
    names = {("added", True): "followed", ("removed", True): "unfollowed", ("added", False): "follower"}
    return Change(
        at=from_micros(row["before_at"]),
        after=None if row["after_at"] is None else from_micros(row["after_at"]),
        what=names.get((row["change"], is_mine), "lost follower"),
        field=row["kind"],
        now=row["target"] if is_mine else row["source"],
        call=row["call"],
    )


def _deletions(rows: Sequence[Row]) -> list[Change]:
    return [Change(at=from_micros(row["at"]), what="deleted", now=row["reason"], call=row["call"]) for row in rows]


def _in_order(changes: list[Change]) -> tuple[Change, ...]:
    return tuple(sorted(changes, key=lambda change: change.at))
