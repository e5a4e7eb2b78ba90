"""Does `kill -9` lose, double or overdraw anything? Real crawl processes over real HTTP, killed at random moments.

The service lives in this process, the crawl in a child that is killed with SIGKILL again and again, at moments spread from
its first instruction over recovery into the middle of its work, and at last left to finish. Then its store is compared, row
by row, with that of a run nobody interrupted. Each round starts with a fresh store and a fresh service; the limits are real
ones in windows of a few seconds, and the service itself counts who exceeds them.
"""

from __future__ import annotations

import asyncio
import random
import shutil
import tempfile
from collections.abc import Callable
from contextlib import nullcontext
from itertools import count
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from bowerbird.clock import RealClock
from bowerbird.errors import UserError
from bowerbird.evaluate.crash.child import CrawlProcess
from bowerbird.evaluate.crash.faults import FAILING, Breaking, FaultRounds
from bowerbird.evaluate.crash.rounds import Moments, Reference, opened_round
from bowerbird.evaluate.crash.scene import BROKEN, SCENES, Scene
from bowerbird.evaluate.crash.stopping import Stopping
from bowerbird.evaluate.crash.stores import PostgresStores, SqliteStores, Stores
from bowerbird.evaluate.crash.tally import Tally
from bowerbird.evaluate.postgres import start_postgres

_KILLS_PER_ROUND = 25

Say = Callable[[str], None]


class Manner(Struct, frozen=True, kw_only=True):
    """How an evaluation is made."""

    seed: int = 1
    keep: Path | None = None
    """Receives the folders of rounds in which something was wrong."""
    say: Say = print
    scenes: tuple[Scene, ...] = SCENES
    """Crawled in turn."""
    stops: int = 3
    """How many workers are stopped in one round."""
    fault_rounds: int = 40
    """How many crawls are broken at most; when every line was, it ends earlier."""


def evaluate_crash(kills: int, postgres_kills: int, manner: Manner) -> dict[str, Any]:
    """Kills, stops and breaks crawls on both kinds of database so many times; the figures."""
    with start_postgres() if postgres_kills else nullcontext() as url:
        broken = _broken(manner, url)
        return asyncio.run(_Evaluation(manner).run(kills, postgres_kills, url, broken))


def _broken(manner: Manner, url: str | None) -> dict[str, Tally]:
    """Exceptions at every line of a settle on SQLite, and at some of them on PostgreSQL."""
    tallies = {"sqlite": Tally()}
    with tempfile.TemporaryDirectory(prefix="bb-crash-") as folder:
        numbers = count(1)
        rounds = FaultRounds(BROKEN, lambda: str(Path(folder) / f"{next(numbers)}.db"))
        rounds.run(Breaking(), manner.fault_rounds, tallies["sqlite"])
        rounds.run(Breaking(under=FAILING, spoils=True), manner.fault_rounds, tallies["sqlite"])
    if url is not None:
        stores, tallies["postgresql"] = PostgresStores(url, RealClock(), "broken"), Tally()
        rounds = FaultRounds(BROKEN, lambda: asyncio.run(stores.fresh(Path())))
        rounds.run(Breaking(stride=10), min(2, manner.fault_rounds), tallies["postgresql"])
    for name, tally in tallies.items():
        manner.say(f"{name}: exceptions at {tally.faults} lines of a settle: {_faults(tally)}, {tally.wedged} wedged")
    return tallies


