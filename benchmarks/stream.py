"""How fast a stream becomes rows: `python -m benchmarks.stream --json`.

The same made-up messages (`benchmarks/frames.py`) of Jetstream and of the firehose (`subscribeRepos`) come over a real WebSocket
from another process, as fast as they are taken, and are measured from the start to the last commit. `bowerbird` is a crawl that
only listens, as a user would start it. The reference is the bare reader of `benchmarks/bare_stream.py`: same libraries, same
schema, `synchronous = full`, a thousand messages and their cursor per commit, raw records compressed as we do. Each pass runs in
a process and a database of its own, the two take turns in the same run, and medians are compared. Both have loaded their code
before the time begins: what a start takes is for `benchmarks/start.py` to say. The server's share of a processor shows that it is
not what is measured.

`--posts 1000000` adds what becomes of the speed once the store holds so many posts (`benchmarks/filled.py`): the messages that
come next are saved into copies of such a store, and `long_ratio` is that speed over the speed of a fresh store in the same run.
`--cold` begins with a copy of which nothing is in memory. `written_per_event` are the bytes of all its writes, until its
database was closed.
"""

from __future__ import annotations

import argparse
import asyncio
import multiprocessing
import statistics
import tempfile
import time
from collections.abc import Awaitable, Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct, structs

from benchmarks.bare_stream import BareStream
from benchmarks.filled import Filled, filled
from benchmarks.streamed import streamed
from bowerbird.app import Outside, open_crawl, vocabulary
from bowerbird.clock import RealClock
from bowerbird.db import open_database
from bowerbird.evaluate.laboratory import TokenVault
from bowerbird.flows.files.crawl_file import parse_crawl
from bowerbird.providers import provider
from bowerbird.transport import HttpTransport

_TABLES = ("users", "posts", "relations", "post_tags", "post_mentions", "media", "deletions", "unavailable")
_LOOK = timedelta(milliseconds=5)
_CHANNELS = ("jetstream", "firehose")
_LONG_EVENTS = 100_000
"""Enough for the write-ahead log to be emptied more than once."""
_CRAWL = """
concurrency = 1
flow.seeds = ["profiles"]
flow.facets.profiles.ranker = "fifo"
flow.stop.when_empty = false

[service]
name = "bench"
provider = "bluesky"
base = "{base}"

[[streams]]
channel = "{channel}"
"""


class Source(Struct, frozen=True):
    """What a reader must know of the stream."""

    channel: str
    base: str
    events: int


class Spent(Struct, frozen=True):
    """Seconds, from an arbitrary point on: a reader says when its last commit was done, before it ends in order."""

    wall: float
    processor: float

    @classmethod
    def now(cls) -> Spent:
        return cls(time.perf_counter(), time.process_time())


class Run(Struct, frozen=True):
    """One pass over all messages."""

    events_per_second: float
    reader_share: float
    """Of a processor, while it read."""
    written: float
    """Bytes an event."""
    rows: dict[str, int]


async def bowerbird(source: Source, path: Path) -> Spent:
    """The real thing, composed as for a user's crawl that only listens."""
    clock = RealClock()
    transport = HttpTransport(clock, "bowerbird-benchmark")
    outside = Outside(clock=clock, transport=transport, vault=TokenVault("bluesky", []))
    text = _CRAWL.format(base=source.base, channel=source.channel)
    plan = structs.replace(parse_crawl(text, path, vocabulary()), store=str(path))
    async with open_crawl(plan, outside) as crawl:
        run = asyncio.create_task(crawl.process.run(crawl.seeds, slots=1, watch_every=timedelta(seconds=1)))
        while crawl.tally.results < source.events:
            await clock.sleep_until(clock.now() + _LOOK)
        spent = Spent.now()
        crawl.process.end("everything was heard")
        await run
    await transport.close()
    return spent


async def reference(source: Source, path: Path) -> Spent:
    async with BareStream(source.base, str(path), source.channel) as bare:
        await bare.run(source.events)
        return Spent.now()


READERS: dict[str, Callable[[Source, Path], Awaitable[Spent]]] = {"bowerbird": bowerbird, "reference": reference}


class Begin(Struct, frozen=True):
    """With which database a pass begins: an empty one, or a copy of a filled one."""

    filled: Filled | None = None
    is_cold: bool = False

    async def make(self, path: Path) -> None:
        if self.filled is not None:
            self.filled.copy(path, is_cold=self.is_cold)
        database = await open_database(str(path), RealClock())
        await database.create_tables()
        await database.close()


