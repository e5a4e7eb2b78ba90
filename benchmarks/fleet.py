"""How many pages several processes save in one PostgreSQL database: `python -m benchmarks.fleet --json`.

Pages are recorded Mastodon timelines of 40 posts, read and cleaned beforehand. A fifth of the timelines is in the database
already, and the server knows how large its tables are. Every process saves its share of the others, one page after the other,
through the real store, one transaction per page. Reference: `benchmarks/bare_fleet.py`, the
same rows by hand with the same driver. Both take turns in the same run, with 1, 4 and 8 processes, as they are and with 1 ms
added to every statement: a sleep in the connection before each question to the server (begin and commit too), which costs no
processor as a proxy would. The server is the one the tests use, without waiting for the disk.

`ratio`: ours to bare with 4 processes, the smaller of the two with and without latency. `scaling`: 4 processes to 1 with
latency. `lock_wait`: the largest share of time in which 4 of our processes wait for each other's locks, sampled from the server.
`ratio_of_processor_time`: bare to ours, per page, client and server together: what is left of the ratio on a busy machine.
"""

from __future__ import annotations

import argparse
import asyncio
import multiprocessing
import os
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import count
from multiprocessing.connection import Connection as Pipe
from pathlib import Path
from typing import Any

import asyncpg
import msgspec
from msgspec import Struct

from benchmarks.bare_fleet import BareFleet
from benchmarks.recorded import Recording, record
from bowerbird.clock import RealClock
from bowerbird.db import open_database
from bowerbird.db.postgres.database import PostgresDatabase, create_pool
from bowerbird.evaluate.postgres import start_postgres
from bowerbird.model import Answer, Ask, Page, Progress, Service, Task
from bowerbird.providers import provider
from bowerbird.store import Store, register_service

PROCESSES = (1, 4, 8)
LATENCY = 0.001
_SERVICE = Service(name="bench", provider="mastodon", base="https://recorded.example")
_SAMPLE_EVERY = 0.02
_FIRST = 4
"""Pages of one timeline."""
_WARM = 6
"""Pages that each process saves before it is measured: until then server and driver are still learning its statements."""
_WAITING = "select count(*) from pg_stat_activity where wait_event_type = 'Lock' and datname = $1"
_ROWS = "select (select count(*) from posts) as posts, (select count(*) from users) as users"

Saved = tuple[str, Page]
"""Whose timeline a page is of, and the page."""


class Order(Struct, frozen=True):
    """What a process is to save, how, and into which database."""

    kind: str
    url: str
    latency: float
    part: int
    parts: int


class Run(Struct, frozen=True):
    """What all processes together did."""

    pages_per_second: float
    processor_time: float
    """Seconds per page, of the processes and of the server."""
    lock_wait: float
    posts: int
    users: int


class SlowConnection(asyncpg.Connection):
    """A connection to a server that is some way off."""

    latency = 0.0

    async def execute(self, *args: Any, **kwargs: Any) -> Any:
        await asyncio.sleep(self.latency)
        return await super().execute(*args, **kwargs)

    async def executemany(self, *args: Any, **kwargs: Any) -> Any:
        await asyncio.sleep(self.latency)
        return await super().executemany(*args, **kwargs)

    async def fetch(self, *args: Any, **kwargs: Any) -> Any:
        await asyncio.sleep(self.latency)
        return await super().fetch(*args, **kwargs)

    async def fetchrow(self, *args: Any, **kwargs: Any) -> Any:
        await asyncio.sleep(self.latency)
        return await super().fetchrow(*args, **kwargs)


# -- one of the processes ------------------------------------------------------------------------------------------------


def worker(pipe: Pipe, recording: Recording) -> None:
    """Reads all pages once, then saves what it is told to, as often as it is told."""
    pages = divided(list(_read(recording)))[1]
    pipe.send("read")
    with suppress(EOFError):
        while True:
            asyncio.run(_obey(pipe, msgspec.convert(pipe.recv(), Order), pages))


def _read(recording: Recording) -> Iterator[Saved]:
    speaks, now = provider("mastodon"), RealClock().now()
    for path, (headers, body) in recording.pages.items():
        key = path.split("/")[4]
        answer = Answer(status=200, headers=headers, body=body, sent_at=now, received_at=now)
        yield key, speaks.parse(Ask("timeline", (key,), Progress()), answer, _SERVICE)


