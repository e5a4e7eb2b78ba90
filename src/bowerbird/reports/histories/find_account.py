"""Whom a person means: accounts by id, by a service's own key, or by a handle they bear or once bore."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import msgspec
from msgspec import Struct

from bowerbird.clock import from_micros
from bowerbird.ports import Database, Row, Transaction

_BY_ID = "select user_no, id, handle, network from users where id = ?"
_BY_KEY = """
select user_no, id, handle, network from users where id in (select network || ':' || ? from services)
union select user_no, id, handle, network from users where user_no in (
    select user_no from user_keys where service in (select service from services) and key = ?)
"""
_NOW = "select user_no, id, handle, network, handle as had, 0 as until from users where"
_ONCE = """
select u.user_no, u.id, u.handle, u.network, f.handle as had, f.until
from former_handles f join users u on u.user_no = f.user_no where"""
# Every text between these two begins with the name and `@`, after which comes `A`.
_EQUALS = "{column} = lower(cast(? as text))"
_BEGINS = "{column} >= lower(cast(? as text)) || '@' and {column} < lower(cast(? as text)) || 'A'"
_BYTEWISE = {"sqlite": "", "postgresql": 'collate "C"'}
"""How the index of handles is sorted: the names that begin alike then lie together, whatever the language of the database."""


class Account(Struct, frozen=True, kw_only=True):
    """An account that a text may mean."""

    number: int
    id: str
    network: str
    handle: str = ""
    had: str = ""
    """The handle by which it was found, where it bears another now."""
    until: datetime | None = None
    """When it was first seen without that one."""


async def find_accounts(database: Database, tx: Transaction, text: str) -> list[Account]:
    """Everyone whom a text may mean. An id means one; a handle, with `@` or without, all who bear it or once bore it.

    Where none is spelled like that, case does not matter, nor the server that ends a handle on Mastodon.
    """
    if rows := await tx.fetch(_BY_ID, text):
        return _accounts(rows)
    handle = text.removeprefix("@")
    if not handle or "/" in handle:
        return []
    keyed = _accounts(await tx.fetch(_BY_KEY, text, text)) if handle == text else []
    found = {each.number: each for each in (*await _called(tx, handle, _BYTEWISE[database.dialect]), *keyed)}
    return sorted(found.values(), key=lambda account: account.number)


async def _called(tx: Transaction, handle: str, bytewise: str) -> list[Account]:
    """Those who had the handle in the order of time, then those who have it: of one account the last counts."""
    former, bearing = await _alike(tx, _ONCE, "f.name", handle), await _alike(tx, _NOW, f"lower(handle) {bytewise}", handle)
    found = [_once_called(row) for row in sorted(former, key=lambda row: row["until"])]
    exact = [each for each in found if each.had == handle] + _accounts([row for row in bearing if row["had"] == handle])
    return exact or found + _accounts(sorted(bearing, key=lambda row: row["user_no"]))


async def _alike(tx: Transaction, select: str, column: str, handle: str) -> list[Row]:
    """Spelled like that but for the case; on Mastodon handles end with a server, and a name alone may be on any."""
    rows = [*await tx.fetch(f"{select} {_EQUALS.format(column=column)}", handle)]
    if "@" not in handle:
        rows += await tx.fetch(f"{select} {_BEGINS.format(column=column)}", handle, handle)
    return rows


def _once_called(row: Row) -> Account:
    return msgspec.structs.replace(_account(row), had=row["had"], until=from_micros(row["until"]))


def _accounts(rows: Sequence[Row]) -> list[Account]:
    return [_account(row) for row in rows]


def _account(row: Row) -> Account:
    return Account(number=row["user_no"], id=row["id"], network=row["network"], handle=row["handle"] or "")
