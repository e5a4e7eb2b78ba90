"""The people who may use the dashboard: name, role and the hash of a password, in the store's database."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime

from msgspec import Struct

from bowerbird.clock import from_micros, to_micros
from bowerbird.errors import UserError
from bowerbird.ports import Row, Transaction
from bowerbird.web.security.roles import Role

NAME = re.compile(r"[a-z0-9][a-z0-9_.@-]{0,63}")
_COLUMNS = "name, hash, role, created_at, changed_at, seen_at"
_LIST = f"select {_COLUMNS} from dashboard_people order by name"
_ONE = f"select {_COLUMNS} from dashboard_people where name = ?"
_ANY = "select name from dashboard_people limit 1"
_ADD = (
    "insert into dashboard_people (name, hash, role, created_at, changed_at) values (?, ?, ?, ?, ?) on conflict (name) do nothing"
)
_ROLE = "update dashboard_people set role = ? where name = ?"
_PASSWORD = "update dashboard_people set hash = ?, changed_at = ? where name = ?"  # noqa: S105 - a statement
_REMOVE = "delete from dashboard_people where name = ?"
_LOG_OUT = "delete from dashboard_sessions where person = ?"
_OTHERS_OUT = "delete from dashboard_sessions where person = ? and hash <> ?"
_STRANGERS_OUT = "delete from dashboard_sessions where person is null"


class Person(Struct, frozen=True, kw_only=True):
    """Somebody who may log in."""

    name: str
    hash: str
    role: Role
    created_at: datetime
    changed_at: datetime
    seen_at: datetime | None = None


def written(name: str) -> str:
    """A name as it is kept: capital letters make no difference."""
    return name.strip().casefold()


async def listed(tx: Transaction) -> Sequence[Person]:
    return [_person(row) for row in await tx.fetch(_LIST)]


async def found(tx: Transaction, name: str) -> Person | None:
    known = written(name)
    row = await tx.fetch_one(_ONE, known) if NAME.fullmatch(known) else None
    return None if row is None else _person(row)


async def is_anybody_there(tx: Transaction) -> bool:
    return await tx.fetch_one(_ANY) is not None


async def add(tx: Transaction, name: str, hash_: str, role: Role, now: datetime) -> None:
    """Lets somebody in from now on; raises `UserError` where there is one of that name, and for a first one who is no admin."""
    known = written(name)
    if not NAME.fullmatch(known):
        raise UserError(
            f"{name[:80]!r} cannot name a person", "use up to 64 letters, digits, and . _ - @, and begin with a letter or digit"
        )
    if role is not Role.ADMIN and not await is_anybody_there(tx):
        raise UserError(
            "the first person must be an admin: nobody else could add or change people on the dashboard", code="refused"
        )
    if not await tx.execute(_ADD, known, hash_, role.word, to_micros(now), to_micros(now)):
        raise UserError(
            f"there is a person called {known} already", "give another name, or set a new password", code="already_exists"
        )
    # Who came in with the key of the terminal did so because nobody had a password.
    await tx.execute(_STRANGERS_OUT)


async def change_role(tx: Transaction, name: str, role: Role) -> None:
    """Says what somebody may do, and logs them out: what is open shows what they may have lost."""
    person = await _there(tx, name)
    if role is not Role.ADMIN:
        await _keep_an_admin(tx, person)
    await tx.execute(_ROLE, role.word, person.name)
    await tx.execute(_LOG_OUT, person.name)


async def set_password(tx: Transaction, name: str, hash_: str, now: datetime, *, but: str = "") -> None:
    """Sets a password and ends all sessions of that person `but` the one of this hash."""
    person = await _there(tx, name)
    await tx.execute(_PASSWORD, hash_, to_micros(now), person.name)
    await tx.execute(_OTHERS_OUT, person.name, but)


async def remove(tx: Transaction, name: str) -> None:
    """Takes somebody's login away at once; the last admin goes only when nobody else is left."""
    person = await _there(tx, name)
    if len(await listed(tx)) > 1:
        await _keep_an_admin(tx, person)
    await tx.execute(_REMOVE, person.name)
    await tx.execute(_LOG_OUT, person.name)


async def _there(tx: Transaction, name: str) -> Person:
    person = await found(tx, name)
    if person is None:
        known = ", ".join(each.name for each in await listed(tx)) or "none yet"
        raise UserError(f"there is no person called {name[:80]!r}", f"there are: {known}", code="unknown_person")
    return person


async def _keep_an_admin(tx: Transaction, person: Person) -> None:
    others = [each for each in await listed(tx) if each.role is Role.ADMIN and each.name != person.name]
    if person.role is Role.ADMIN and not others:
        raise UserError(f"{person.name} is the only admin", "make somebody else an admin first", code="refused")


def _person(row: Row) -> Person:
    return Person(
        name=row["name"],
        hash=row["hash"],
        role=Role.called(row["role"]),
        created_at=from_micros(row["created_at"]),
        changed_at=from_micros(row["changed_at"]),
        seen_at=None if row["seen_at"] is None else from_micros(row["seen_at"]),
    )
