"""How many calls a coordinator hands out and takes in: `python -m benchmarks.coordinator --json`.

Workers in one process get calls and put recorded Mastodon timelines of 40 posts, eight at once, over HTTP on loopback; the
coordinator, in another process, saves them in PostgreSQL with all that belongs to it (limits, log, frontier, history, seeding).
Reference: `benchmarks/bare_coordinator.py`, two endpoints by hand with the same framework, driver, parser and tables. Both take
turns in the same run, each with a database of its own; the server is the one the tests use, without waiting for the disk.

`ratio`: ours to bare, pairs of get and put a second, the best of the turns. `ratio_of_processor_time`: bare to ours, per pair, of
the coordinator and the database together: what is left of the ratio on a busy machine. `…_in_batches`: the same with two workers
that get and put four calls at a time, as real ones do; the reference stays one by one. `p50` and `p99` of get and put are in
milliseconds, ours (`bare_…` the other); published for TwitterEcho's server: 110 and 150.
"""

from __future__ import annotations

import argparse
import asyncio
import multiprocessing
import statistics
import time
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from datetime import timedelta
from multiprocessing.connection import Connection as Pipe
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import aiohttp
import asyncpg
import msgspec
import psutil
import zstandard
from msgspec import Struct
from starlette.applications import Starlette

from benchmarks.bare_coordinator import BareCoordinator, prepare
from benchmarks.engine import _crawl_file
from benchmarks.recorded import Recording, Served, record, served
from bowerbird.app import Outside, Participation, open_crawl, open_store, vocabulary
from bowerbird.clock import RealClock
from bowerbird.crawl.process.workers.identity import myself
from bowerbird.db import open_database
from bowerbird.evaluate.laboratory import TokenVault
from bowerbird.evaluate.postgres import Server, run_postgres
from bowerbird.flows.files.crawl_file import parse_crawl
from bowerbird.model import Answer, Credential, Leased, Offer, Request, Service
from bowerbird.remote import tokens
from bowerbird.remote.coordinator import Opened
from bowerbird.remote.desk import Desk
from bowerbird.remote.roster import Roster
from bowerbird.remote.routes import fleet_routes
from bowerbird.remote.tokens import TokenCheck
from bowerbird.remote.wire import Enrol, Get, Put, Settle
from bowerbird.remote.worker.link import Address, Link
from bowerbird.simulated.tokens import Token
from bowerbird.store import register_service
from bowerbird.transport import HttpTransport
from bowerbird.transport.serving import Listening, serving