async def _timed(name: str, source: Source, begin: Begin) -> Run:
    """One pass with a database of its own."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "bench.db"
        await begin.make(path)
        # Loaded when it is first asked for, in this pass of ours alone.
        provider("bluesky")
        before, written = Spent.now(), _written()
        after = await READERS[name](source, path)
        written = _written() - written
        wall, processor = after.wall - before.wall, after.processor - before.processor
        rows = await _rows(path) if begin.filled is None else {}
        return Run(source.events / wall, processor / wall, written / source.events, rows)


def _written() -> int:
    """Bytes that this process has written so far, to whatever file; 0 where the system does not tell."""
    try:
        lines = Path("/proc/self/io").read_text().splitlines()
    except OSError:
        return 0
    return next(int(line.split()[1]) for line in lines if line.startswith("wchar"))


async def _rows(path: Path) -> dict[str, int]:
    database = await open_database(str(path), RealClock())
    async with database.reading() as tx:
        counted = {table: (await tx.fetch(f"select count(*) as n from {table}"))[0]["n"] for table in _TABLES}
    await database.close()
    return counted


def _pass(name: str, source: Source, begin: Begin) -> Run:
    return asyncio.run(_timed(name, source, begin))


def _fill(base: str, count: int, path: Path) -> None:
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        pool.apply(_fill_here, (Source("jetstream", base, count), path))


def _fill_here(source: Source, path: Path) -> None:
    asyncio.run(bowerbird(source, path))


def rounds(channel: str, count: int, times: int) -> dict[str, list[Run]]:
    """Both readers in turn, each time in a fresh process."""
    runs: dict[str, list[Run]] = {name: [] for name in READERS}
    with streamed(channel, count) as served, multiprocessing.get_context("spawn").Pool(1, maxtasksperchild=1) as pool:
        print(f"{channel}: {count} messages of {served.mean_bytes} bytes", flush=True)
        for _ in range(times):
            for name, past in runs.items():
                began = served.processor_seconds()
                run = pool.apply(_pass, (name, Source(channel, served.base, count), Begin()))
                share = (served.processor_seconds() - began) * run.events_per_second / count
                past.append(run)
                print(f"{_line(name, run)}   server {share:4.0%} of a core   {run.rows}", flush=True)
    return runs


def long_rounds(channel: str, begin: Begin, count: int, times: int) -> list[Run]:
    """bowerbird alone, in a store that is filled already."""
    assert begin.filled is not None
    with (
        streamed(channel, count, begin.filled.following) as served,
        multiprocessing.get_context("spawn").Pool(1, maxtasksperchild=1) as pool,
    ):
        runs = []
        for _ in range(times):
            runs.append(pool.apply(_pass, ("bowerbird", Source(channel, served.base, count), begin)))
            print(_line("filled", runs[-1]), flush=True)
    return runs


def _line(name: str, run: Run) -> str:
    return (
        f"  {name:>9} {run.events_per_second:8.0f} events/s   {run.written / 1000:5.1f} KB written per event   "
        f"reader {run.reader_share:4.0%}"
    )


def _figures(runs: dict[str, list[Run]]) -> dict[str, Any]:
    speed = {name: statistics.median(run.events_per_second for run in each) for name, each in runs.items()}
    return {
        "ratio": round(speed["bowerbird"] / speed["reference"], 3),
        "events_per_second": round(speed["bowerbird"]),
        "reference_events_per_second": round(speed["reference"]),
        "ratio_of_processor_time": round(_processor_time(runs["reference"]) / _processor_time(runs["bowerbird"]), 3),
        "written_per_event": round(statistics.median(run.written for run in runs["bowerbird"])),
        "rounds": len(runs["bowerbird"]),
    }


def _long_figures(fresh: dict[str, list[Run]], runs: list[Run]) -> dict[str, Any]:
    speed = statistics.median(run.events_per_second for run in runs)
    return {
        "long_ratio": round(speed / statistics.median(run.events_per_second for run in fresh["bowerbird"]), 3),
        "long_events_per_second": round(speed),
        "long_written_per_event": round(statistics.median(run.written for run in runs)),
    }


def _processor_time(runs: list[Run]) -> float:
    """Seconds per event, the least of all runs: what a machine that is busy with other things disturbs least."""
    return min(run.reader_share / run.events_per_second for run in runs)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="only the last line matters to a machine: one JSON object")
    parser.add_argument("--events", type=int, default=40_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--posts", type=int, help="also measure a store that holds so many posts already, up to 10,000,000")
    parser.add_argument("--cold", action="store_true", help="nothing of that store is in memory when the stream begins")
    options = parser.parse_args()
    figures: dict[str, Any] = {}
    fresh = {name: rounds(name, options.events, options.rounds) for name in _CHANNELS}
    for name, runs in fresh.items():
        figures[name] = _figures(runs)
    if options.posts:
        begin = Begin(filled(options.posts, _fill), options.cold)
        assert begin.filled is not None
        figures |= {"posts": begin.filled.posts, "bytes_per_post": round(begin.filled.bytes_per_post)}
        for name in _CHANNELS:
            figures[name] |= _long_figures(fresh[name], long_rounds(name, begin, _LONG_EVENTS, 1))
    print(msgspec.json.encode(figures).decode())


if __name__ == "__main__":
    main()
