"""Real crawls by the real command, each in a process of its own, with a crawl file and a store of its own."""

from __future__ import annotations

import os
import random
import signal
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path

from bowerbird.db import open_database
from bowerbird.evaluate.crash.child import CrawlProcess
from bowerbird.limits.vault import FileVault
from bowerbird.model import Credential, Secret, origin
from bowerbird.ports import Clock, Row

PATIENCE = timedelta(minutes=2)
_LOOK = timedelta(milliseconds=200)
_GLANCE = timedelta(milliseconds=20)
INTERRUPTED = 130
_OPEN = "select count(*) as tasks, sum(case when state in ('waiting', 'leased') then 1 else 0 end) as open from tasks"

EVERYTHING = """
seeds = ["profiles"]
[flow.facets.profiles]
[flow.facets.timeline]
hints = {limit = "20"}
[flow.facets.followers]
hints = {limit = "7"}
[flow.facets.following]
hints = {limit = "7"}
[[flow.edges]]
from = "profiles"
to = "timeline"
take = "asked"
[[flow.edges]]
from = "profiles"
to = "followers"
take = "asked"
[[flow.edges]]
from = "profiles"
to = "following"
take = "asked"
[[flow.edges]]
from = "followers"
to = "profiles"
take = "neighbours"
[[flow.edges]]
from = "following"
to = "profiles"
take = "neighbours"
"""
"""A flow that reaches everybody and asks everything about them, in small pages."""


class CrawlFailed(Exception):
    """A crawl did not end as it should; says what its process said last."""


class Crawls:
    """Crawls of one service, in one folder."""

    def __init__(self, folder: Path, clock: Clock) -> None:
        self._folder = folder
        self._clock = clock

    def written(self, name: str, flow: str, seeds: Sequence[str], base: str, more: str = "") -> Path:
        """The crawl file; `flow` is the inside of its `[flow]` table."""
        folder = self._folder / name
        folder.mkdir()
        (folder / "seeds.txt").write_text("".join(f"{seed}\n" for seed in seeds), "utf-8")
        file = folder / f"{name}.toml"
        told = f'store = "{name}.db"\nseeds.file = "seeds.txt"\n\n[flow]\n{flow}\n{_service(name, base)}{more}'
        file.write_text(told, "utf-8")
        return file

    def listening(self, name: str, flow: str, base: str, firehose: str) -> Path:
        """The file of a crawl that hears everything a host ever said, and goes on listening."""
        folder = self._folder / name
        folder.mkdir()
        file = folder / f"{name}.toml"
        stream = f'[[streams]]\nchannel = "firehose"\nbase = "{firehose}"\nstart = "oldest"\n'
        file.write_text(f'store = "{name}.db"\n\n[flow]\n{flow}\n{_service(name, base)}\n{stream}', "utf-8")
        return file

    def store(self, file: Path) -> str:
        return str(file.with_suffix(".db"))

    def add_credential(self, file: Path, values: Mapping[str, str], server: str) -> None:
        reader = Credential(name="reader", provider="bluesky", kind="user", servers=(origin(server),))
        FileVault(file.parent / "vault").add(reader, Secret(name="reader", values=dict(values)))

    async def run(self, file: Path) -> None:
        """Lets a crawl come to its end."""
        async with running(file) as process:
            await ended_well(process)

    async def run_until_idle(self, file: Path) -> None:
        """Lets a crawl that goes round for ever do everything once, then interrupts it as Ctrl-C does."""
        async with running(file) as process:
            give_up = self._clock.now() + PATIENCE
            while not await process.ends_within(_LOOK) and not await self._is_idle(file) and self._clock.now() < give_up:
                pass
            if process.code is None:
                os.kill(process.pid, signal.SIGINT)
            await ended_well(process, INTERRUPTED)

    async def run_killed(self, file: Path, kills: int, chance: random.Random) -> int:
        """Kills the crawl at random moments of its work, then lets it finish; answers how often it was killed."""
        for number in range(kills):
            async with running(file) as process:
                await self._is_under_way(file, process)
                if await process.ends_within(timedelta(seconds=chance.uniform(0, 1.2))):
                    raise CrawlFailed(f"{file.stem} ended before kill {number + 1} ({process.code}): {process.last_words()}")
        await self.run(file)
        return kills

    async def _is_under_way(self, file: Path, process: CrawlProcess) -> None:
        """Waits until a process that was just started has made a call."""
        before, give_up = await self.calls(file), self._clock.now() + PATIENCE
        while await self.calls(file) == before and self._clock.now() < give_up:
            if await process.ends_within(_GLANCE):
                return

    async def calls(self, file: Path) -> int:
        """How many calls the store knows of by now."""
        return await self._number(file, "select count(*) as found from calls")

    async def refusals(self, file: Path) -> int:
        """How many calls were refused by now."""
        return await self._number(file, "select count(*) as found from calls where outcome = 'rate_limited'")

    async def pause(self, time: timedelta) -> None:
        await self._clock.sleep_until(self._clock.now() + time)

    async def _is_idle(self, file: Path) -> bool:
        return await self._number(file, f"select case when tasks > 0 and open = 0 then 1 else 0 end as found from ({_OPEN})") == 1

    async def _number(self, file: Path, sql: str) -> int:
        # The last table of the first migration.
        row = await look(self.store(file), sql, "errors", self._clock)
        return int(row["found"]) if row else 0


def _service(name: str, base: str) -> str:
    return f'[service]\nname = "{name}"\nprovider = "bluesky"\nbase = "{base}"\n'


async def look(store: str, sql: str, table: str, clock: Clock) -> Row | None:
    """One row of a store that a crawl is writing to; None also while it is still making this table."""
    if not _exists(store):
        return None
    database = await open_database(store, clock)
    try:
        async with database.reading() as tx:
            is_made = await tx.fetch_one("select name from sqlite_master where name = ?", table)
            return await tx.fetch_one(sql) if is_made else None
    finally:
        await database.close()


def _exists(store: str) -> bool:
    return Path(store).exists()


@asynccontextmanager
async def running(file: Path) -> AsyncIterator[CrawlProcess]:
    """`bowerbird crawl` of a file; whatever happens, it is dead afterwards."""
    process = await CrawlProcess.start(file)
    try:
        yield process
    finally:
        await process.kill()


async def ended_well(process: CrawlProcess, code: int = 0) -> None:
    if not await process.ends_within(PATIENCE):
        raise CrawlFailed(f"not finished after {PATIENCE}: {process.last_words()}")
    if process.code != code:
        raise CrawlFailed(f"exit code {process.code}: {process.last_words()}")
