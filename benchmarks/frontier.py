"""What choosing and settling one call costs as the frontier grows: `python -m benchmarks.frontier --json`.

A call is one lease transaction (sweep, choose, claim, log row) and one settle transaction (fencing check, new standing, log
row) through the real frontier and query log, on tasks with random priorities that change at every visit, so that neighbours in
the order are far apart on disk. Seeding is timed apart: a page of 20 arrivals, half of them known. Named reference: the bare
statements on the same rows, one task at a time (choose by index, update, commit; update, commit), as a plain SQL queue would
do it. Each commit waits for the disk (synchronous = full); `unsynced` figures leave that wait out, so that it hides nothing.
`processor_micros` is the mean processor time of this process for the same, which a busy machine disturbs least: with SQLite all
of it, with PostgreSQL the part of the client.
"""

from __future__ import annotations

import argparse
import asyncio
import multiprocessing
import random
import resource
import statistics
import tempfile
import time
from collections.abc import Awaitable, Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import msgspec

from bowerbird.clock import RealClock, to_micros
from bowerbird.crawl.life import registry
from bowerbird.crawl.work.bookkeeping import QueryLog, Timings
from bowerbird.db import open_database
from bowerbird.db.tables import schema_statements
from bowerbird.evaluate.postgres import start_postgres
from bowerbird.frontier import TaskFrontier, statements
from bowerbird.model import Answer, Answered, Arrival, Ask, Call, Draw, Page, Placement, Progress, Settled, Turn
from bowerbird.ports import Database

LANE = 1
_INSERT = (
    "insert into tasks (lane, target, ready, priority, due, state, depth, added_at, added_by, memory) "
    "values (1, ?, ?, ?, ?, ?, 0, 0, 0, null)"
)


async def fill(database: Database, rows: int) -> None:
    """Half the tasks ready with random priorities, half asleep until far in the future, as in a revisiting crawl."""
    rng = random.Random(rows)
    indexes = [step for step in schema_statements(database.dialect) if " index tasks_" in step]
    async with database.transaction() as tx:
        for name in (step.split(" index ")[1].split()[0] for step in indexes):
            await tx.execute(f"drop index {name}")
    far = to_micros(RealClock().now() + timedelta(days=300))
    for start in range(0, rows, 50_000):
        batch = [
            (f"u{n * 2654435761 % 2**32:010d}-{n}", 1, rng.random(), n, "waiting")
            if n % 2
            else (f"u{n * 2654435761 % 2**32:010d}-{n}", 0, rng.random(), far + n, "asleep")
            for n in range(start, min(start + 50_000, rows))
        ]
        async with database.transaction() as tx:
            await tx.execute_many(_INSERT, batch)
    if database.dialect == "sqlite":
        database._writer.execute("pragma temp_store = file")  # type: ignore[attr-defined]
    async with database.transaction() as tx:
        # Made at the end: sorting ten million keys once is quicker than finding a place for each.
        for step in indexes:
            await tx.execute(step)
        await tx.execute("analyze tasks")


class Bench:
    """The engine's own sequence of one call, without network and pages."""

    def __init__(self, database: Database, worker: int) -> None:
        """`worker`: a living worker of the database; the query log takes no call from any other."""
        self.database = database
        self.clock = RealClock()
        self.worker = worker
        self.frontier = TaskFrontier(database, lambda: worker, lease=timedelta(minutes=5), call=timedelta(minutes=1))
        self.log = QueryLog(1, lambda: worker)
        self.rng = random.Random(1)
        self.added = 0

    async def call(self, objects: int) -> float:
        """Leases and settles one call; answers the seconds it took."""
        watch = time.perf_counter()
        now = self.clock.now()
        async with self.database.transaction() as tx:
            await self.frontier.sweep(tx, now)
            tasks = await self.frontier.lease(tx, Turn(LANE), [Draw(objects)], now)
            ask = Ask("profiles", tuple(task.target for task in tasks))
            call = Call(worker=self.worker, ask=ask, credential="c", charges=(), leased_at=now, until=now)
            number = await self.log.begin(tx, LANE, call)
        call = msgspec.structs.replace(call, call=number)
        answer = Answer(status=200, sent_at=now, received_at=now)
        settled = [Settled(task=task, progress=Progress(), placement=Placement(self.rng.random(), now)) for task in tasks]
        async with self.database.transaction() as tx:
            await self.frontier.settle(tx, settled, now)
            await self.log.end(tx, Answered(call, answer, Page()), Timings(), now)
        return time.perf_counter() - watch

    async def seed(self, rows: int) -> float:
        """Adds a page of arrivals, half of them known."""
        now = self.clock.now()
        arrivals = []
        for n in range(20):
            known = self.rng.randrange(rows)
            self.added += 1
            target = f"u{known * 2654435761 % 2**32:010d}-{known}" if n % 2 else f"new-{self.rng.random()}"
            arrivals.append((Arrival(lane=LANE, target=target, wakes=False), Placement(self.rng.random(), now)))
        watch = time.perf_counter()
        async with self.database.transaction() as tx:
            await self.frontier.add(tx, arrivals, 1, now)
        return time.perf_counter() - watch

    async def bare(self) -> float:
        """The same by bare statements, one task at a time."""
        watch = time.perf_counter()
        now = self.clock.now()
        far = to_micros(now + timedelta(days=300))
        choose = statements.choose(self.database.dialect, banded=False)
        async with self.database.transaction() as tx:
            rows = await tx.fetch(choose, LANE, 0, 1)
            task = rows[0]["task"]
            await tx.execute("update tasks set ready = 0, due = ?, token = 1, state = 'leased' where task = ?", far, task)
        async with self.database.transaction() as tx:
            await tx.execute(
                "update tasks set token = null, state = 'asleep', priority = ? where task = ?", self.rng.random(), task
            )
        return time.perf_counter() - watch


