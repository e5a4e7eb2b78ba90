"""A PostgreSQL server that crashes for good, and its streaming standby, which takes over: nothing that was settled is lost."""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path

import pytest
from msgspec import structs

from bowerbird.clock import RealClock
from bowerbird.crawl.process.patience import patiently
from bowerbird.db import open_database
from bowerbird.evaluate.crash.child import CrawlProcess
from bowerbird.evaluate.crash.inventory import Inventory
from bowerbird.evaluate.crash.rounds import Round, opened_round
from bowerbird.evaluate.crash.stores import SqliteStores, Stores
from bowerbird.evaluate.crash.tally import Tally
from bowerbird.evaluate.fleet.scene import BOUND
from bowerbird.evaluate.postgres import Pair, run_replicated

_ADD = "insert into errors (at, crawl, part, outcome, call, message) values (?, ?, ?, ?, ?, ?)"

_ANSWERS = 25


async def _written(pair: Pair) -> int:
    """How many of ten rows are there, five of them written before a failover and five after, over the same pool."""
    clock = RealClock()
    database = await open_database(pair.url, clock)
    await database.create_tables()

    async def write() -> None:
        async with database.transaction() as tx:
            await tx.execute(_ADD, 1, 1, "part", None, None, "word")

    for _ in range(5):
        await write()
    await asyncio.to_thread(pair.fail_over)
    for _ in range(5):
        await patiently(write, clock, lambda why, at: None)
    async with database.reading() as tx:
        rows = await tx.fetch("select error from errors")
    await database.close()
    return len(rows)


@pytest.mark.timeout(200)
def test_a_process_finds_the_server_that_took_over_and_what_was_committed_is_there() -> None:
    with run_replicated() as pair:
        assert asyncio.run(_written(pair)) == 10


class _PairStores(SqliteStores):
    """The database of the pair, whichever of them takes writes."""

    def __init__(self, pair: Pair) -> None:
        super().__init__(RealClock())
        self._pair = pair

    async def fresh(self, folder: Path) -> str:
        return self._pair.url


async def _crawled(stores: Stores, pair: Pair | None, wanted: Inventory | None) -> tuple[Inventory, Tally]:
    """A crawl to its end, through a failover if there is a pair."""
    clock, tally, scene = RealClock(), Tally(), structs.replace(BOUND, accounts=40)
    with tempfile.TemporaryDirectory(prefix="bb-fleet-") as name:
        async with opened_round(scene, scene.world(), stores, Path(name), clock) as round_:
            process = await CrawlProcess.start(round_.file)
            await _fail_over_at_work(round_, process, pair)
            await round_.finish(tally, process)
            found = await round_.inventory()
            round_.judge(found, wanted or found, tally)
    return found, tally


async def _fail_over_at_work(round_: Round, process: CrawlProcess, pair: Pair | None) -> None:
    if pair is not None:
        # In the middle of its work: what goes away while a process starts ends it, and whoever looks after it starts it again.
        for _ in range(_ANSWERS):
            await round_.first_call(process)
        await asyncio.to_thread(pair.fail_over)


@pytest.mark.long
@pytest.mark.timeout(600)
def test_a_crawl_goes_through_a_failover_without_losing_doubling_or_overdrawing_anything() -> None:
    wanted, undisturbed = asyncio.run(_crawled(SqliteStores(RealClock()), None, None))
    assert undisturbed.is_clean
    with run_replicated() as pair:
        _, tally = asyncio.run(_crawled(_PairStores(pair), pair, wanted))
    assert tally.is_clean, tally.examples
    assert tally.calls
