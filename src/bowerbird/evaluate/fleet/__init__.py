"""Does a fleet lose, double or overdraw anything, whatever befalls it? And how much more does it do than one worker?

Real processes over real HTTP on PostgreSQL: half of the workers have the database, half a coordinator. Every clock is wrong by
up to half a minute. While they crawl, processes are killed and stopped at random moments, the coordinator too; the crawl, a facet
or a worker is paused; the database crashes and comes back. In the end the store is compared, row by row, with that of one process
that nobody disturbed, and the service says who exceeded its limits.
"""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

from msgspec import Struct, structs

from bowerbird.clock import RealClock
from bowerbird.errors import UserError
from bowerbird.evaluate.crash.child import CrawlProcess
from bowerbird.evaluate.crash.inventory import Inventory
from bowerbird.evaluate.crash.rounds import opened_round
from bowerbird.evaluate.crash.scene import Scene
from bowerbird.evaluate.crash.stores import PostgresStores, SqliteStores
from bowerbird.evaluate.crash.tally import Tally
from bowerbird.evaluate.fleet.disturbing import Disturbing
from bowerbird.evaluate.fleet.scene import BOUND, UNBOUND, Fleet, Workforce
from bowerbird.evaluate.postgres import Server, run_postgres
from bowerbird.simulated.world import World
from bowerbird.store.opening import open_store

_PATIENCE = timedelta(minutes=5)
"""How long a fleet may take to finish when it is left alone."""
_PACE = "select settled_at from calls where state = 'settled' order by settled_at"
_MIDDLE = (0.5, 0.9)
"""The part of the calls in which the pace is measured: all processes are there by then, and there is still enough to ask."""
_MOST_TOLD = 20
_SLOTS = 2
"""Calls at once of each worker where the pace is measured: so that one worker waits for answers, not for a processor."""


class Manner(Struct, frozen=True, kw_only=True):
    """How an evaluation is made."""

    workers: int = 16
    kills: int = 30
    seed: int = 1
    measures_pace: bool = True
    accounts: int = BOUND.accounts
    keep: Path | None = None
    """Receives the folder of a round in which something was wrong."""
    say: Callable[[str], None] = print


def evaluate_fleet(manner: Manner) -> dict[str, Any]:
    """The figures: what was lost, doubled and overdrawn, what the fleet went through, and its pace against one worker."""
    with run_postgres() as server:
        return asyncio.run(_Evaluation(manner, server).run())


