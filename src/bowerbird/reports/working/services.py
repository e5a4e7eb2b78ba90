"""The services that crawls ask: how many of the last calls they answered, how fast, and when they were down."""

from __future__ import annotations

from datetime import datetime, timedelta

from msgspec import Struct

from bowerbird.clock import from_micros
from bowerbird.model import ServiceState
from bowerbird.ports import Row, Transaction

_RECENT_CALLS = 2_000
_SERVICES = "select service, name, network, provider, base from services order by name"
_DID = """
select l.service, count(*) as calls, sum(case when k.outcome = 'ok' then 1 else 0 end) as good, avg(k.call_micros) as micros,
    max(k.received_at) as answered_at
from (select * from calls where state <> 'flying' order by call desc limit ?) k join lanes l on l.lane = k.lane group by l.service
"""
_OUTAGES = """
select o.service, o.began_at, o.ended_at, o.calls, o.reason from outages o
join (select service, max(outage) as outage from outages group by service) l on l.outage = o.outage
"""


class Outage(Struct, frozen=True, kw_only=True):
    """A time in which a service answered nothing, or nonsense."""

    began_at: datetime
    ended_at: datetime | None
    calls: int
    reason: str


class ServiceLine(Struct, frozen=True, kw_only=True):
    """One service."""

    name: str
    network: str
    provider: str
    base: str
    calls: int
    """Among the last calls of all."""
    good: int
    mean: timedelta | None
    answered_at: datetime | None
    outage: Outage | None
    """The last one."""

    @property
    def state(self) -> ServiceState:
        if self.outage is not None and self.outage.ended_at is None:
            return ServiceState.DOWN
        return ServiceState.OK if self.calls else ServiceState.NOT_ASKED


async def read_name(tx: Transaction, provider: str, base: str) -> str:
    """The name that the store has for a server; empty: it does not know it."""
    row = await tx.fetch_one("select name from services where provider = ? and base = ? order by service limit 1", provider, base)
    return "" if row is None else str(row["name"])


async def read_services(tx: Transaction) -> list[ServiceLine]:
    did = {row["service"]: row for row in await tx.fetch(_DID, _RECENT_CALLS)}
    outages = {row["service"]: row for row in await tx.fetch(_OUTAGES)}
    return [_line(row, did.get(row["service"]), outages.get(row["name"])) for row in await tx.fetch(_SERVICES)]


def _line(row: Row, did: Row | None, outage: Row | None) -> ServiceLine:
    return ServiceLine(
        name=row["name"],
        network=row["network"],
        provider=row["provider"],
        base=row["base"],
        calls=int(did["calls"]) if did else 0,
        good=int(did["good"]) if did else 0,
        mean=timedelta(microseconds=float(did["micros"])) if did and did["micros"] is not None else None,
        answered_at=from_micros(did["answered_at"]) if did and did["answered_at"] else None,
        outage=None if outage is None else _outage(outage),
    )


def _outage(row: Row) -> Outage:
    ended = None if row["ended_at"] is None else from_micros(row["ended_at"])
    return Outage(began_at=from_micros(row["began_at"]), ended_at=ended, calls=row["calls"], reason=row["reason"])
