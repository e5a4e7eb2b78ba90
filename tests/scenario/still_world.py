"""A small world that stands still, crawled without trouble in virtual time: what every troubled crawl of it must end with."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

import msgspec

from bowerbird.app import vocabulary
from bowerbird.clock import VirtualClock, run_virtual
from bowerbird.evaluate.crash.inventory import Differences, Inventory, compare, take_inventory
from bowerbird.evaluate.crash.scene import Scene
from bowerbird.evaluate.laboratory import BASE, Laboratory
from bowerbird.flows.files.crawl_file import CrawlPlan, parse_crawl
from bowerbird.ports import Database
from bowerbird.simulated.faults import Faults
from bowerbird.simulated.scale import Scale

START = datetime(2026, 11, 1, tzinfo=UTC)
MASTODON = Scene(dialect="mastodon", scale=Scale(limits=0.1, windows=0.01), posts=20, edges=4, accounts=18)
SHORT = msgspec.structs.replace(MASTODON, accounts=14, posts=40, edges=20)
"""Done in a few seconds of real time."""
TWITTER = Scene(dialect="twitter_v1", scale=Scale(limits=0.6, windows=1 / 300), posts=25, edges=4, accounts=24)


def plan_of(laboratory: Laboratory, scene: Scene, store: str = ":memory:", *, knows_allowances: bool = True) -> CrawlPlan:
    text = scene.crawl_file(laboratory.service, BASE, "crash.db")
    if not knows_allowances:
        text = re.sub(r"^allowance = \d+$", "", text, flags=re.MULTILINE)
    return msgspec.structs.replace(parse_crawl(text, Path("crash.toml"), vocabulary()), store=store)


def in_laboratory(scene: Scene, work: Callable[[Laboratory], Awaitable[Any]], faults: Faults | None = None) -> Any:
    """Runs the work in virtual time, beside a service of the scene."""

    async def main(clock: VirtualClock) -> Any:
        setup = scene.setup()
        return await work(Laboratory(msgspec.structs.replace(setup, faults=faults or setup.faults), clock))

    return run_virtual(main, start=START)


@cache
def untroubled(scene: Scene) -> Inventory:
    """The store of a crawl to which nothing happened."""

    async def work(laboratory: Laboratory) -> Inventory:
        async with laboratory.crawl(plan_of(laboratory, scene)) as crawl:
            assert (await laboratory.run(crawl)).state == "finished"
            return await take_inventory(crawl.database)

    inventory: Inventory = in_laboratory(scene, work)
    return inventory


def in_trouble(scene: Scene, work: Callable[[Laboratory], Awaitable[Any]], faults: Faults | None = None) -> Any:
    """The same, for work that compares what it has collected with the untroubled crawl."""
    untroubled(scene)
    return in_laboratory(scene, work, faults)


async def differences(database: Database, scene: Scene) -> Differences:
    return compare(await take_inventory(database), untroubled(scene))


async def column(database: Database, sql: str) -> list[Any]:
    async with database.reading() as tx:
        return [row[0] for row in await tx.fetch(sql)]
