"""Who may work through a coordinator: one token for each worker, of which the database has the hash alone."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime, timedelta
from hashlib import sha256
from hmac import compare_digest
from secrets import token_urlsafe

from msgspec import Struct

from bowerbird.clock import from_micros, to_micros
from bowerbird.errors import UserError
from bowerbird.ports import Clock, Database, Transaction

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
_BYTES = 32
_RENEWED = timedelta(seconds=2)
"""How long a revoked token may still be taken."""
_NOTED = timedelta(minutes=1)
_ADD = "insert into worker_tokens (name, hash, created_at) values (?, ?, ?)"
_LIST = "select name, hash, created_at, seen_at, revoked_at from worker_tokens order by name"
_REVOKE = "update worker_tokens set revoked_at = ? where name = ? and revoked_at is null"
_REPLACE = "delete from worker_tokens where name = ? and revoked_at is not null"
_SEEN = "update worker_tokens set seen_at = ? where name = ?"
_NOBODY = sha256(b"").hexdigest()


class Token(Struct, frozen=True):
    """What is known of a token; not the token itself."""

    name: str
    hash: str
    created_at: datetime
    seen_at: datetime | None
    revoked_at: datetime | None


async def add(tx: Transaction, name: str, now: datetime) -> str:
    """A new token for the worker of this name, which nobody can read again; raises `UserError` where there is one."""
    if not NAME.fullmatch(name):
        raise UserError(
            f"{name!r} cannot name a worker", "use up to 64 letters, digits, _ and -, and begin with one of the former"
        )
    await tx.execute(_REPLACE, name)
    if any(each.name == name for each in await listed(tx)):
        raise UserError(
            f"the worker {name} has a token already",
            f"revoke it first with: bowerbird worker tokens revoke {name}",
            code="already_exists",
        )
    token = f"{name}.{token_urlsafe(_BYTES)}"
    await tx.execute(_ADD, name, hashed(token), to_micros(now))
    return token


async def listed(tx: Transaction) -> Sequence[Token]:
    return [
        Token(row["name"], row["hash"], from_micros(row["created_at"]), _time(row["seen_at"]), _time(row["revoked_at"]))
        for row in await tx.fetch(_LIST)
    ]


async def revoke(tx: Transaction, name: str, now: datetime) -> None:
    if not await tx.execute(_REVOKE, to_micros(now), name):
        there = ", ".join(each.name for each in await listed(tx) if each.revoked_at is None) or "none"
        raise UserError(f"no worker {name!r} has a token", f"there are: {there}", code="unknown_worker")


def hashed(token: str) -> str:
    # The tokens are random and long: nobody can guess them, and a slow hash would only slow down every request.
    return sha256(token.encode()).hexdigest()


def _time(micros: int | None) -> datetime | None:
    return None if micros is None else from_micros(micros)


class TokenCheck:
    """Says whose a token is, and remembers when it was last shown."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock
        self._known: dict[str, Token] = {}
        self._read_at: datetime | None = None
        self._noted: dict[str, datetime] = {}

    async def owner(self, token: str) -> str | None:
        """The name of the worker whose token it is; None: nobody's, or a revoked one."""
        now, name = self._clock.now(), token.rpartition(".")[0]
        # A worker whose token was made just now is to be let in at once.
        if self._read_at is None or now - self._read_at >= _RENEWED or name not in self._known:
            await self._renew(now)
        known = self._known.get(name)
        # Compared even where there is no such worker, and always the whole: how long it takes tells nothing.
        is_right = compare_digest(hashed(token), known.hash if known else _NOBODY)
        if known is None or not is_right:
            return None
        await self._note(name, now)
        return name

    async def _renew(self, now: datetime) -> None:
        async with self._database.reading() as tx:
            self._known = {each.name: each for each in await listed(tx) if each.revoked_at is None}
        self._read_at = now

    async def _note(self, name: str, now: datetime) -> None:
        if name in self._noted and now - self._noted[name] < _NOTED:
            return
        self._noted[name] = now
        async with self._database.transaction() as tx:
            await tx.execute(_SEEN, to_micros(now), name)
