"""Does an exception of our own lose anything but its one call? A crawl in virtual time, broken at line after line of its settles.

Every other call is broken at a line that was never broken before. When a crawl has come to its end it is started once more, as a
user would, and its store is compared with that of a crawl to which nothing happened.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import CodeType

from msgspec import Struct, structs

from bowerbird.app import open_crawl, vocabulary
from bowerbird.clock import VirtualClock, run_virtual
from bowerbird.crawl.process.endings import Ending
from bowerbird.crawl.work.source import LocalWorkSource
from bowerbird.errors import Failure
from bowerbird.evaluate.crash.breaking import Breaker, BreakingTransport
from bowerbird.evaluate.crash.inventory import Inventory, compare, take_inventory
from bowerbird.evaluate.crash.scene import Scene
from bowerbird.evaluate.crash.tally import Tally
from bowerbird.evaluate.laboratory import BASE, Laboratory
from bowerbird.flows.files.crawl_file import CrawlPlan, parse_crawl
from bowerbird.model import CrawlState

SETTLING = (LocalWorkSource.settle.__code__,)
FAILING = (LocalWorkSource.drop.__code__,)
_START = datetime(2026, 11, 1, tzinfo=UTC)
_PATIENCE = timedelta(days=2)
"""Of virtual time: a crawl that has not ended by then is wedged."""


class Breaking(Struct, frozen=True, kw_only=True):
    """What is broken: every line under these functions; `spoils`: answers that no settle can digest."""

    under: Sequence[CodeType] = SETTLING
    spoils: bool = False
    every: int = 2
    stride: int = 1


class FaultRounds:
    """Crawls of one scene, broken one after the other."""

    def __init__(self, scene: Scene, fresh: Callable[[], str] = lambda: ":memory:") -> None:
        """`fresh`: where the next crawl may keep its store; one that is in memory cannot be started once more."""
        self._scene = scene
        self._fresh = fresh
        self._wanted: Inventory | None = None

    def run(self, breaking: Breaking, most_rounds: int, tally: Tally) -> None:
        """Goes on until no line is left that was not broken, or for so many crawls."""
        breaker = Breaker(every=breaking.every, under=breaking.under, stride=breaking.stride)
        for _ in range(most_rounds):
            before = len(breaker.lines)
            self._round(breaker, breaking, tally)
            tally.faults += len(breaker.lines) - before
            if len(breaker.lines) == before:
                return

    def _round(self, breaker: Breaker, breaking: Breaking, tally: Tally) -> None:
        self._wanted = self._wanted or self._untroubled()
        store, wanted = self._fresh(), self._wanted

        async def work(laboratory: Laboratory) -> None:
            found = await self._crawl(laboratory, store, tally, breaker, spoils=breaking.spoils)
            if store != ":memory:":
                found = await self._crawl(laboratory, store, tally)
            tally.judge(compare(found, wanted), laboratory.service.audit())

        tally.rounds += 1
        self._in_laboratory(work)

    async def _crawl(
        self, laboratory: Laboratory, store: str, tally: Tally, breaker: Breaker | None = None, *, spoils: bool = False
    ) -> Inventory:
        outside = laboratory.outside()
        if breaker is not None:
            outside = structs.replace(outside, transport=BreakingTransport(outside.transport, breaker, spoils=spoils))
        async with open_crawl(self._plan(laboratory, store), outside) as crawl:
            try:
                # Not before: what servers say of themselves is asked without a lease.
                with breaker.at_work() if breaker is not None else nullcontext():
                    async with asyncio.timeout(_PATIENCE.total_seconds()):
                        ending = await laboratory.run(crawl)
            except TimeoutError:
                ending = Ending.failed(Failure("deadlock", "it waits for itself"))
            if ending.state != CrawlState.FINISHED:
                tally.wedged += 1
                tally.note("wedged", f"{ending.state}: {ending.reason}")
            return await take_inventory(crawl.database)

    def _plan(self, laboratory: Laboratory, store: str) -> CrawlPlan:
        text = self._scene.crawl_file(laboratory.service, BASE, "crash.db")
        return structs.replace(parse_crawl(text, Path("crash.toml"), vocabulary()), store=store)

    def _untroubled(self) -> Inventory:
        found: list[Inventory] = []

        async def work(laboratory: Laboratory) -> None:
            found.append(await self._crawl(laboratory, ":memory:", Tally()))

        self._in_laboratory(work)
        return found[0]

    def _in_laboratory(self, work: Callable[[Laboratory], object]) -> None:
        async def main(clock: VirtualClock) -> None:
            await work(Laboratory(self._scene.setup(), clock))  # type: ignore[misc]

        run_virtual(main, start=_START)
