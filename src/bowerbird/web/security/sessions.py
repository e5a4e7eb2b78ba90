"""Who is logged in: sessions known by a random id, of which the database has the hash alone."""

from __future__ import annotations

from datetime import datetime, timedelta
from hashlib import sha256
from secrets import token_urlsafe

from msgspec import Struct

from bowerbird.clock import from_micros, to_micros
from bowerbird.ports import Transaction
from bowerbird.web.security.people import is_anybody_there
from bowerbird.web.security.roles import Role

IDLE = timedelta(hours=24)
"""A session ends when nobody has asked for anything so long …"""
LONGEST = timedelta(days=7)
"""… and after so long in any case."""
_NOTED = timedelta(minutes=1)
_BYTES = 32
_MOST_LENGTH = 128
_OWNER = "owner"
"""What those are called who came in with the key of the terminal."""
_ADD = "insert into dashboard_sessions (hash, person, opened_at, seen_at) values (?, ?, ?, ?)"
_READ = """
select s.person, s.opened_at, s.seen_at, p.role from dashboard_sessions s left join dashboard_people p on p.name = s.person
where s.hash = ?
"""
_SEEN = "update dashboard_sessions set seen_at = ? where hash = ?"
_END = "delete from dashboard_sessions where hash = ?"
_OLD = "delete from dashboard_sessions where opened_at < ? or seen_at < ?"


class Visitor(Struct, frozen=True, kw_only=True):
    """Who asks for a page: their name, what they may do, and the token that their forms carry."""

    name: str
    role: Role
    token: str
    session: str
    """Hash of the session's id."""
    person: str | None
    """None: they came in with the key of the terminal, and have no password."""
    is_noted: bool = True
    """Whether the database knows already that they were here just now."""


def hashed(session: str) -> str:
    # Ids are random and long: nobody can guess them, and a slow hash would only slow down every page.
    return sha256(session.encode(errors="replace")).hexdigest()


def token_of(session: str) -> str:
    """What forms of a session carry: whoever knows the id can make it, and nobody else, not even from the database."""
    return sha256(b"forms of " + session.encode(errors="replace")).hexdigest()


def fresh_id() -> str:
    return token_urlsafe(_BYTES)


async def begin(tx: Transaction, person: str | None, now: datetime) -> str:
    """A new session, always under a new id; those that ended long ago are cleared away."""
    await tx.execute(_OLD, to_micros(now - LONGEST), to_micros(now - IDLE))
    session = fresh_id()
    await tx.execute(_ADD, hashed(session), person, to_micros(now), to_micros(now))
    return session


async def visitor_of(tx: Transaction, session: str, now: datetime, *, is_private: bool) -> Visitor | None:
    """Whose session it is; None: nobody's, or one that has ended. `is_private`: only this machine can reach the dashboard, and so
    sessions without a person count, as long as nobody has a password."""
    if not session or len(session) > _MOST_LENGTH:
        return None
    row = await tx.fetch_one(_READ, hashed(session))
    if row is None or now - from_micros(row["opened_at"]) > LONGEST or now - from_micros(row["seen_at"]) > IDLE:
        return None
    if row["person"] is None and (not is_private or await is_anybody_there(tx)):
        return None
    if row["person"] is not None and row["role"] is None:
        return None
    return Visitor(
        name=row["person"] or _OWNER,
        role=Role.ADMIN if row["person"] is None else Role.called(row["role"]),
        token=token_of(session),
        session=hashed(session),
        person=row["person"],
        is_noted=now - from_micros(row["seen_at"]) < _NOTED,
    )


async def note(tx: Transaction, visitor: Visitor, now: datetime) -> None:
    """Remembers that somebody was here."""
    await tx.execute(_SEEN, to_micros(now), visitor.session)


async def end(tx: Transaction, visitor: Visitor) -> None:
    await tx.execute(_END, visitor.session)
