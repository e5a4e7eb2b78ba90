"""The rows of `claims`: which worker alone may hold a stream, fetch a file, take a backup or run a module, and until when."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from secrets import randbits

from msgspec import structs

from bowerbird.clock import from_micros, to_micros
from bowerbird.errors import Fenced
from bowerbird.model import Claim
from bowerbird.ports import Transaction

_TOKEN_BITS = 63
"""A token is drawn, not counted: no row has to outlive its claim, and no two claims have the same."""
_LIVING = "select worker from workers where ended_at is null"
# Free, over, its worker dead, or ours already: whoever begins again after a crash takes what it held. The dead take nothing: it
# could be taken away again at once.
_TAKE = f"""
insert into claims (name, worker, token, until)
select ?, worker, cast(? as bigint), cast(? as bigint) from workers where worker = ? and ended_at is null
on conflict (name) do update set worker = excluded.worker, token = excluded.token, until = excluded.until
where claims.worker = excluded.worker or claims.until <= ? or claims.worker not in ({_LIVING})
returning worker
"""
_UNTIL = "select until from claims where name = ?"
_RENEW = "update claims set until = ? where name = ? and worker = ? and token = ?"
_RELEASE = "delete from claims where name = ? and worker = ? and token = ?"
_HELD = f"select name from claims where name like ? and until > ? and worker in ({_LIVING})"
_CLEAR = f"delete from claims where worker not in ({_LIVING})"


class WorkerClaims:
    """The claims of one worker; `me` is its number as it is now."""

    def __init__(self, me: Callable[[], int]) -> None:
        self._me = me

    async def take(self, tx: Transaction, name: str, until: datetime, now: datetime) -> Claim | datetime:
        claim = Claim(name, self._me(), randbits(_TOKEN_BITS), until)
        if await tx.fetch_one(_TAKE, name, claim.token, to_micros(until), claim.worker, to_micros(now)) is not None:
            return claim
        row = await tx.fetch_one(_UNTIL, name)
        return now if row is None else from_micros(row["until"])

    async def renew(self, tx: Transaction, claim: Claim, until: datetime) -> Claim:
        if await tx.execute(_RENEW, to_micros(until), claim.name, claim.worker, claim.token) != 1:
            raise Fenced(f"{claim.name} was taken over by another worker; what was done for it since is dropped")
        return structs.replace(claim, until=until)

    async def release(self, tx: Transaction, claim: Claim) -> bool:
        return await tx.execute(_RELEASE, claim.name, claim.worker, claim.token) == 1

    async def held(self, tx: Transaction, prefix: str, now: datetime) -> frozenset[str]:
        rows = await tx.fetch(_HELD, f"{prefix}%", to_micros(now))
        return frozenset(row["name"] for row in rows)


async def clear_claims(tx: Transaction) -> None:
    """Takes away what dead workers had; most of it was taken over already, and some of it nobody will ask for again."""
    await tx.execute(_CLEAR)