def divided(pages: list[Saved]) -> tuple[list[Saved], list[Saved]]:
    """The pages that are in the database before, and those that are saved."""
    keys = list(dict.fromkeys(key for key, _ in pages))
    before = frozenset(keys[: len(keys) // 5])
    return [page for page in pages if page[0] in before], [page for page in pages if page[0] not in before]


async def _obey(pipe: Pipe, order: Order, pages: list[Saved]) -> None:
    SlowConnection.latency = order.latency
    make = create_pool if order.kind == "ours" else asyncpg.create_pool
    pool = await make(order.url, connection_class=SlowConnection)
    save = _ours(pool, order.part) if order.kind == "ours" else _bare(pool)
    mine = _share(pages, order.part, order.parts)
    backend = await pool.fetchval("select pg_backend_pid()")
    for page in mine[:_WARM]:
        await save(page)
    pipe.send(len(mine[_WARM:]))
    await asyncio.to_thread(pipe.recv)
    before = _processor_time(backend)
    for page in mine[_WARM:]:
        await save(page)
    pipe.send(_processor_time(backend) - before)
    await pool.close()


def _processor_time(backend: int) -> float:
    """Seconds that this process and its part of the server have used."""
    used = Path(f"/proc/{backend}/stat").read_text().rpartition(")")[2].split()
    return time.process_time() + (int(used[11]) + int(used[12])) / os.sysconf("SC_CLK_TCK")


def _share(pages: list[Saved], part: int, parts: int) -> list[Saved]:
    """Whole timelines, as a task is one worker's at a time: so many that every process has about as many pages."""
    by_key: dict[str, list[Saved]] = {}
    for page in pages:
        by_key.setdefault(page[0], []).append(page)
    shares: list[list[Saved]] = [[] for _ in range(parts)]
    for timeline in sorted(by_key.values(), key=len, reverse=True):
        min(shares, key=len).extend(timeline)
    return shares[part]


def _ours(pool: Any, part: int) -> Any:
    database = PostgresDatabase(pool, RealClock())
    store, facet, clock = Store(database), provider("mastodon").facets["timeline"], RealClock()
    calls = count(part * 1_000_000 + 1)

    async def save(saved: Saved) -> None:
        key, page = saved
        task = Task(task=1, lane=1, target=key, token=1)
        async with database.transaction() as tx:
            await store.save(tx, page, service=_SERVICE, tasks=[task], facet=facet, call=next(calls), now=clock.now())

    return save


def _bare(pool: Any) -> Any:
    fleet, calls = BareFleet(pool), count(1)

    async def save(saved: Saved) -> None:
        await fleet.save(saved[1], next(calls))

    return save


# -- the one who measures --------------------------------------------------------------------------------------------------


@contextmanager
def workers(recording: Recording, most: int) -> Iterator[list[Pipe]]:
    context = multiprocessing.get_context("spawn")
    pipes, processes = [], []
    for _ in range(most):
        ours, theirs = context.Pipe()
        process = context.Process(target=worker, args=(theirs, recording), daemon=True)
        process.start()
        theirs.close()
        pipes.append(ours)
        processes.append(process)
    try:
        for pipe in pipes:
            pipe.recv()
        yield pipes
    finally:
        for pipe, process in zip(pipes, processes, strict=True):
            pipe.close()
            process.terminate()
            process.join()


async def measured(pipes: list[Pipe], kind: str, server: str, latency: float) -> Run:
    """One run into a database of its own."""
    name = f"bench_{kind}_{len(pipes)}_{latency * 1000:.0f}"
    url = server.replace("/postgres?", f"/{name}?")
    admin = await asyncpg.connect(server)
    await admin.execute(f"create database {name} template bench strategy file_copy")
    for part, pipe in enumerate(pipes):
        pipe.send(msgspec.to_builtins(Order(kind, url, latency, part, len(pipes))))
    pages = sum([await asyncio.to_thread(pipe.recv) for pipe in pipes])
    began = time.perf_counter()
    for pipe in pipes:
        pipe.send("go")
    saving = asyncio.gather(*(asyncio.to_thread(pipe.recv) for pipe in pipes))
    waits = await _sampled(admin, name, saving)
    seconds = time.perf_counter() - began
    used = sum(saving.result()) / pages
    store = await asyncpg.connect(url)
    rows = await store.fetchrow(_ROWS)
    await store.close()
    await admin.execute(f"drop database {name} with (force)")
    await admin.close()
    return Run(pages / seconds, used, sum(waits) / max(1, len(waits)) / len(pipes), rows["posts"], rows["users"])


async def _sampled(admin: Any, name: str, saving: asyncio.Future[Any]) -> list[int]:
    """How many connections wait for a lock of another, at many moments until all have saved everything."""
    waits: list[int] = []
    while not saving.done():
        waits.append(await admin.fetchval(_WAITING, name))
        await asyncio.wait([saving], timeout=_SAMPLE_EVERY)
    return waits


async def _prepare(server: str, before: list[Saved]) -> None:
    admin = await asyncpg.connect(server)
    await admin.execute("create database bench")
    await admin.close()
    database = await open_database(server.replace("/postgres?", "/bench?"), RealClock())
    await database.create_tables()
    async with database.transaction() as tx:
        await register_service(tx, _SERVICE, "mastodon")
    await database.close()
    pool = await create_pool(server.replace("/postgres?", "/bench?"))
    save = _ours(pool, max(PROCESSES))
    for page in before:
        await save(page)
    await pool.execute("analyze")
    await pool.close()


async def measure(recording: Recording, counts: tuple[int, ...], kinds: list[str]) -> dict[tuple[str, int, bool], Run]:
    runs: dict[tuple[str, int, bool], Run] = {}
    with start_postgres() as server, workers(recording, max(counts)) as pipes:
        await _prepare(server, divided(list(_read(recording)))[0])
        for latency in (0.0, LATENCY):
            for processes in counts:
                for kind in kinds:
                    run = await measured(pipes[:processes], kind, server, latency)
                    runs[kind, processes, bool(latency)] = run
                    _tell(kind, processes, latency, run)
    return runs


def _tell(kind: str, processes: int, latency: float, run: Run) -> None:
    print(
        f"{kind:>5} {processes} processes, {latency * 1000:.0f} ms: {run.pages_per_second:6.1f} pages/s, "
        f"{run.processor_time * 1000:4.1f} ms of a processor each, "
        f"waiting for locks {run.lock_wait:5.1%}, {run.posts:,} posts, {run.users:,} users",
        flush=True,
    )


def _cost(kind: str, runs: dict[tuple[str, int, bool], Run]) -> float:
    """Seconds of a processor per page, the least of all runs: what a machine that is busy with other things disturbs least."""
    return min(run.processor_time for (of, *_), run in runs.items() if of == kind)


def figures(runs: dict[tuple[str, int, bool], Run], counts: tuple[int, ...]) -> dict[str, Any]:
    def ratio(processes: int, is_slow: bool) -> float:
        return runs["ours", processes, is_slow].pages_per_second / runs["bare", processes, is_slow].pages_per_second

    told: dict[str, Any] = {
        f"{kind}_{processes}{'_with_latency' if is_slow else ''}": round(run.pages_per_second, 1)
        for (kind, processes, is_slow), run in runs.items()
    }
    middle = 4 if 4 in counts else counts[-1]
    slow = {n: runs["ours", n, True].pages_per_second for n in counts}
    return told | {
        "ratio": round(min(ratio(middle, False), ratio(middle, True)), 3),
        "ratio_without_latency": round(ratio(middle, False), 3),
        "ratio_with_latency": round(ratio(middle, True), 3),
        "ratio_of_processor_time": round(_cost("bare", runs) / _cost("ours", runs), 3),
        "scaling": round(slow[middle] / slow[counts[0]], 2),
        "lock_wait": round(max(run.lock_wait for (kind, n, _), run in runs.items() if kind == "ours" and n == middle), 3),
    }


def _beginnings(recording: Recording, pages: int) -> Recording:
    """The first pages of every timeline, so that there are many of them."""
    kept: dict[str, Any] = {}
    seen: Counter[str] = Counter()
    for path, answer in recording.pages.items():
        key = path.split("/")[4]
        seen[key] += 1
        if seen[key] <= _FIRST and len(kept) < pages:
            kept[path] = answer
    return Recording(recording.dialect, kept, recording.keys)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="only the last line matters to a machine: one JSON object")
    parser.add_argument("--pages", type=int, default=240)
    parser.add_argument("--processes", type=int, nargs="+", default=list(PROCESSES))
    options = parser.parse_args()
    counts = tuple(options.processes)
    recording = _beginnings(record("mastodon", options.pages * 2), options.pages)
    runs = asyncio.run(measure(recording, counts, ["ours", "bare"]))
    print(msgspec.json.encode(figures(runs, counts)).decode())


if __name__ == "__main__":
    main()
