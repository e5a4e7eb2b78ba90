"""A small world of people who post, and a lane that asks about them: what a ranker is worth, without an engine."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from heapq import nsmallest
from itertools import count
from math import cos, pi
from random import Random

from msgspec import structs

from bowerbird.model import Arrival, Outcome, Placement, Progress, Relation, RelationKind, Task, Visit
from bowerbird.ports import Ranker

START = datetime(2026, 1, 5, tzinfo=UTC)
DAY = timedelta(days=1)


class Lane:
    """The frontier's order in a few lines: parts of a choice, each by (priority, highest first; due, earliest first; age)."""

    def __init__(self, ranker: Ranker, number: int = 1) -> None:
        self.ranker = ranker
        self.number = number
        self.tasks: dict[str, Task] = {}
        self.due: dict[str, datetime | None] = {}
        self.follow: Callable[[Arrival, datetime], None] = self.add
        """Where a lead goes: another lane, in a walk over two lists."""
        self._numbers = count(1)

    def add(self, arrival: Arrival, now: datetime) -> None:
        known = self.tasks.get(arrival.target)
        placement = self.ranker.added(arrival, known, now)
        is_ready = known is not None and (due := self.due[arrival.target]) is not None and due <= now
        if known is None:
            blank = Task(task=next(self._numbers), lane=self.number, target=arrival.target, token=0, added_at=now)
            self._put(structs.replace(blank, memory=placement.memory), placement)
        elif (not is_ready and arrival.wakes) or (is_ready and placement.moves):
            self._put(structs.replace(known, memory=placement.memory or known.memory), placement)
        self._lead(placement, now)

    def take(self, room: int, now: datetime) -> list[Task]:
        chosen: dict[str, Task] = {}
        for draw in self.ranker.draws(room, now):
            ready = (
                task
                for key, task in self.tasks.items()
                if key not in chosen and draw.low <= task.priority < draw.high and (due := self.due[key]) and due <= now
            )
            missing = max(draw.count - len(chosen), 0)
            chosen |= {task.target: task for task in nsmallest(missing, ready, key=self._place)}
        return list(chosen.values())

    def visit(self, visit: Visit) -> None:
        task = self.tasks[visit.task.target]
        if visit.is_finished:
            placement = self.ranker.visited(visit)
            task = structs.replace(task, visits=task.visits + 1, visited_at=visit.at, pages=0, progress=Progress())
        else:
            placement = Placement(task.priority, visit.at, self.ranker.continued(visit))
            task = structs.replace(task, pages=task.pages + 1, progress=Progress("more"))
        self._put(structs.replace(task, memory=placement.memory), placement)
        self._lead(placement, visit.at)

    def _lead(self, placement: Placement, now: datetime) -> None:
        for lead in placement.leads:
            self.follow(lead, now)

    def _put(self, task: Task, placement: Placement) -> None:
        self.tasks[task.target] = structs.replace(task, priority=placement.priority)
        self.due[task.target] = placement.due

    def _place(self, task: Task) -> tuple[float, datetime, int]:
        due = self.due[task.target]
        assert due is not None
        return -task.priority, due, task.task


class World:
    """People with heavy-tailed rates, a daily rhythm and bursts; most of them are silent."""

    def __init__(self, people: int, length: timedelta, seed: int = 1) -> None:
        chance = Random(seed)
        rates = [chance.lognormvariate(0.6, 1.4) if chance.random() > 0.61 else 0.0 for _ in range(people)]
        self.length = length
        self.posts = {
            f"u{n}": sorted(START + day * DAY for day in _days(rate, length / DAY, chance)) for n, rate in enumerate(rates)
        }
        self.total = sum(map(len, self.posts.values()))

    def between(self, who: str, after: datetime, until: datetime) -> list[datetime]:
        posts = self.posts[who]
        return posts[bisect_right(posts, after) : bisect_right(posts, until)]

    def count(self, who: str, until: datetime) -> int:
        return 1000 + bisect_right(self.posts[who], until)


