"""Whom a person means: accounts by id, by a service's own key, or by a handle they bear or once bore."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import msgspec
from msgspec import Struct

from bowerbird.clock import from_micros
from bowerbird.ports import Row, Transaction

_BY_ID = "select user_no, id, handle, network from users where id = ?"
_BY_KEY = """
select user_no, id, handle, network from users where id in (select network || ':' || ? from services)
union select u.user_no, u.id, u.handle, u.network from services s join user_keys k on k.service = s.service and k.key = ?
    join users u on u.user_no = k.user_no
order by 1
"""
_BEARING = "select user_no, id, handle, network from users where handle = ? order by user_no"
# The inner part reads the index of handles alone.
_ALIKE = """
select user_no, id, handle, network from users where user_no in (
    select user_no from users where lower(handle) = lower(?) or lower(handle) like lower(?) escape '!') order by user_no
"""
_ONCE = """
select u.user_no, u.id, u.handle, u.network, h.at, h.before from user_history h join users u on u.user_no = h.user_no
where lower(h.before) like lower(?) escape '!' order by h.at
"""


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


async def find_accounts(tx: Transaction, text: str) -> list[Account]:
    """Everyone whom a text may mean. An id means one; a handle, with `@` or without, all who bear it or once bore it.

    Where none is spelled like that, case does not matter, nor the server that ends a handle on Mastodon.
    """
    if rows := await tx.fetch(_BY_ID, text):
        return _accounts(rows)
    handle = text.removeprefix("@")
    if not handle or "/" in handle:
        return []
    keyed = _accounts(await tx.fetch(_BY_KEY, text, text)) if handle == text else []
    found = {each.number: each for each in (*await _called(tx, handle), *keyed)}
    return sorted(found.values(), key=lambda account: account.number)


async def _called(tx: Transaction, handle: str) -> list[Account]:
    """Of one account the last time counts, and now comes after all of them."""
    former = await _formerly_called(tx, handle)
    exact = [each for each in former if each.had == handle] + _accounts(await tx.fetch(_BEARING, handle))
    return exact or former + _accounts(await tx.fetch(_ALIKE, handle, _literal(handle) + _anywhere(handle)))


async def _formerly_called(tx: Transaction, handle: str) -> list[Account]:
    """In the order of time; as far as the history of an account is kept."""
    written = _literal(msgspec.json.encode(handle).decode().removesuffix('"'))
    rows = await tx.fetch(_ONCE, f'%"handle":{written}%')
    called = [(row, msgspec.json.decode(row["before"]).get("handle") or "") for row in rows]
    return [_once_called(row, had) for row, had in called if _is_meant(had, handle)]


def _once_called(row: Row, had: str) -> Account:
    return msgspec.structs.replace(_account(row), had=had, until=from_micros(row["at"]))


def _is_meant(had: str, written: str) -> bool:
    name = had if "@" in written else had.partition("@")[0]
    return written.lower() in (had.lower(), name.lower())


def _literal(text: str) -> str:
    """A text for `like` to take as it is."""
    return text.replace("!", "!!").replace("%", "!%").replace("_", "!_")


def _anywhere(handle: str) -> str:
    """On Mastodon, handles end with a server; a name alone may be on any."""
    return "" if "@" in handle else "@%"


def _accounts(rows: Sequence[Row]) -> list[Account]:
    return [_account(row) for row in rows]


def _account(row: Row) -> Account:
    return Account(number=row["user_no"], id=row["id"], network=row["network"], handle=row["handle"] or "")