def fill_elsewhere(where: str, rows: int) -> None:
    """Fills in a process of its own, so that the memory measured afterwards is that of working, not of building indexes."""
    child = multiprocessing.get_context("spawn").Process(target=_fill_now, args=(where, rows))
    child.start()
    child.join()
    if child.exitcode:
        raise SystemExit(f"filling {where} failed")


def _fill_now(where: str, rows: int) -> None:
    async def work() -> None:
        database = await open_database(where, RealClock())
        await database.create_tables()
        await fill(database, rows)
        await database.close()

    asyncio.run(work())


async def repeated(step: Callable[[], Awaitable[float]], times: int) -> tuple[list[float], int]:
    """Return the seconds that each step took, and the mean processor time of one in microseconds."""
    began = time.process_time()
    taken = [await step() for _ in range(times)]
    return taken, round((time.process_time() - began) / times * 1e6)


async def measure(where: str, rows: int, calls: int) -> dict[str, Any]:
    watch = time.perf_counter()
    await asyncio.to_thread(fill_elsewhere, where, rows)
    print(f"  {rows:>10,} rows filled in {time.perf_counter() - watch:.0f} s", flush=True)
    database = await open_database(where, RealClock())
    async with database.transaction() as tx:
        worker = await registry.enrol_worker(tx, "bench", RealClock().now())
    bench = Bench(database, worker)
    for _ in range(50):
        await bench.call(1)
    single, single_processor = await repeated(lambda: bench.call(1), calls)
    batch, batch_processor = await repeated(lambda: bench.call(100), max(20, calls // 20))
    seed, seed_processor = await repeated(lambda: bench.seed(rows), max(100, calls // 5))
    bare, bare_processor = await repeated(bench.bare, calls)
    unsynced = await _unsynced(database, bench, calls)
    figures = {
        **unsynced,
        "single_micros": _micros(single),
        "batch_of_100_micros": _micros(batch),
        "seed_of_20_micros": _micros(seed),
        "bare_micros": _micros(bare),
        "ratio_to_bare": round(statistics.median(single) / statistics.median(bare), 2),
        "processor_micros": {
            "single": single_processor,
            "batch_of_100": batch_processor,
            "seed_of_20": seed_processor,
            "bare": bare_processor,
        },
        "rss_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
    }
    await database.close()
    print(f"  {rows:>10,} rows: " + ", ".join(f"{name} {value}" for name, value in figures.items()), flush=True)
    return figures


async def _unsynced(database: Database, bench: Bench, calls: int) -> dict[str, Any]:
    if database.dialect != "sqlite":
        return {}
    # The pragma cannot change inside a transaction; this benchmark alone reaches for the connection.
    database._writer.execute("pragma synchronous = off")  # type: ignore[attr-defined]
    single = [await bench.call(1) for _ in range(calls)]
    bare = [await bench.bare() for _ in range(calls)]
    return {"single_unsynced_micros": _micros(single), "bare_unsynced_micros": _micros(bare)}


def _micros(times: list[float]) -> int:
    return round(statistics.median(times) * 1e6)


async def run(sizes: list[int], postgres_rows: int, calls: int) -> dict[str, Any]:
    figures: dict[str, Any] = {"sqlite": {}}
    for rows in sizes:
        with tempfile.TemporaryDirectory() as folder:
            figures["sqlite"][str(rows)] = await measure(str(Path(folder) / "frontier.db"), rows, calls)
    if postgres_rows:
        with start_postgres() as url:
            figures["postgresql"] = {str(postgres_rows): await measure(url, postgres_rows, calls)}
    small, large = figures["sqlite"][str(sizes[0])], figures["sqlite"][str(sizes[-1])]
    figures["growth"] = round(large["single_micros"] / small["single_micros"], 2)
    figures["growth_batch"] = round(large["batch_of_100_micros"] / small["batch_of_100_micros"], 2)
    figures["growth_bare"] = round(large["bare_micros"] / small["bare_micros"], 2)
    figures["growth_unsynced"] = round(large["single_unsynced_micros"] / small["single_unsynced_micros"], 2)
    figures["growth_processor"] = round(large["processor_micros"]["single"] / small["processor_micros"]["single"], 2)
    figures["growth_bare_unsynced"] = round(large["bare_unsynced_micros"] / small["bare_unsynced_micros"], 2)
    figures["rss_mb"] = large["rss_mb"]
    figures["published_rank_and_seed_micros"] = 4000
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="only the last line matters to a machine: one JSON object")
    parser.add_argument("--sizes", default="10000,1000000,10000000", help="rows of the SQLite frontier, smallest first")
    parser.add_argument("--postgres", type=int, default=1_000_000, help="rows of the PostgreSQL frontier; 0 leaves it out")
    parser.add_argument("--calls", type=int, default=2000)
    options = parser.parse_args()
    sizes = [int(size) for size in options.sizes.split(",")]
    print("lease + settle, median microseconds per call", flush=True)
    print(msgspec.json.encode(asyncio.run(run(sizes, options.postgres, options.calls))).decode())


if __name__ == "__main__":
    main()
