"""Queues rebuilt beside the calls: who was listed before the flow led there is found, however often the rebuild is killed."""

from __future__ import annotations

import asyncio
from contextlib import suppress

from msgspec import structs
from stream_scene import FLOW, SECOND, SERVICE, START, Scene, play

from bowerbird.clock import to_micros
from bowerbird.crawl.access.signing import Caller
from bowerbird.crawl.life.rebuilding import Queues, Rebuilder, queues_of
from bowerbird.crawl.process.stop_rules import StopRules
from bowerbird.crawl.process.worker import Worker
from bowerbird.crawl.seeding.seeder import FlowSeeder
from bowerbird.crawl.work.lanes import ServedLanes
from bowerbird.crawl.work.servers.server_watch import ServerWatch
from bowerbird.crawl.work.settling import Settler
from bowerbird.crawl.work.source import LocalWorkSource
from bowerbird.crawl.work.targets import Targets
from bowerbird.db.sqlite.short_columns import written
from bowerbird.flows.flow import Stop
from bowerbird.policies.registry import ranker
from bowerbird.ports import Part
from bowerbird.store.posts.recall import CHUNK, Recall

HEARING = 90
AUTHORS = CHUNK + 100
"""More than are looked through at once."""


async def fill(scene: Scene) -> None:
    """Every author was heard once, in the order of their numbers; the first of all once more, last of all."""
    authors = [*range(1, AUTHORS + 1), 1]
    users = [(number, f"x:{number}") for number in range(1, AUTHORS + 1)]
    posts = [(number, f"x:1{number:06}", author) for number, author in enumerate(authors, start=1)]
    listed = [(number, HEARING, to_micros(START + number * SECOND)) for number in range(1, len(authors) + 1)]
    names = ("post_no", "id", "network", "author", "kind", "found_at", "found_by", "seen_at", "seen_by")
    columns = ", ".join(written(scene.database.dialect, name) for name in names)
    async with scene.database.transaction() as tx:
        await tx.execute_many("insert into users (user_no, id, network, found_at) values (?, ?, 'x', 0)", users)
        await tx.execute_many(
            f"insert into posts ({columns}) values (?, ?, 'x', ?, 'post', 0, 1, 0, 1)",
            posts,
        )
        await tx.execute_many("insert into sightings (post_no, lane, at, call) values (?, ?, ?, 1)", listed)


async def start(scene: Scene) -> tuple[Rebuilder, list[Queues]]:
    """The rebuilder of a new worker whose lane of profiles asks who comes again first."""
    await scene.streamer()
    books, asked = scene.hearing.books, scene.hearing.targets.lanes.asked
    lanes = {lane.facet.name: number for number, lane in asked.items()}
    profile = structs.replace(asked[lanes["profile"]], ranker=ranker("repeat_first"))
    targets = Targets(books.frontier, ServedLanes({**asked, profile.lane: profile}), scene.scheduler)
    rebuilder = Rebuilder(books, targets, Recall(scene.database), scene.tally)
    return rebuilder, queues_of(FLOW, SERVICE, FlowSeeder(FLOW, lanes), lanes, {HEARING: "stream"})


async def nothing() -> None:
    """What this part does besides."""


async def known(scene: Scene) -> list[str]:
    """Whom the lane knows, in the order in which they will be asked."""
    rows = await scene.rows("select target from tasks order by priority desc, due, task")
    return [row["target"] for row in rows]


def test_calls_need_not_wait_and_a_kill_costs_nothing(database_url: str) -> None:
    async def work(scene: Scene) -> None:
        await scene.streamer()
        await fill(scene)
        rebuilder, queues = await start(scene)
        await rebuilder.open(queues)
        assert (await known(scene), rebuilder.is_at_it()) == ([], True)
        task = asyncio.create_task(rebuilder.run(queues))
        await scene.wait(SECOND / 10)
        assert 0 < len(await known(scene)) < AUTHORS / 2
        assert "0%" in scene.tally.activity
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
        rebuilder, queues = await start(scene)
        await rebuilder.open(queues)
        await rebuilder.run(queues)
        assert sorted(map(int, await known(scene))) == list(range(1, AUTHORS + 1))
        assert (rebuilder.is_at_it(), scene.tally.activity) == (False, "")
        assert (await scene.row("select done_at from rebuilds"))["done_at"] is not None
        rebuilder, queues = await start(scene)
        await rebuilder.open(queues)
        assert not rebuilder.is_at_it()

    play(work, database_url)


def test_who_posted_again_long_after_is_asked_first_and_the_others_newest_first() -> None:
    async def work(scene: Scene) -> None:
        await scene.streamer()
        await fill(scene)
        rebuilder, queues = await start(scene)
        await rebuilder.open(queues)
        await rebuilder.run(queues)
        first, second, *_ = await known(scene)
        assert first == "1"
        assert int(second) > CHUNK

    play(work)


def test_asked_to_end_it_ends_within_a_moment_and_goes_on_later() -> None:
    async def work(scene: Scene) -> None:
        await scene.streamer()
        await fill(scene)
        rebuilder, queues = await start(scene)
        await rebuilder.open(queues)
        rebuilder.end()
        await rebuilder.run(queues)
        assert await known(scene) == []
        rebuilder, queues = await start(scene)
        await rebuilder.open(queues)
        assert rebuilder.is_at_it()

    play(work)


def test_the_loop_of_calls_does_not_end_while_targets_may_still_be_added() -> None:
    async def work(scene: Scene) -> None:
        await scene.streamer()
        hearing, over = scene.hearing, START + 90 * SECOND
        books, targets = hearing.books, hearing.targets
        watch = ServerWatch(targets.lanes, scene.scheduler, books.frontier, tuple)
        settler = Settler(books, hearing.store, targets, watch)
        source = LocalWorkSource(books, targets.lanes, scene.scheduler, watch, settler)
        worker = Worker(source, Caller(hearing.signer, {}, frozenset(), lambda: scene.worker), scene.clock, scene.tally)
        feeding = Part(name="feeding", run=nothing, feeds=lambda: scene.clock.now() < over)
        rules = StopRules(Stop(), scene.tally, scene.clock, [feeding])
        assert (await worker.run(1, rules)).reason.code == "nothing_left"
        assert scene.clock.now() >= over

    play(work)
