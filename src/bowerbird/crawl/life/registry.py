"""Rows that say who is here: crawls with their controls, services, lanes, workers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from msgspec import Struct

from bowerbird import __version__
from bowerbird.clock import to_micros
from bowerbird.crawl.life.moved_service import mend
from bowerbird.crawl.process.workers.identity import Process, myself, runs
from bowerbird.errors import Failure, UserError, stored_failure
from bowerbird.flows.flow import Size
from bowerbird.model import CrawlState, CredentialState, Service
from bowerbird.ports import Row, Transaction

SILENT = timedelta(minutes=2)
"""A worker not seen for this long counts as dead, whatever its process does: if it wakes up, it is fenced."""
QUIET = timedelta(seconds=30)
"""The same for one that has our host name and runs in another container, or before our machine was started."""
_SILENT, _QUIET = (each // timedelta(microseconds=1) for each in (SILENT, QUIET))

_ALIKE = """
select name from services where provider = ? and base = ? and not exists (select 1 from services where name = ?)
order by service limit 1
"""


class CrawlRow(Struct, frozen=True):
    crawl: int
    name: str
    state: CrawlState
    wanted: CrawlState
    reason: Failure | None
    calls: int
    items: int
    users: int
    posts: int

    @property
    def size(self) -> Size:
        return Size(calls=self.calls, items=self.items, users=self.users, posts=self.posts)


async def enrol_crawl(tx: Transaction, name: str, flow: str, settings: str, now: datetime) -> CrawlRow:
    """The row of a crawl by name, made when it is new and brought up to date when it goes on."""
    at = to_micros(now)
    row = await tx.fetch_one(
        "insert into crawls (name, flow, settings, state, wanted, created_at, updated_at) "
        f"values (?, ?, ?, '{CrawlState.RUNNING}', '{CrawlState.RUNNING}', ?, ?) "
        "on conflict (name) do update set flow = excluded.flow, settings = excluded.settings, updated_at = excluded.updated_at "
        "returning crawl, name, state, wanted, reason, calls, items, users, posts",
        *(name, flow, settings, at, at),
    )
    return _crawl_row(row)


async def join_crawl(tx: Transaction, name: str, now: datetime) -> CrawlRow:
    """The row of a crawl that was begun by somebody who has its file; nothing of it changes but the time."""
    row = await tx.fetch_one(
        "update crawls set updated_at = ? where name = ? "
        "returning crawl, name, state, wanted, reason, calls, items, users, posts",
        *(to_micros(now), name),
    )
    return _crawl_row(row)


async def enrol_service(tx: Transaction, service: Service, network: str) -> int:
    """The number of a service. One server has one name in a store: under two it would be asked twice as often as it allows."""
    await mend(tx, service, network)
    other = await tx.fetch_one(_ALIKE, service.provider, service.base, service.name)
    if other is not None:
        raise UserError(
            f"this store knows {service.base} as the service {other['name']!r}, and counts its limits under that name",
            f'write name = "{other["name"]}" beside its base in the crawl file',
        )
    row = await tx.fetch_one(
        "insert into services (name, provider, network, base) values (?, ?, ?, ?) "
        "on conflict (name) do update set base = excluded.base returning service",
        *(service.name, service.provider, network, service.base),
    )
    return _number(row, "service")


async def enrol_lane(tx: Transaction, crawl: int, service: int, facet: str) -> int:
    row = await tx.fetch_one(
        "insert into lanes (crawl, service, facet) values (?, ?, ?) "
        "on conflict (crawl, service, facet) do update set facet = excluded.facet returning lane",
        *(crawl, service, facet),
    )
    return _number(row, "lane")


class Guest(Struct, frozen=True, kw_only=True):
    """A process that works on a crawl without its database: it gets its calls through another worker."""

    process: Process
    coordinator: int
    version: str


async def enrol_worker(tx: Transaction, name: str, now: datetime, label: str = "", guest: Guest | None = None) -> int:
    """The number of a new worker of a crawl: this process, or a guest of it. `label`: what its user calls it."""
    at, who, version = to_micros(now), guest.process if guest else myself(), guest.version if guest else __version__
    row = await tx.fetch_one(
        "insert into workers (name, host, pid, identity, place, process_started, started_at, seen_at, version, label, "
        "coordinator) values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) returning worker",
        *(name, who.host, who.pid, who.identity, who.place, who.started, at, at, version),
        *(label or None, guest.coordinator if guest else None),
    )
    return _number(row, "worker")


async def dead_workers(tx: Transaction, me: int, now: datetime, latest: datetime | None = None) -> list[int]:
    """Workers that never said that they end and do not live: processes of this machine that are gone, any not seen for long,
    and those of other machines that were seen after `latest`, which no clock but a wrong one says. One with our host name and
    another boot or container behind it may be our own earlier life, or a stranger: some silence tells."""
    at, never = to_micros(now), to_micros(latest or datetime.max.replace(tzinfo=UTC))
    rows = await tx.fetch("select * from workers where worker <> ? and ended_at is null order by worker", me)
    return [row["worker"] for row in rows if _is_dead(row, at, never)]


def _is_dead(row: Row, now: int, never: int) -> bool:
    silence, here = now - row["seen_at"], myself()
    if silence > _SILENT or row["host"] != here.host:
        return bool(silence > _SILENT or row["seen_at"] > never)
    if is_namesake(row):
        return bool(silence > _QUIET)
    identity, started = _known(row, "identity"), _known(row, "process_started")
    # Under an earlier number it was ourselves.
    is_own = row["pid"] == here.pid and identity in (None, here.identity)
    return is_own or not runs(row["pid"], started)


def is_guest(row: Row) -> bool:
    """Whether a worker has no database and gets its calls through another one."""
    return _known(row, "coordinator") is not None


def is_namesake(row: Row) -> bool:
    """Whether a worker has the name of our host and is not to be seen from here."""
    here = myself()
    return row["host"] == here.host and _known(row, "place") not in (None, here.place)


def _known(row: Row, name: str) -> Any:
    """A column that stores of earlier versions lack."""
    return row[name] if name in row.keys() else None  # noqa: SIM118 of such a row `in` looks at the values


async def end_workers(tx: Transaction, workers: Sequence[int], now: datetime) -> None:
    await tx.execute_many(
        "update workers set ended_at = ? where worker = ? and ended_at is null", [(to_micros(now), worker) for worker in workers]
    )


async def has_company(tx: Transaction, me: int) -> bool:
    """Whether another worker of the same crawl is still at it. Guests do not count: alone they can do nothing."""
    row = await tx.fetch_one(
        "select 1 as there from workers where ended_at is null and worker <> ? and coordinator is null "
        "and name = (select name from workers where worker = ?)",
        *(me, me),
    )
    return row is not None


async def time_run(tx: Transaction, name: str, me: int | None = None) -> timedelta:
    """How long a crawl has been run so far, by whomever but me; time in which several worked counts once.

    A worker's last sign of life ends its time: when it died is found out only later.
    """
    rows = await tx.fetch(
        "select started_at, seen_at from workers where name = ? and worker <> ? order by started_at", name, me or 0
    )
    total = reached = 0
    for row in rows:
        total += max(0, row["seen_at"] - max(row["started_at"], reached))
        reached = max(reached, row["seen_at"])
    return timedelta(microseconds=total)


async def heartbeat(tx: Transaction, worker: int, now: datetime) -> bool:
    """A sign of life; False when it comes too late: others have taken this worker for dead."""
    return await tx.execute("update workers set seen_at = ? where worker = ? and ended_at is null", to_micros(now), worker) == 1


async def read_crawl(tx: Transaction, crawl: int) -> CrawlRow:
    row = await tx.fetch_one(
        "select crawl, name, state, wanted, reason, calls, items, users, posts from crawls where crawl = ?", crawl
    )
    return _crawl_row(row)


async def set_state(tx: Transaction, crawl: int, state: CrawlState, reason: Failure | None, now: datetime) -> None:
    stored = None if reason is None else reason.to_json()
    await tx.execute(
        "update crawls set state = ?, reason = ?, updated_at = ? where crawl = ?", state, stored, to_micros(now), crawl
    )


async def set_wanted(tx: Transaction, crawl: int, wanted: CrawlState, now: datetime) -> None:
    """What `pause`, `resume` and `stop` do: the running process sees it within seconds."""
    await tx.execute("update crawls set wanted = ?, updated_at = ? where crawl = ?", wanted, to_micros(now), crawl)


async def left_alone(tx: Transaction) -> dict[int, int]:
    """By crawl: how many of its seeds asked not to be collected."""
    rows = await tx.fetch("select crawl, seeds_left_alone from crawls where seeds_left_alone > 0")
    return {row["crawl"]: row["seeds_left_alone"] for row in rows}


def _crawl_row(row: Row | None) -> CrawlRow:
    if row is None:
        raise LookupError("the crawl's row is gone from the database")
    states = {field: CrawlState(row[field]) for field in ("state", "wanted")}
    reason = stored_failure(row["reason"])
    return CrawlRow(**{field: row[field] for field in CrawlRow.__struct_fields__} | states | {"reason": reason})


def _number(row: Row | None, column: str) -> int:
    if row is None:
        raise LookupError(f"the database gave no {column}")
    number: int = row[column]
    return number


async def note_error(
    tx: Transaction, crawl: int, part: str, outcome: str | None, call: int | None, message: str, now: datetime
) -> None:
    """One line for the errors table: what was being done and what went wrong."""
    await tx.execute(
        "insert into errors (at, crawl, part, outcome, call, message) values (?, ?, ?, ?, ?, ?)",
        *(to_micros(now), crawl, part, outcome, call, message[:1000]),
    )


async def accept_credentials(tx: Transaction, used: Iterable[tuple[str, Iterable[str | None]]]) -> None:
    """A new start is a new chance: what these services refused before is tried again. `used`: whom each is asked as."""
    await tx.execute_many(
        "delete from credentials where credential = ? and service = (select service from services where name = ?)",
        sorted({(name, service) for service, names in used for name in names if name}),
    )


async def refuse_credential(tx: Transaction, service: str, credential: str, reason: str, now: datetime) -> None:
    """Tells everyone who looks that a service refused a credential; the running crawl no longer uses it there."""
    await tx.execute(
        "insert into credentials (service, credential, state, reason, since) "
        f"select service, ?, '{CredentialState.REFUSED}', ?, ? from services where name = ? "
        f"on conflict (service, credential) do update set state = '{CredentialState.REFUSED}', "
        "reason = excluded.reason, since = excluded.since",
        *(credential, reason[:500], to_micros(now), service),
    )
