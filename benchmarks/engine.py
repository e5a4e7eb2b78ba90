"""How fast the engine is: `python -m benchmarks.engine --json`.

Pages: the real engine (frontier, ledgers, query log, history, quarantine) crawls recorded Mastodon timelines of 40 posts over
real HTTP without feeling a limit. Reference: the bare loop of `benchmarks/bare.py`, same libraries, pages, concurrency, schema
and `synchronous = full`. The bare loop commits once per page; the engine's transactions share commits when they end together, so
it makes fewer of them, and that is part of its figure. `own_parts` is our provider and store in such a loop, without the engine
around them. The three take turns in the same run and medians are compared; the server is another process that answers from
memory, and its share of a processor is printed to show that it is not what is measured.

Virtual time: hours of a `timelines` crawl of 20,000 accounts (Twitter v1.1, 4 tokens, every profile looked up every 15 minutes)
per real minute, simulated service included. The world has little history (a few posts per account before the first day), and
the first hour, in which every timeline is visited once, is told apart: it costs several times as much as the later ones.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import tempfile
import time
from collections.abc import Awaitable, Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from benchmarks.bare import BareLoop
from benchmarks.recorded import ALLOWANCE, WINDOW, Served, served
from bowerbird.app import Outside, open_crawl, vocabulary
from bowerbird.clock import RealClock, VirtualClock, run_virtual
from bowerbird.crawl.process.tally import Tally
from bowerbird.db import open_database
from bowerbird.evaluate.laboratory import Laboratory, TokenVault
from bowerbird.flows.files.crawl_file import parse_crawl
from bowerbird.model import Ask, Progress, Service, Task
from bowerbird.ports import Database
from bowerbird.providers import provider
from bowerbird.simulated.service import Setup
from bowerbird.simulated.tokens import Token
from bowerbird.simulated.world import WorldSettings
from bowerbird.store import Store
from bowerbird.store.services import register_service
from bowerbird.transport import HttpTransport

SLOTS = 8
_FIRST_VISITS = timedelta(hours=1)
SERVICE = "bench"
_TABLES = ("users", "posts", "post_keys", "post_tags", "post_mentions", "media")
_PLAN = """
concurrency = {slots}
flow.seeds = ["timeline"]
flow.facets.timeline.ranker = "fifo"
seeds = {seeds}

[service]
name = "{name}"
provider = "{dialect}"
base = "{base}"
limits."*" = {{{limits}}}
"""

Loop = Callable[[Served, Path], Awaitable[None]]


class Run(Struct, frozen=True):
    """One pass over all recorded pages."""

    pages_per_second: float
    client_share: float
    server_share: float
    rows: dict[str, int]


async def engine(source: Served, path: Path) -> None:
    """The real thing, composed as for a user's crawl."""
    clock = RealClock()
    transport = HttpTransport(clock, "bowerbird-benchmark")
    vault = TokenVault(source.dialect, [Token(value="bench", kind="app")], base=source.base)
    outside = Outside(clock=clock, transport=transport, vault=vault, is_paced=False)
    plan = msgspec.structs.replace(parse_crawl(_crawl_file(source), path, vocabulary()), store=str(path))
    async with open_crawl(plan, outside) as crawl:
        await crawl.process.run(crawl.seeds, slots=SLOTS, watch_every=timedelta(seconds=1))
    await transport.close()


def _crawl_file(source: Served) -> str:
    facet = provider(source.dialect).facets_for("app")["timeline"]
    names = [limit.bucket.rsplit("/", 1)[-1].strip("{}") for limit in facet.limits]
    limits = ", ".join(f'{name} = {{ allowance = {ALLOWANCE}, window = "{WINDOW.days}d" }}' for name in names)
    seeds = msgspec.json.encode(source.keys).decode()
    return _PLAN.format(slots=SLOTS, seeds=seeds, name=SERVICE, dialect=source.dialect, base=source.base, limits=limits)


async def bare(source: Served, path: Path) -> None:
    await BareLoop(source.base, str(path)).run(source.keys, SLOTS)


async def own_parts(source: Served, path: Path) -> None:
    """Our transport, provider and store, one transaction per page, and nothing else."""
    clock = RealClock()
    database = await open_database(str(path), clock)
    transport = HttpTransport(clock, "bowerbird-benchmark")
    service = Service(name=SERVICE, provider=source.dialect, base=source.base)
    async with database.transaction() as tx:
        await register_service(tx, service, provider(source.dialect).network)
    waiting, store = iter(source.keys), Store(database)
    await asyncio.gather(*(_fetch_all(waiting, service, transport, database, store) for _ in range(SLOTS)))
    await transport.close()
    await database.close()


async def _fetch_all(waiting: Any, service: Service, transport: HttpTransport, database: Database, store: Store) -> None:
    speaks, clock = provider(service.provider), RealClock()
    facet = speaks.facets["timeline"]
    for key in waiting:
        progress: Progress | None = Progress()
        while progress is not None:
            ask = Ask("timeline", (key,), progress)
            page = speaks.parse(ask, await transport.send(service, speaks.request(ask)), service)
            now = clock.now()
            task = Task(task=1, lane=1, target=key, token=1, progress=progress, added_at=now)
            async with database.transaction() as tx:
                await store.save(tx, page, service=service, tasks=[task], facet=facet, call=1, now=now)
            progress = Progress(page.cursor, None, page.head) if page.cursor else None


