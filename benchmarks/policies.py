"""What choosing costs at a million users, policy by policy: `python -m benchmarks.policies --json`.

Rank is what the query log calls rank time: the ranker's parts of the choice and the lease of the tasks, in SQLite. Seed is what
it calls seed time: the arrivals of a page (ten targets, half of them known; for look-ups the five that have news; for a walk its
own next steps), with the look-up of what is known where the ranker remembers, and their rows. `decide` is the ranker's own
judgement of all tasks of the call. Every call is then settled, so that the order changes as it does in a crawl. Look-ups are
batches of 25, as on Bluesky; `two_stage_lookup_of_100` shows the largest batch any service takes.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from bowerbird.clock import RealClock, to_micros
from bowerbird.db import open_database
from bowerbird.db.tables import schema_statements
from bowerbird.frontier import TaskFrontier
from bowerbird.model import (
    Arrival,
    Facet,
    Outcome,
    Placement,
    Progress,
    Relation,
    RelationKind,
    Settled,
    Subject,
    Task,
    Turn,
    Visit,
)
from bowerbird.policies import RankerSetting, ranker
from bowerbird.policies.by_value.rates import Rates
from bowerbird.policies.by_value.two_stage import News
from bowerbird.policies.graph_walks.walking import Node, Walker
from bowerbird.policies.moments import days, seconds
from bowerbird.ports import Database, Ranker, Transaction

LANE = 1
PUBLISHED_MICROS = {"timelines": 4000, "ranking": 10_000, "sampling": 2_500_000}
_INSERT = (
    "insert into tasks (lane, target, ready, priority, due, state, depth, visits, added_at, visited_at, memory) "
    "values (1, ?, 1, ?, ?, 'waiting', 0, 3, 0, ?, ?)"
)
_LOOKUP = Facet(name="profiles", subject=Subject.USER, yields=frozenset({"users"}), is_lookup=True)
_TIMELINE = Facet(name="timeline", subject=Subject.USER, yields=frozenset({"posts"}), results_per_call=100)

Filled = Callable[[int, random.Random, datetime], tuple[float, bytes | None]]
"""Priority and memory of the n-th task as a crawl of some days would leave them."""


class Trial(Struct, frozen=True):
    """One policy on one filled frontier."""

    name: str
    made: Ranker
    fill: Filled
    objects: int = 1


def _plain(number: int, chance: random.Random, now: datetime) -> tuple[float, bytes | None]:
    return chance.random(), None


def _classes(number: int, chance: random.Random, now: datetime) -> tuple[float, bytes | None]:
    return chance.choice((0.0, 0.0, 0.0, 1.0, 21.0, 41.0, 61.0, 81.0, 100.0)), None


def _moments(number: int, chance: random.Random, now: datetime) -> tuple[float, bytes | None]:
    rates = Rates(days(now) - chance.random(), chance.lognormvariate(0, 2), 5.0, 0.1, 0.5, 0.5, 1.0)
    if number % 5 < 3:
        return -1e12 - seconds(now) + chance.random() * 1e5, rates.encoded()
    return -seconds(now) + chance.random() * 1e5, rates.encoded()


def _waiting(number: int, chance: random.Random, now: datetime) -> tuple[float, bytes | None]:
    return -days(now) + chance.random() * 5, News(days(now), chance.randrange(1, 9), 0.5).encoded()


def _nodes(number: int, chance: random.Random, now: datetime) -> tuple[float, bytes | None]:
    """Mostly places that walkers have left; some where one waits for the list."""
    others = [f"u{chance.randrange(1000)}" for _ in range(8)]
    node = Node(100, 0, others, [Walker(number, 5, 5.0)] if number % 10 == 0 else [], [(number, 4.0)], since=1)
    return chance.random(), node.encoded()


def trials() -> list[Trial]:
    plain = [Trial(name, ranker(name), _plain) for name in ("fifo", "lifo", "bfs", "circular", "random", "repeat_first")]
    lookup = RankerSetting(_LOOKUP)
    walks = [Trial(name, ranker(name, setting=RankerSetting(None, (LANE,))), _nodes) for name in ("mhrw", "rwrw", "frontier")]
    return [
        *plain,
        Trial("echo", ranker("echo"), _classes),
        Trial("echo_lookup", ranker("echo"), _classes, 25),
        Trial("index", ranker("index", setting=RankerSetting(_TIMELINE)), _moments),
        Trial("two_stage_lookup", ranker("two_stage", setting=lookup), _moments, 25),
        Trial("two_stage_lookup_of_100", ranker("two_stage", setting=lookup), _moments, 100),
        Trial("two_stage_fetch", ranker("two_stage", setting=RankerSetting(_TIMELINE)), _waiting),
        *walks,
    ]


async def fill(database: Database, rows: int, filled: Filled) -> None:
    indexes = [step for step in schema_statements(database.dialect) if " index tasks_" in step]
    chance, now = random.Random(rows), RealClock().now()
    at = to_micros(now)
    async with database.transaction() as tx:
        await tx.execute("delete from tasks")
        for step in indexes:
            await tx.execute(f"drop index if exists {step.split(' index ')[1].split()[0]}")
    for start in range(0, rows, 50_000):
        batch = [
            (f"u{number}", priority, at - number, at - number, memory)
            for number in range(start, min(start + 50_000, rows))
            for priority, memory in [filled(number, chance, now)]
        ]
        async with database.transaction() as tx:
            await tx.execute_many(_INSERT, batch)
    async with database.transaction() as tx:
        for step in indexes:
            await tx.execute(step)
        await tx.execute("analyze tasks")


class Spent(Struct, frozen=True):
    """Seconds of one call."""

    rank: float
    seed: float
    decide: float


class Bench:
    """The engine's sequence of one call around one ranker, timed in the places where the query log times it."""

    def __init__(self, database: Database, trial: Trial, rows: int) -> None:
        self._database = database
        self._trial = trial
        self._rows = rows
        self._clock = RealClock()
        self._frontier = TaskFrontier(database, lambda: 1, lease=timedelta(minutes=5), call=timedelta(minutes=1))
        self._chance = random.Random(1)
        self._later = timedelta()

    async def call(self) -> Spent:
        """What rank, seed and decide of one call took."""
        made, now = self._trial.made, self._now()
        async with self._database.transaction() as tx:
            watch = time.perf_counter()
            tasks = await self._frontier.lease(tx, Turn(LANE), made.draws(self._trial.objects, now), now)
            rank = time.perf_counter() - watch
        async with self._database.transaction() as tx:
            watch = time.perf_counter()
            placements = [made.visited(self._visit(task, now)) for task in tasks]
            decide = time.perf_counter() - watch
            ended = [Settled(task=t, progress=Progress(), placement=s) for t, s in zip(tasks, placements, strict=True)]
            await self._frontier.settle(tx, ended, now)
            arrivals = [lead for placement in placements for lead in placement.leads] or self._page()
            watch = time.perf_counter()
            await self._add(tx, arrivals, now)
            seed = time.perf_counter() - watch
        return Spent(rank, seed, decide)

    async def _add(self, tx: Transaction, arrivals: Sequence[Arrival], now: datetime) -> None:
        """As a work source does it."""
        while arrivals:
            part, arrivals = (arrivals[:1], arrivals[1:]) if arrivals[0].memory is not None else (arrivals, ())
            known = await self._frontier.known(tx, part) if self._trial.made.remembers else {}
            placements: list[tuple[Arrival, Placement]] = [
                (each, self._trial.made.added(each, known.get((each.lane, each.target)), now)) for each in part
            ]
            await self._frontier.add(tx, placements, 1, now)
            arrivals = [*arrivals, *(lead for _, placement in placements for lead in placement.leads)]

    def _now(self) -> datetime:
        """A little more than calls take, so that each claim stands for one call and not for a block of them."""
        self._later += timedelta(milliseconds=300)
        return self._clock.now() + self._later

    def _page(self) -> list[Arrival]:
        size = 5 if self._trial.objects > 1 else 10
        known = [f"u{self._chance.randrange(self._rows)}" for _ in range(size // 2)]
        new = [f"new-{self._chance.random()}" for _ in range(size - len(known))]
        return [Arrival(lane=LANE, target=target, news=2) for target in (*known, *new)]

    def _visit(self, task: Task, now: datetime) -> Visit:
        others = [f"u{self._chance.randrange(self._rows)}" for _ in range(50)] if self._trial.fill is _nodes else []
        return Visit(
            task=task,
            at=now,
            outcome=Outcome.OK,
            is_finished=True,
            new=2,
            post_times=(now - timedelta(minutes=9), now - timedelta(minutes=5)),
            posts_before=10,
            posts_now=12,
            relations=tuple(Relation(RelationKind.FOLLOW, task.target, other) for other in others),
        )


async def measure(database: Database, trial: Trial, rows: int, calls: int) -> dict[str, int]:
    bench = Bench(database, trial, rows)
    for _ in range(20):
        await bench.call()
    times = [await bench.call() for _ in range(calls)]
    both = [each.rank + each.seed for each in times]
    figures = {
        "rank_and_seed_micros": _micros(both, 0.5),
        "p95_micros": _micros(both, 0.95),
        "rank_micros": _micros([each.rank for each in times], 0.5),
        "seed_micros": _micros([each.seed for each in times], 0.5),
        "decide_micros": _micros([each.decide for each in times], 0.5),
        "objects": trial.objects,
    }
    print(f"  {trial.name:24} " + ", ".join(f"{name} {value}" for name, value in figures.items()), flush=True)
    return figures


def _micros(times: Sequence[float], share: float) -> int:
    return round(statistics.quantiles(times, n=100, method="inclusive")[round(share * 100) - 1] * 1e6)


async def run(rows: int, calls: int) -> dict[str, Any]:
    figures: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder:
        database = await open_database(str(Path(folder) / "policies.db"), RealClock())
        await database.create_tables()
        last: Filled | None = None
        for trial in trials():
            if trial.fill is not last:
                await fill(database, rows, trial.fill)
                last = trial.fill
            figures[trial.name] = await measure(database, trial, rows, calls)
        await database.close()
    larger = {name: figures.pop(name) for name in list(figures) if name.endswith("_of_100")}
    slowest = max(each["rank_and_seed_micros"] for each in figures.values())
    return {
        "users": rows,
        "slowest_median_micros": slowest,
        "published_micros": PUBLISHED_MICROS,
        "policies": figures,
        "larger_batches": larger,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="only the last line matters to a machine: one JSON object")
    parser.add_argument("--users", type=int, default=1_000_000)
    parser.add_argument("--calls", type=int, default=500)
    options = parser.parse_args()
    print(f"rank + seed per call with {options.users:,} users, microseconds", flush=True)
    print(msgspec.json.encode(asyncio.run(run(options.users, options.calls))).decode())


if __name__ == "__main__":
    main()
