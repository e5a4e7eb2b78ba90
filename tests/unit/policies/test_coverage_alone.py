"""Policies alone: the queue in memory takes whom the frontier would take, and accounts show what their world shows."""

from __future__ import annotations

from datetime import datetime, timedelta
from random import Random

import pytest
from msgspec import structs
from posting_world import START, Lane, Reader, World, moments

from bowerbird.errors import UserError
from bowerbird.evaluate.coverage import Wish, evaluate_coverage
from bowerbird.evaluate.coverage.queue import Queue
from bowerbird.evaluate.coverage.scenes import drawn_world
from bowerbird.evaluate.coverage.skyline import Skyline
from bowerbird.model import Arrival, Outcome, Task
from bowerbird.model import Visit as Settled
from bowerbird.policies import ranker
from bowerbird.simulated.world import World as SimulatedWorld
from bowerbird.simulated.world.settings import DAY as DAY_MS
from failures import raises_code

DAYS = 2.0


@pytest.mark.parametrize(("name", "room"), [("circular", 5), ("echo", 10), ("echo", 1), ("index", 7), ("lifo", 3)])
def test_the_queue_in_memory_takes_whom_the_frontier_would_take(name: str, room: int) -> None:
    people = World(40, timedelta(days=3), seed=5)
    lane, queue = Lane(ranker(name)), Queue(ranker(name))
    reader = Reader(people, 3)
    for who in people.posts:
        arrival = Arrival(lane=1, target=who)
        lane.add(arrival, START)
        queue.add(arrival, START)
    for now in moments(people, 60):
        tasks, ours = lane.take(room, now), {task.target: task for task in queue.take(room, now)}
        assert [task.target for task in tasks] == list(ours)
        for task in tasks:
            visit = _read(reader, task, now)
            lane.visit(visit)
            queue.settle(structs.replace(visit, task=ours[task.target]))


def _read(reader: Reader, task: Task, now: datetime) -> Settled:
    new = reader.world.between(task.target, reader.known[task.target], now)[-reader.page :]
    reader.known[task.target] = now
    return Settled(task=task, at=now, outcome=Outcome.OK, is_finished=True, results=len(new), new=len(new), post_times=tuple(new))


def test_news_move_a_task_that_waits_already() -> None:
    lane, queue = Lane(ranker("two_stage")), Queue(ranker("two_stage"))
    for minute, (who, news) in enumerate([("few", 1), ("many", 9), ("some", 3), ("few", 20)]):
        for each in (lane, queue):
            each.add(Arrival(lane=1, target=who, news=news), START + timedelta(minutes=minute))
    later = START + timedelta(hours=1)
    assert [task.target for task in queue.take(3, later)] == [task.target for task in lane.take(3, later)]
    assert queue.take(3, later) == []


@pytest.fixture(scope="module")
def worlds() -> list[SimulatedWorld]:
    return [SimulatedWorld(drawn_world(120, seed)) for seed in (1, 2)]


def test_accounts_show_what_their_world_shows(worlds: list[SimulatedWorld]) -> None:
    settings, chance = worlds[0].settings, Random(1)
    skyline = Skyline(worlds, settings.start, DAYS)
    assert len(skyline) == 240
    passed_on = 0
    for _ in range(2_000):
        account, now = chance.randrange(240), settings.start_ms + chance.randrange(int(DAYS * DAY_MS))
        world, own = worlds[account // 120], account % 120
        assert skyline.counter(account, now) == world.post_count(own, now)
        assert (skyline.outcome(account, now) is Outcome.OK) == world.is_open(own, now)
        rows = [row for row, _ in zip(world.timeline(own, now), range(5), strict=False) if row.ms >= settings.warm_ms]
        places = skyline.newest(account, now, 5)
        assert [skyline.written_at(place).timestamp() for place in places] == [row.ms / 1000 for row in rows]
        passed_on += sum(skyline.passed_on(place, now) is not None for place in places)
    assert passed_on


def test_what_there_is_to_capture_is_that_of_all_worlds(worlds: list[SimulatedWorld]) -> None:
    start = worlds[0].settings.start
    both, alone = Skyline(worlds, start, DAYS), [Skyline([world], start, DAYS) for world in worlds]
    assert both.there.accounts == 240
    assert len(both.there.number) == len(set(both.there.number.tolist())) == sum(len(each.there.number) for each in alone)
    assert set(both.there.number.tolist()) <= set(both.number.tolist())


def test_more_accounts_than_a_world_has_need_the_policies_alone() -> None:
    with raises_code(UserError, "invalid") as caught:
        evaluate_coverage(Wish(accounts=300_000, days=0.1, policies=("circular",), jobs=1), lambda _: None)
    assert "300,000" in caught.value.problem
