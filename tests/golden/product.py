"""Every name of bowerbird that golden outputs and random stores use, in one place.

Golden outputs are read as a user reads them: by command lines and their files. Only what needs the
time of the crawl instead of the time of the machine (status, card) and what would take one command
per row (history) is called directly. When code is renamed, this module is the only one to change.
For comparisons with an older commit (`tests/compare_stores.py`) it must also work there: import the
new name first, and the old one if that fails.
"""

from __future__ import annotations

import asyncio
import io
import json
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager, redirect_stderr, redirect_stdout
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import asyncpg
import msgspec

from bowerbird.app import Outside, open_crawl, vocabulary
from bowerbird.cli import run as run_command_line
from bowerbird.cli.commands.crawling.status import read_page, status_values
from bowerbird.cli.which import find_store, read_store
from bowerbird.clock import VirtualClock, run_virtual
from bowerbird.evaluate.laboratory import TokenVault
from bowerbird.evaluate.postgres import start_postgres
from bowerbird.flows.files.crawl_file import parse_crawl
from bowerbird.model import Answer, Credential, Request, Secret, Service
from bowerbird.reports.dataset.facts import read_facts
from bowerbird.reports.histories.changes import find_history
from bowerbird.simulated.faults import Faults
from bowerbird.simulated.service import Setup, SimulatedService, simulate
from bowerbird.simulated.serving.transport import InProcessTransport
from bowerbird.simulated.world import World, WorldSettings
from bowerbird.simulated.world.settings import PlannedEvent

try:
    from bowerbird.reports.completeness.facets import (
        facet_of,  # until completeness became one module
    )
except ImportError:
    facet_of = None

__all__ = [
    "Answer",
    "Faults",
    "InProcessTransport",
    "PlannedEvent",
    "Request",
    "Service",
    "Setup",
    "SimulatedService",
    "VirtualClock",
    "World",
    "WorldSettings",
    "card_facts",
    "command",
    "crawl",
    "histories",
    "new_postgres_database",
    "rows",
    "run_virtual",
    "simulate",
    "start_postgres",
    "status",
]

_NO_OTHER_PROCESS = timedelta(days=1)
_WATCH_EVERY = timedelta(minutes=10)


def command(*arguments: object) -> Any:
    """Run a command line in this process and return its JSON output; without `--json` its text."""
    words = [str(each) for each in arguments]
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        code = run_command_line(words)
    if code != 0:
        raise RuntimeError(f"bowerbird {' '.join(words)} ended with {code}: {err.getvalue()}")
    return json.loads(out.getvalue().splitlines()[-1]) if "--json" in words else out.getvalue()


def status(store: str, now: datetime) -> dict[str, Any]:
    """Return the values of `bowerbird status --json` at a time of the crawl."""

    async def read(clock: VirtualClock) -> dict[str, Any]:
        place = find_store(store)
        return _plain(status_values(place, await read_page(place, clock)))

    return run_virtual(read, start=now)


def card_facts(store: str, now: datetime) -> dict[str, Any]:
    """Return what the dataset card of a store is written from."""

    async def read(clock: VirtualClock) -> dict[str, Any]:
        async with read_store(find_store(store), clock) as database:
            facets = () if facet_of is None else (facet_of,)
            facts = await read_facts(database, *facets, clock.now())
        deleted = [
            {"subject": subject, "reason": reason, "count": n}
            for (subject, reason), n in facts.deleted.items()
        ]
        return _plain(msgspec.structs.asdict(facts)) | {"deleted": deleted}

    return run_virtual(read, start=now)


def histories(store: str, ids: Iterable[str], now: datetime) -> list[dict[str, Any]]:
    """Return the values of `bowerbird history --json` for several accounts and posts."""

    async def read(clock: VirtualClock) -> list[dict[str, Any]]:
        async with read_store(find_store(store), clock) as database:
            return [_plain(each) for id_ in ids for each in await find_history(database, id_, None)]

    return run_virtual(read, start=now)


def rows(store: str, sql: str) -> list[dict[str, Any]]:
    """Return the rows of a view."""

    async def read(clock: VirtualClock) -> list[dict[str, Any]]:
        async with read_store(find_store(store), clock) as database, database.reading() as tx:
            return [dict(row) for row in await tx.fetch(sql)]

    return run_virtual(read)


def new_postgres_database(server: str, name: str) -> str:
    """Create an empty database on a server of `start_postgres` and return its address."""

    async def create() -> None:
        connection = await asyncpg.connect(server)
        await connection.execute(f"create database {name}")
        await connection.close()

    asyncio.run(create())
    return server.replace("/postgres?", f"/{name}?")


def _plain(value: Any) -> Any:
    return msgspec.json.decode(msgspec.json.encode(value, enc_hook=str))


class _Killed(BaseException):
    """The process of a crawl is gone."""


class _MortalClock:
    """A clock whose process dies at a time."""

    def __init__(self, clock: VirtualClock, death: datetime) -> None:
        self._clock = clock
        self._death = death

    def __getattr__(self, name: str) -> Any:
        return getattr(self._clock, name)

    def now(self) -> datetime:
        if self._clock.now() >= self._death:
            raise _Killed
        return self._clock.now()


class _Vault:
    """The tokens of several simulated services, named after them: `x1`, `x2`, `mastodon1` …"""

    def __init__(self, services: Mapping[str, SimulatedService], bases: Mapping[str, str]) -> None:
        self._vaults = {
            name: TokenVault(
                service.dialect.name.partition("_")[0],
                list(service.tokens),
                name=name,
                base=bases[name],
            )
            for name, service in services.items()
        }

    def credentials(self) -> Sequence[Credential]:
        return [each for vault in self._vaults.values() for each in vault.credentials()]

    def secret(self, name: str) -> Secret:
        return self._vaults[name.rstrip("0123456789")].secret(name)

    def keep(self, secret: Secret) -> None:
        self._vaults[secret.name.rstrip("0123456789")].keep(secret)


async def crawl(
    clock: VirtualClock,
    file: str,
    services: Mapping[str, SimulatedService],
    bases: Mapping[str, str],
    store: str,
    *,
    transport: InProcessTransport | None = None,
    killed_at: datetime | None = None,
) -> None:
    """Run the crawl of a crawl file, against simulated services, until it ends or is killed."""
    plan = msgspec.structs.replace(
        parse_crawl(file, Path("golden.toml"), vocabulary()), store=store
    )
    outside = Outside(
        clock=clock if killed_at is None else _MortalClock(clock, killed_at),
        transport=transport or InProcessTransport(services, clock),
        vault=_Vault(services, bases),
        glance=_NO_OTHER_PROCESS if killed_at is None else timedelta(seconds=30),
    )
    async with _ended_tasks(), open_crawl(plan, outside) as opened:
        await opened.process.run(opened.seeds, slots=plan.concurrency, watch_every=_WATCH_EVERY)


def _tell_of_others(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """Report the errors of tasks, but not that their process was killed."""
    if not isinstance(context.get("exception"), _Killed):
        loop.default_exception_handler(context)


@asynccontextmanager
async def _ended_tasks() -> AsyncIterator[None]:
    """End a killed crawl and the tasks that it left behind."""
    others = asyncio.all_tasks()
    asyncio.get_running_loop().set_exception_handler(_tell_of_others)
    try:
        yield
    except _Killed:
        pass
    finally:
        left = asyncio.all_tasks() - others
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)