def _days(rate: float, length: float, chance: Random) -> Iterator[float]:
    """Days on which one writes: by daylight, and every post may draw further ones within minutes."""
    best, day = chance.random(), 0.0
    while rate:
        day += chance.expovariate(0.6 * 2 * rate)
        if day >= length:
            return
        if chance.random() < (1 + 0.8 * cos(2 * pi * (day - best))) / 2:
            yield from (moment for moment in _burst(day, chance) if moment < length)


def _burst(day: float, chance: Random) -> Iterator[float]:
    open_ends = [day]
    while open_ends:
        day = open_ends.pop()
        yield day
        if chance.random() < 0.4:
            open_ends.append(day + chance.expovariate(96.0))


class Reader:
    """Asks timelines that show the newest posts only, and keeps account of what was captured."""

    def __init__(self, world: World, page: int) -> None:
        self.world = world
        self.page = page
        self.captured = 0
        self.known = dict.fromkeys(world.posts, START)

    def read(self, lane: Lane, task: Task, now: datetime) -> None:
        new = self.world.between(task.target, self.known[task.target], now)[-self.page :]
        self.known[task.target] = now
        self.captured += len(new)
        lane.visit(
            Visit(task=task, at=now, outcome=Outcome.OK, is_finished=True, results=len(new), new=len(new), post_times=tuple(new))
        )

    @property
    def share(self) -> float:
        return self.captured / self.world.total


def moments(world: World, calls_a_day: int) -> Iterator[datetime]:
    """When calls may be made, at even distances."""
    for call in range(int(world.length / DAY * calls_a_day)):
        yield START + (call + 1) * DAY / calls_a_day


def one_stage(world: World, ranker: Ranker, page: int, calls_a_day: int, batch: int = 1) -> float:
    """The share of posts captured when each call asks `batch` people and shows the newest `page` posts of each."""
    lane, reader = Lane(ranker), Reader(world, page)
    for who in world.posts:
        lane.add(Arrival(lane=1, target=who), START)
    for now in moments(world, calls_a_day):
        for task in lane.take(batch, now):
            reader.read(lane, task, now)
    return reader.share


class Stages:
    """Look-ups of counters, many per call and each with the newest post, and timelines for those who wrote more than that."""

    def __init__(self, world: World, rankers: Sequence[Ranker], page: int) -> None:
        self.lookups, self.fetches = Lane(rankers[0]), Lane(rankers[1])
        self.newest, self.reader = Reader(world, 1), Reader(world, page)
        self.world = world
        self.counters = {who: world.count(who, START) for who in world.posts}

    def look(self, now: datetime, batch: int) -> None:
        for task in self.lookups.take(batch, now):
            before, after = self.counters[task.target], self.world.count(task.target, now)
            self.counters[task.target] = after
            self.lookups.visit(
                Visit(task=task, at=now, outcome=Outcome.OK, is_finished=True, posts_before=before, posts_now=after)
            )
            self._note(task.target, after - before, now)

    def _note(self, who: str, news: int, now: datetime) -> None:
        is_waiting = self.reader.known[who] < self.newest.known[who]
        self.newest.known[who] = now
        if news == 1 and not is_waiting:
            # None if a fetch after the last look-up brought it already.
            self.reader.captured += len(self.world.between(who, self.reader.known[who], now)[-1:])
            self.reader.known[who] = now
        elif news:
            self.fetches.add(Arrival(lane=1, target=who, news=news), now)
        elif not is_waiting:
            self.reader.known[who] = now


def in_two_stages(world: World, rankers: Sequence[Ranker], page: int, calls_a_day: int, batch: int) -> float:
    """The same number of calls, at least two in five of them look-ups."""
    stages = Stages(world, rankers, page)
    for who in world.posts:
        stages.lookups.add(Arrival(lane=1, target=who), START)
    for call, now in enumerate(moments(world, calls_a_day)):
        if call % 5 > 1 and (tasks := stages.fetches.take(1, now)):
            stages.reader.read(stages.fetches, tasks[0], now)
            stages.newest.known[tasks[0].target] = now
        else:
            stages.look(now, batch)
    return stages.reader.share


def follows(*pairs: tuple[str, str]) -> tuple[Relation, ...]:
    return tuple(Relation(RelationKind.FOLLOW, source, target) for source, target in pairs)