class _Evaluation:
    """The rounds of one evaluation, one after the other."""

    def __init__(self, manner: Manner) -> None:
        self._random = random.Random(manner.seed)
        self._keep = manner.keep
        self._say = manner.say
        self._scenes = manner.scenes
        self._stops = manner.stops
        self._clock = RealClock()
        self._references: dict[str, Reference] = {}

    async def run(self, kills: int, postgres_kills: int, url: str | None, tallies: dict[str, Tally]) -> dict[str, Any]:
        began = self._clock.now()
        tallies["sqlite"].add(await self._rounds(SqliteStores(self._clock), kills))
        if url is not None:
            tallies["postgresql"].add(await self._rounds(PostgresStores(url, self._clock), postgres_kills))
        return _figures(tallies) | {"seconds": round((self._clock.now() - began).total_seconds(), 1)}

    async def _rounds(self, stores: Stores, kills: int) -> Tally:
        whole = Tally()
        while whole.kills < kills:
            scene = self._scenes[whole.rounds % len(self._scenes)]
            tally = await self._round(stores, await self._reference(scene), min(_KILLS_PER_ROUND, kills - whole.kills))
            whole.add(tally)
            self._say(f"{stores.name}: {_told(tally, scene)}. So far {whole.kills} kills: {_faults(whole)}")
        for scene in self._scenes if self._stops else ():
            tally = await self._round(stores, await self._reference(scene), 0)
            whole.add(tally)
            self._say(
                f"{stores.name}: {tally.stops} workers of a {scene.dialect} crawl stopped beyond their death: {_faults(tally)}"
            )
        return whole

    async def _round(self, stores: Stores, reference: Reference, most: int) -> Tally:
        """Killed at most so many times; if never, its workers are stopped instead."""
        tally = Tally(rounds=1)
        folder = Path(tempfile.mkdtemp(prefix="bb-crash-"))
        try:
            async with opened_round(reference.scene, reference.world, stores, folder, self._clock) as round_:
                moments = Moments(self._random, reference.start_up)
                if most:
                    await round_.kill(stores, moments, most, tally)
                else:
                    await Stopping(round_, round_.store, moments, self._clock).run(self._stops, tally)
                await round_.finish(tally)
                round_.judge(await round_.inventory(), reference.inventory, tally)
            if not tally.is_clean:
                self._keep_round(folder, stores, tally)
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        return tally

    def _keep_round(self, folder: Path, stores: Stores, tally: Tally) -> None:
        if self._keep is None:
            self._say(f"  what was wrong: {tally.examples}; keep such rounds with --keep FOLDER")
            return
        (folder / "figures.json").write_bytes(msgspec.json.format(msgspec.json.encode(tally.figures())))
        kept = self._keep / f"{stores.name}-{folder.name}"
        shutil.copytree(folder, kept)
        self._say(f"  what was wrong: {tally.examples}; kept in {kept}")

    async def _reference(self, scene: Scene) -> Reference:
        """The uninterrupted run of a scene, made when it is first needed."""
        if scene.dialect not in self._references:
            self._references[scene.dialect] = await self._uninterrupted(scene)
        return self._references[scene.dialect]

    async def _uninterrupted(self, scene: Scene) -> Reference:
        world, tally, began = scene.world(), Tally(), self._clock.now()
        with tempfile.TemporaryDirectory(prefix="bb-crash-") as name:
            async with opened_round(scene, world, SqliteStores(self._clock), Path(name), self._clock) as round_:
                process = await CrawlProcess.start(round_.file)
                start_up = await round_.first_call(process)
                await round_.finish(tally, process)
                inventory = await round_.inventory()
                round_.judge(inventory, inventory, tally)
        if not tally.is_clean:
            raise UserError(f"the uninterrupted {scene.dialect} run is not in order, nothing can be compared: {tally.figures()}")
        took = (self._clock.now() - began).total_seconds()
        self._say(f"uninterrupted {scene.dialect} run: {tally.items:,} items with {tally.calls} calls in {took:.0f} s")
        return Reference(scene=scene, world=world, inventory=inventory, start_up=start_up)


def _told(tally: Tally, scene: Scene) -> str:
    in_flight = f"{tally.kills_in_flight} of them with calls in flight"
    return f"a {scene.dialect} crawl of {tally.items:,} items finished after {tally.kills} kills, {in_flight}"


def _faults(tally: Tally) -> str:
    faults = f"{tally.lost} lost, {tally.doubled} doubled, {tally.over_limit} over limit"
    return faults if tally.is_clean else f"{faults} (NOT CLEAN)"


def _figures(tallies: dict[str, Tally]) -> dict[str, Any]:
    whole = Tally()
    for tally in tallies.values():
        whole.add(tally)
    return whole.figures() | {name: tally.figures() for name, tally in tallies.items()}