class _Evaluation:
    def __init__(self, manner: Manner, server: Server) -> None:
        self._manner = manner
        self._server = server
        self._clock = RealClock()
        self._stores = PostgresStores(server.url, self._clock, "fleet")

    async def run(self) -> dict[str, Any]:
        began = self._clock.now()
        scene = _sized(BOUND, self._manner.accounts)
        world = scene.world()
        tally, done = await self._disturbed(scene, world, await self._reference(scene, world))
        pace = await self._paces(_sized(UNBOUND, self._manner.accounts)) if self._manner.measures_pace else {}
        seconds = (self._clock.now() - began).total_seconds()
        return {**tally.figures(), "workers": self._manner.workers, **done, **pace, "seconds": round(seconds, 1)}

    async def _reference(self, scene: Scene, world: World) -> Inventory:
        tally = Tally()
        with tempfile.TemporaryDirectory(prefix="bb-fleet-") as name:
            async with opened_round(scene, world, SqliteStores(self._clock), Path(name), self._clock) as round_:
                await round_.finish(tally, await CrawlProcess.start(round_.file))
                inventory = await round_.inventory()
                round_.judge(inventory, inventory, tally)
        if not tally.is_clean:
            raise UserError(f"the undisturbed run is not in order, nothing can be compared: {tally.figures()}")
        self._manner.say(f"undisturbed: {tally.items:,} items with {tally.calls} calls")
        return inventory

    async def _disturbed(self, scene: Scene, world: World, wanted: Inventory) -> tuple[Tally, dict[str, Any]]:
        manner, tally, folder = self._manner, Tally(rounds=1), Path(tempfile.mkdtemp(prefix="bb-fleet-"))
        try:
            async with opened_round(scene, world, self._stores, folder, self._clock) as round_:
                fleet = Fleet(round_, _halves(manner), self._clock)
                disturbing = Disturbing(fleet, self._server, round_.store, self._clock, manner.seed)
                try:
                    await fleet.start()
                    await disturbing.run(manner.kills)
                    await self._finish(fleet, tally)
                finally:
                    await asyncio.gather(*(each.kill() for each in fleet.everybody))
                round_.judge(await round_.inventory(), wanted, tally)
            tally.kills = disturbing.done["kills"] + disturbing.done["kills of the coordinator"]
            self._keep(folder, tally)
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        done: dict[str, Any] = {name.replace(" ", "_"): n for name, n in disturbing.done.items() if name != "kills"}
        manner.say(
            f"disturbed: {tally.items:,} items with {tally.calls} calls, {tally.lost_calls} of them lost; "
            f"{dict(disturbing.done)}; {len(fleet.restarted)} ended badly by themselves and were started again"
        )
        return tally, done | {"restarts": len(fleet.restarted), "restarted": fleet.restarted[:_MOST_TOLD]}

    async def _finish(self, fleet: Fleet, tally: Tally) -> None:
        """Lets everybody come to the end; whoever does not, or not well, is noted."""
        for each in await fleet.come_to_the_end(_PATIENCE):
            tally.wedged += 1
            tally.note("wedged", f"{each.part.name}: {each.last_words()}")
        for each in fleet.everybody:
            if each.code:
                tally.failed += 1
                tally.note("failed", f"{each.part.name}: exit code {each.code}: {each.last_words()}")

    def _keep(self, folder: Path, tally: Tally) -> None:
        if tally.is_clean:
            return
        self._manner.say(f"  what was wrong: {tally.examples}")
        if self._manner.keep is not None:
            shutil.copytree(folder, self._manner.keep / folder.name)

    async def _paces(self, scene: Scene) -> dict[str, float]:
        """Calls settled per second: by one worker, and by all of them."""
        world, manner = scene.world(), self._manner
        alone = await self._pace(scene, world, Workforce(with_database=1, through_coordinator=0, at_once=_SLOTS))
        together = await self._pace(scene, world, _halves(manner, _SLOTS))
        manner.say(f"pace: {alone:.1f} calls a second by one worker, {together:.1f} by {manner.workers}")
        return {
            "calls_per_second": round(together, 1),
            "calls_per_second_of_one": round(alone, 1),
            "ratio": round(together / alone, 2),
        }

    async def _pace(self, scene: Scene, world: World, workforce: Workforce) -> float:
        folder = Path(tempfile.mkdtemp(prefix="bb-fleet-"))
        try:
            async with opened_round(scene, world, self._stores, folder, self._clock) as round_:
                fleet = Fleet(round_, workforce, self._clock)
                try:
                    await (fleet.start() if workforce.through_coordinator else fleet.alone())
                    await fleet.come_to_the_end(_PATIENCE)
                finally:
                    await asyncio.gather(*(each.kill() for each in fleet.everybody))
                async with open_store(round_.store, self._clock) as database, database.reading() as tx:
                    times = [int(row["settled_at"]) for row in await tx.fetch(_PACE)]
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        first, last = (round(len(times) * share) for share in _MIDDLE)
        return (last - first) / ((times[last] - times[first]) / 1e6)


def _sized(scene: Scene, accounts: int) -> Scene:
    return structs.replace(scene, accounts=accounts)


def _halves(manner: Manner, at_once: int = 8) -> Workforce:
    half = manner.workers // 2
    return Workforce(with_database=manner.workers - half, through_coordinator=half, at_once=at_once, seed=manner.seed)