_QUESTIONS = 8
"""So many calls at most ask a server what it is before the first page."""


async def timed(source: Served, loop: Loop) -> Run:
    """One pass with a database of its own."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "bench.db"
        database = await open_database(str(path), RealClock())
        await database.create_tables()
        await database.close()
        calls_before, server_before = source.so_far()
        wall, cpu = time.perf_counter(), time.process_time()
        await loop(source, path)
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        calls, server = source.so_far()
        if not 0 <= calls - calls_before - source.pages <= _QUESTIONS:
            raise RuntimeError(f"the loop made {calls - calls_before} calls for {source.pages} pages: not the same work")
        return Run(source.pages / wall, cpu / wall, (server - server_before) / wall, await _rows(path))


async def _rows(path: Path) -> dict[str, int]:
    database = await open_database(str(path), RealClock())
    async with database.reading() as tx:
        counted = {table: (await tx.fetch(f"select count(*) as n from {table}"))[0]["n"] for table in _TABLES}
    await database.close()
    return counted


async def pages(dialect: str, count: int, rounds: int, loops: dict[str, Loop]) -> dict[str, list[Run]]:
    with served(dialect, count) as source:
        print(f"{dialect}: {source.pages} pages of {len(source.keys)} timelines, {source.mean_bytes // 1024} KB each", flush=True)
        runs: dict[str, list[Run]] = {name: [] for name in loops}
        for _ in range(rounds):
            for name, loop in loops.items():
                run = await timed(source, loop)
                runs[name].append(run)
                print(
                    f"  {name:>9} {run.pages_per_second:6.1f} pages/s   client {run.client_share:4.0%}   "
                    f"server {run.server_share:4.0%} of a core   {run.rows}",
                    flush=True,
                )
        return runs


def virtual(accounts: int, hours: float) -> dict[str, float]:
    """Crawls a simulated world in virtual time and compares the two clocks, once every account has been visited."""
    world = WorldSettings(accounts=accounts, longest_history=5, warm=2)

    async def work(clock: VirtualClock) -> dict[str, float]:
        laboratory = Laboratory(Setup(dialect="twitter_v1", world=world, tokens=4), clock)
        length = _FIRST_VISITS + timedelta(hours=hours)
        plan = laboratory.plan('flow = "timelines"', laboratory.keys(), f'stop.duration = "{length.total_seconds():g}s"')
        async with laboratory.crawl(plan) as crawl:
            began, end = time.perf_counter(), clock.now() + _FIRST_VISITS
            run = asyncio.create_task(laboratory.run(crawl))
            await clock.sleep_until(end)
            visited, calls = time.perf_counter(), crawl.tally.calls
            await run
            ended, refused = time.perf_counter(), laboratory.service.limiter.refused
            _tell_virtual(crawl.tally, accounts, (visited - began, ended - visited), hours)
            return {
                "virtual_hours_per_minute": round(hours / (ended - visited) * 60, 1),
                "virtual_calls_per_second": round((crawl.tally.calls - calls) / (ended - visited)),
                "virtual_first_hour_seconds": round(visited - began),
                "virtual_refused": refused,
            }

    figures: dict[str, float] = run_virtual(work)
    return figures


def _tell_virtual(tally: Tally, accounts: int, seconds: tuple[float, float], hours: float) -> None:
    print(
        f"virtual: {accounts:,} accounts, first visits (1 h) in {seconds[0]:.0f} s, then {hours:g} h in {seconds[1]:.0f} s: "
        f"{tally.calls:,} calls, {tally.posts:,} posts",
        flush=True,
    )


def _median(runs: list[Run]) -> float:
    return statistics.median(run.pages_per_second for run in runs)


def _processor_time(runs: list[Run]) -> float:
    """Seconds per page, the least of all runs: what a machine that is busy with other things disturbs least."""
    return min(run.client_share / run.pages_per_second for run in runs)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="only the last line matters to a machine: one JSON object")
    parser.add_argument("--pages", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--accounts", type=int, default=20_000)
    parser.add_argument("--hours", type=float, default=2, help="virtual hours after the first; 0 leaves it out")
    options = parser.parse_args()
    loops: dict[str, Loop] = {"engine": engine, "bare": bare, "own_parts": own_parts}
    runs = asyncio.run(pages("mastodon", options.pages, options.rounds, loops)) if options.pages else {}
    figures: dict[str, Any] = {}
    if runs:
        speed = {name: _median(each) for name, each in runs.items()}
        figures = {
            "ratio": round(speed["engine"] / speed["bare"], 3),
            "engine_pages_per_second": round(speed["engine"], 1),
            "bare_pages_per_second": round(speed["bare"], 1),
            "own_parts_pages_per_second": round(speed["own_parts"], 1),
            "ratio_to_own_parts": round(speed["engine"] / speed["own_parts"], 3),
            "ratio_of_processor_time": round(_processor_time(runs["bare"]) / _processor_time(runs["engine"]), 3),
            "server_share": round(max(run.server_share for each in runs.values() for run in each), 2),
        }
    if options.hours:
        figures |= virtual(options.accounts, options.hours)
    print(msgspec.json.encode(figures).decode())


if __name__ == "__main__":
    main()