AT_ONCE = 8
_BATCH = 4
"""Calls that a worker gets and puts at once where batches are measured, as a real worker does."""
_PATIENCE = 120
"""Seconds after which somebody who gets nothing gives up."""
_WARM = 24
"""Pairs before it is measured: until then server and driver are still learning their statements."""
_CRAWL = "crash"
_SERVICE = Service(name="bench", provider="mastodon", base="https://recorded.example")
_HURRY = {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off"}

Step = Callable[[], Awaitable[bool]]


class Times(Struct):
    """Milliseconds of every get and put."""

    get: list[float] = []
    put: list[float] = []

    def quantile(self, name: str, share: float) -> float:
        return statistics.quantiles(getattr(self, name), n=100)[round(share * 100) - 1]


class Run(Struct, frozen=True):
    """One turn."""

    pairs_per_second: float
    processor_time: float
    """Seconds per pair, of the coordinator and the database."""
    times: Times


# -- the coordinators, each in a process of its own -------------------------------------------------------------------


def ours(pipe: Pipe, url: str, text: str) -> None:
    asyncio.run(_ours(pipe, url, text))


async def _ours(pipe: Pipe, url: str, text: str) -> None:
    clock = RealClock()
    plan = msgspec.structs.replace(parse_crawl(text, Path("bench.toml"), vocabulary()), store=url, name=_CRAWL)
    base = plan.services[0].service.base
    vault = TokenVault("mastodon", [Token(value="bench", kind="app")], base=base)
    transport = HttpTransport(clock, "bowerbird-benchmark")
    offered = tuple(vault.credentials())
    outside = Outside(
        clock=clock,
        transport=transport,
        vault=vault,
        is_paced=False,
        participation=Participation(makes_calls=False, offered=offered),
    )
    async with AsyncExitStack() as stack:
        database = await stack.enter_async_context(open_store(url, clock))
        crawl = await stack.enter_async_context(open_crawl(plan, outside))
        desk = Desk(Roster(database, clock, _CRAWL), clock)
        desk.open(Opened(source=crawl.dispatch.source, worker=crawl.dispatch.me.number(), facets=frozenset({"timeline"})))
        running = asyncio.create_task(crawl.process.run(crawl.seeds, slots=1, watch_every=timedelta(seconds=1)))
        app = Starlette(routes=fleet_routes(desk, TokenCheck(database, clock), clock))
        address = await stack.enter_async_context(serving(app, Listening()))
        async with database.transaction() as tx:
            token = await tokens.add(tx, "bench", clock.now())
        pipe.send((address, token, offered[0]))
        await asyncio.to_thread(pipe.recv)
        crawl.process.end("measured")
        await running
        await transport.close()


def bare(pipe: Pipe, url: str, text: str) -> None:
    asyncio.run(_bare(pipe, url))


async def _bare(pipe: Pipe, url: str) -> None:
    pool = await asyncpg.create_pool(url, min_size=1, max_size=4)
    async with serving(BareCoordinator(pool, _SERVICE).app(), Listening()) as address:
        pipe.send((address, "", None))
        await asyncio.to_thread(pipe.recv)
    await pool.close()


# -- the workers ------------------------------------------------------------------------------------------------------


def _page(recording: Recording, request: Request) -> tuple[dict[str, str], bytes]:
    return recording.pages[f"{request.path}?{urlencode(request.query)}"]


async def _our_step(link: Link, offer: Offer, recording: Recording, times: Times) -> bool:
    began = time.perf_counter()
    work = await link.ask("get", Get(offer=offer, once=str(began)))
    got = time.perf_counter()
    if not isinstance(work, Leased):
        await asyncio.sleep(0.005)
        return False
    now, calls = RealClock().now(), []
    for lease in work.leases:
        headers, body = _page(recording, lease.request)
        calls.append(Settle(lease.call, Answer(status=200, headers=headers, body=body, sent_at=now, received_at=now)))
    put_at = time.perf_counter()
    await link.ask("put", Put(worker=offer.worker, calls=tuple(calls)))
    # One for each call: of a batch all take as long as the batch.
    times.put += [(time.perf_counter() - put_at) * 1000] * len(calls)
    times.get += [(got - began) * 1000] * len(calls)
    return True


async def _bare_step(session: aiohttp.ClientSession, base: str, recording: Recording, times: Times) -> bool:
    began = time.perf_counter()
    async with session.post(f"{base}/get") as response:
        work = msgspec.msgpack.decode(await response.read(), type=tuple[int, Request] | None)
    got = time.perf_counter()
    if work is None:
        return False
    headers, page = _page(recording, work[1])
    body = zstandard.ZstdCompressor(level=3).compress(msgspec.msgpack.encode((work[0], headers, page)))
    put_at = time.perf_counter()
    async with session.post(f"{base}/put", data=body) as response:
        await response.read()
    times.put.append((time.perf_counter() - put_at) * 1000)
    times.get.append((got - began) * 1000)
    return True


async def _worked(step: Step, times: Times, pairs: int, workers: int) -> None:
    """Several workers at once, until there are so many pairs more."""
    wanted = len(times.put) + pairs

    give_up = time.perf_counter() + _PATIENCE

    async def worker() -> None:
        while len(times.put) < wanted:
            if not await step() and time.perf_counter() > give_up:
                raise SystemExit(f"only {len(times.put)} pairs came within {_PATIENCE} s: the coordinator hands nothing out")

    await asyncio.gather(*(worker() for _ in range(workers)))


# -- the one who measures ---------------------------------------------------------------------------------------------


class Bench(Struct, frozen=True):
    server: Server
    recording: Recording
    text: str
    pairs: int

    async def measured(self, kind: str, number: int) -> Run:
        url = await self._database(f"{kind}_{number}", kind)
        context = multiprocessing.get_context("spawn")
        mine, theirs = context.Pipe()
        process = context.Process(target=bare if kind == "bare" else ours, args=(theirs, url, self.text), daemon=True)
        workers = AT_ONCE // _BATCH if kind == "batches" else AT_ONCE
        process.start()
        try:
            base, token, key = await asyncio.to_thread(mine.recv)
            async with AsyncExitStack() as stack:
                times = Times()
                step = await self._step(stack, kind, times, (base, token, key))
                await _worked(step, times, _WARM, workers)
                times.get.clear()
                times.put.clear()
                before, began = self._used(process.pid), time.perf_counter()
                await _worked(step, times, self.pairs, workers)
                seconds, used = time.perf_counter() - began, self._used(process.pid) - before
        finally:
            mine.send("end")
            await asyncio.to_thread(process.join, 20)
            process.terminate()
        return Run(len(times.put) / seconds, used / len(times.put), times)

    async def _step(self, stack: AsyncExitStack, kind: str, times: Times, where: tuple[str, str, Credential]) -> Step:
        base, token, key = where
        if kind == "bare":
            session = await stack.enter_async_context(aiohttp.ClientSession())
            return lambda: _bare_step(session, base, self.recording, times)
        link = Link(Address(base=base, token=token), RealClock())
        stack.push_async_callback(link.close)
        me = await link.ask("enrol", Enrol(process=myself(), version="bench", credentials=(key,)))
        room = _BATCH if kind == "batches" else 1
        offer = Offer(worker=me.worker, room=room, credentials=frozenset({key.name}), facets=frozenset({"timeline"}))
        return lambda: _our_step(link, offer, self.recording, times)

    async def _database(self, name: str, kind: str) -> str:
        admin = await asyncpg.connect(self.server.url)
        await admin.execute(f"create database {name} strategy file_copy")
        await admin.close()
        url = self.server.url.replace("/postgres?", f"/{name}?")
        database = await open_database(url, RealClock())
        await database.migrate()
        if kind == "bare":
            async with database.transaction() as tx:
                await register_service(tx, _SERVICE, "mastodon")
            await prepare(url, self.recording.keys)
        await database.close()
        return url

    def _used(self, pid: int | None) -> float:
        """Processor seconds of a coordinator and of the database server so far."""
        at = f"{self.server.url.rpartition('=')[2]}/data"
        postmaster = next(each for each in psutil.process_iter(["cmdline"]) if at in " ".join(each.info["cmdline"] or ()))
        everyone = [psutil.Process(pid), postmaster, *postmaster.children(recursive=True)]
        return sum(sum(each.cpu_times()[:4]) if each is postmaster else sum(each.cpu_times()[:2]) for each in everyone)


async def measure(source: Served, recording: Recording, pairs: int, turns: int) -> dict[str, Any]:
    with run_postgres(_HURRY) as server:
        bench = Bench(server, recording, _crawl_file(source), pairs)
        runs: dict[str, list[Run]] = {"ours": [], "bare": [], "batches": []}
        for turn in range(turns):
            for kind, done in runs.items():
                done.append(await bench.measured(kind, turn))
                _tell(kind, done[-1])
    return figures(runs)


def _tell(kind: str, run: Run) -> None:
    print(
        f"{kind}: {run.pairs_per_second:6.1f} get and put a second, {run.processor_time * 1000:.1f} ms of a processor each; "
        f"get {run.times.quantile('get', 0.5):.1f} and put {run.times.quantile('put', 0.5):.1f} ms",
        flush=True,
    )


def figures(runs: dict[str, list[Run]]) -> dict[str, Any]:
    best = {kind: max(done, key=lambda run: run.pairs_per_second) for kind, done in runs.items()}
    cost = {kind: min(run.processor_time for run in done) for kind, done in runs.items()}
    told: dict[str, Any] = {
        f"{prefix}{name}_p{share:.0f}": round(best[kind].times.quantile(name, share / 100), 1)
        for kind, prefix in (("ours", ""), ("bare", "bare_"))
        for name in ("get", "put")
        for share in (50, 99)
    }
    return {
        "per_second": round(best["ours"].pairs_per_second, 1),
        "bare_per_second": round(best["bare"].pairs_per_second, 1),
        "ratio": round(best["ours"].pairs_per_second / best["bare"].pairs_per_second, 3),
        "ratio_of_processor_time": round(cost["bare"] / cost["ours"], 3),
        "ratio_in_batches": round(best["batches"].pairs_per_second / best["bare"].pairs_per_second, 3),
        "ratio_of_processor_time_in_batches": round(cost["bare"] / cost["batches"], 3),
        **told,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="only the last line matters to a machine: one JSON object")
    parser.add_argument("--pairs", type=int, default=160)
    parser.add_argument("--turns", type=int, default=2)
    options = parser.parse_args()
    # Each turn begins anew; workers that are in the middle of a batch when the last pair is counted put it all the same.
    pages = max(options.pairs * 2, options.pairs + _WARM + AT_ONCE * _BATCH)
    with served("mastodon", pages) as source:
        print(msgspec.json.encode(asyncio.run(measure(source, record("mastodon", pages), options.pairs, options.turns))).decode())


if __name__ == "__main__":
    main()
