"""A fleet on one machine: a simulated service, PostgreSQL, a coordinator, and workers of both kinds."""

from __future__ import annotations

import random
import socket
from collections.abc import AsyncIterator, Iterator
from datetime import timedelta
from pathlib import Path

from msgspec import Struct

from bowerbird.evaluate.crash.rounds import Round
from bowerbird.evaluate.crash.scene import Scene
from bowerbird.evaluate.fleet.processes import FleetProcess, Part
from bowerbird.limits.vault import FileVault
from bowerbird.ports import Clock, Database
from bowerbird.remote import tokens
from bowerbird.simulated.scale import Scale
from bowerbird.store.opening import open_store

CRAWL = "crash"
_SKEW = 30.0
"""Seconds by which clocks are wrong at most."""
BOUND = Scene(dialect="mastodon", scale=Scale(limits=0.1, windows=0.01), posts=20, accounts=150)
"""Limits that bind, in windows of seconds."""
UNBOUND = Scene(dialect="mastodon", scale=Scale(limits=100, windows=1), posts=20, accounts=150)
"""Limits that nobody comes near: for how much a fleet can do."""
_READY = "select count(*) as tasks from tasks"
_PLANNED = "select count(*) as planned from plans where whole is not null"
_LOOK = timedelta(milliseconds=100)
_RESTARTS = 3
_LAST_WORDS = 300


class Workforce(Struct, frozen=True, kw_only=True):
    """How many of which kind work, and how wrong their clocks are."""

    with_database: int
    through_coordinator: int
    at_once: int = 8
    seed: int = 1


class Fleet:
    """The processes of one round."""

    def __init__(self, round_: Round, workforce: Workforce, clock: Clock) -> None:
        self._round = round_
        self._workforce = workforce
        self._clock = clock
        self._folder = round_.file.parent
        self._random = random.Random(workforce.seed)
        self._port = _free_port()
        self.coordinator: FleetProcess | None = None
        self.workers: list[FleetProcess] = []
        self.restarted: list[str] = []
        """Who ended badly without being killed, how and with which last words, and was started again."""

    @property
    def everybody(self) -> list[FleetProcess]:
        return ([self.coordinator] if self.coordinator is not None else []) + self.workers

    async def start(self) -> None:
        """The crawl is begun by its coordinator, then everybody else comes."""
        async with open_store(self._round.store, self._clock) as database:
            arguments = ("serve", str(self._round.file), "--port", str(self._port), "--quiet")
            if self._workforce.through_coordinator:
                self.coordinator = self._process("coordinator", arguments, self._folder / "vault")
                await self.coordinator.start()
                await self._begun(database)
            self.workers = [*self._with_database(), *[each async for each in self._through_coordinator(database)]]
        for worker in self.workers:
            await worker.start()

    async def come_to_the_end(self, most: timedelta) -> list[FleetProcess]:
        """Lets everybody end by himself, and starts again who ended badly, as a service manager does; those who did not end."""
        give_up = self._clock.now() + most
        while self._clock.now() < give_up:
            fallen = [each for each in self.everybody if each.code and each.starts - each.kills <= _RESTARTS]
            if not fallen and all(each.code is not None for each in self.everybody):
                break
            for each in fallen:
                self.restarted.append(f"{each.part.name}: exit code {each.code}: {each.last_words()[-_LAST_WORDS:]}")
                await each.start()
            await self._clock.sleep_until(self._clock.now() + _LOOK)
        return [each for each in self.everybody if each.code is None]

    async def alone(self) -> None:
        """One worker with the crawl file, and nobody else."""
        self.workers = [self._process("alone", ("crawl", str(self._round.file), "--quiet"), self._folder / "vault")]
        await self.workers[0].start()

    def _with_database(self) -> Iterator[FleetProcess]:
        at_once = ("--at-once", str(self._workforce.at_once), "--quiet")
        for number in range(self._workforce.with_database):
            arguments = ("worker", "--store", self._round.store, CRAWL, "--name", f"d{number}", *at_once)
            yield self._process(f"d{number}", arguments, self._folder / "vault")

    async def _through_coordinator(self, database: Database) -> AsyncIterator[FleetProcess]:
        at_once = ("--at-once", str(self._workforce.at_once), "--quiet")
        for number in range(self._workforce.through_coordinator):
            name = f"c{number}"
            async with database.transaction() as tx:
                token = await tokens.add(tx, name, self._clock.now())
            (self._folder / f"{name}.token").write_text(token, "utf-8")
            where = ("--coordinator", f"http://127.0.0.1:{self._port}", "--token-file", str(self._folder / f"{name}.token"))
            yield self._process(name, ("worker", *where, *at_once), self._vault(name, number))

    def _vault(self, name: str, number: int) -> Path:
        """A vault with one of the credentials: each worker brings its own."""
        whole = FileVault(self._folder / "vault")
        known = list(whole.credentials())
        mine = known[number % len(known)]
        FileVault(self._folder / f"{name}.vault").add(mine, whole.secret(mine.name))
        return self._folder / f"{name}.vault"

    def _process(self, name: str, arguments: tuple[str, ...], vault: Path) -> FleetProcess:
        ahead = timedelta(seconds=round(self._random.uniform(-_SKEW, _SKEW), 1))
        return FleetProcess(Part(name=name, arguments=arguments, ahead=ahead, vault=vault, folder=self._folder))

    async def _begun(self, database: Database) -> None:
        """Waits until the crawl has its plan and its seeds in the database: who comes before finds nothing to do."""
        while self.coordinator is not None and self.coordinator.code is None:
            async with database.reading() as tx:
                tasks, plans = await tx.fetch_one(_READY), await tx.fetch_one(_PLANNED)
            if tasks and plans and tasks["tasks"] and plans["planned"]:
                return
            await self._clock.sleep_until(self._clock.now() + _LOOK)


def _free_port() -> int:
    with socket.socket() as door:
        door.bind(("127.0.0.1", 0))
        return int(door.getsockname()[1])
