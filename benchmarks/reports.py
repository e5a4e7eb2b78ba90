"""How the reports of a store grow with it: `python -m benchmarks.reports --json`.

Each command's report is read from stores of several sizes, made by `benchmarks/large_store.py` and kept in the cache folder, as
the command reads it: one moment of a database that was just opened, from the first look to the last line, without the start of
the program and without the screen. SQLite works within this process, so what counts is its processor time, the least of several
runs: other programs on the machine disturb it least. The time on the clock stands beside it. `growth` is the largest among
`status` and `history`: how many times more the largest store takes than the smallest.
"""

from __future__ import annotations

import argparse
import asyncio
import resource
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from benchmarks.large_store import CHOSEN, RENAMED, SERVICE, handle_of, large_store
from bowerbird.cli.commands.crawling.status import read_page
from bowerbird.cli.which import NamedStore, read_store
from bowerbird.clock import RealClock
from bowerbird.reports.browsing.post_ids import PostIds, read_post_ids
from bowerbird.reports.completeness import VIEWS, read_completeness
from bowerbird.reports.deletions import KINDS, read_deletions
from bowerbird.reports.histories.changes import find_history
from bowerbird.settings import load_settings

FLAT = ("status", "history")
"""What must not grow."""
_QUICK = 0.5
"""Seconds: what takes less is run several times."""
_TIMES = 5


async def _status(place: NamedStore) -> None:
    await read_page(place, RealClock())


async def _history(place: NamedStore) -> None:
    """By handle, by a former one, by one that nobody has, by id, by a post's id and by its key."""
    names = (f"@{handle_of(CHOSEN)}", f"@{handle_of(RENAMED)}", "@nobody", handle_of(CHOSEN).upper())
    posts = (f"{SERVICE.base}/users/{handle_of(CHOSEN)}/statuses/{CHOSEN * 40}", str(CHOSEN * 40))
    async with read_store(place, RealClock()) as database:
        for name in (*names, f"{SERVICE.base}/users/{handle_of(CHOSEN)}", *posts):
            await find_history(database, name)


async def _completeness(place: NamedStore) -> None:
    async with read_store(place, RealClock()) as database:
        await read_completeness(database, VIEWS, top=20)


async def _dehydrate(place: NamedStore) -> None:
    async with read_store(place, RealClock()) as database:
        await _drained(read_post_ids(database, SERVICE, PostIds()))


async def _gone(place: NamedStore) -> None:
    async with read_store(place, RealClock()) as database:
        for what in KINDS:
            await _drained(read_deletions(database, what))


async def _drained(lines: AsyncIterator[Any]) -> int:
    return sum([1 async for _ in lines])


REPORTS: dict[str, Callable[[NamedStore], Awaitable[None]]] = {
    "status": _status,
    "history": _history,
    "completeness": _completeness,
    "gone": _gone,
    "dehydrate": _dehydrate,
}


class Spent(Struct, frozen=True, order=True):
    """Seconds that a report took."""

    processor: float
    clock: float


async def spent(report: Callable[[NamedStore], Awaitable[None]], place: NamedStore) -> Spent:
    """The least of several runs; one run where it takes long."""
    taken = [await _once(report, place)]
    while len(taken) < _TIMES and taken[-1].processor < _QUICK:
        taken.append(await _once(report, place))
    return min(taken)


async def _once(report: Callable[[NamedStore], Awaitable[None]], place: NamedStore) -> Spent:
    clock, processor = time.perf_counter(), time.process_time()
    await report(place)
    return Spent(time.process_time() - processor, time.perf_counter() - clock)


def measured(sizes: list[int], folder: Path) -> dict[int, dict[str, Spent]]:
    """By size and report what it takes."""
    found: dict[int, dict[str, Spent]] = {}
    smaller: Path | None = None
    for size in sizes:
        smaller = large_store(size, folder, smaller)
        found[size] = {name: asyncio.run(spent(report, NamedStore(str(smaller)))) for name, report in REPORTS.items()}
        told = "  ".join(f"{name} {took.processor:.3f} s ({took.clock:.3f})" for name, took in found[size].items())
        print(f"{size:>12,} posts  {told}", flush=True)
    return found


def figures(found: dict[int, dict[str, Spent]]) -> dict[str, Any]:
    """What a machine reads: how each report grows, and the largest growth of those that must not."""
    least, most = found[min(found)], found[max(found)]
    growth = {name: round(most[name].processor / least[name].processor, 2) for name in REPORTS}
    return {
        "growth": max(growth[name] for name in FLAT),
        "sizes": sorted(found),
        "by_report": growth,
        "seconds": {size: {name: round(took.processor, 4) for name, took in each.items()} for size, each in found.items()},
        "clock_seconds": {size: {name: round(took.clock, 4) for name, took in each.items()} for size, each in found.items()},
        "peak_megabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="only the last line matters to a machine: one JSON object")
    parser.add_argument("--sizes", default="100000,1000000,10000000", help="posts of each store, the smallest first")
    parser.add_argument("--folder", type=Path, help="where the stores are kept; default: the cache folder")
    options = parser.parse_args()
    sizes = sorted({int(size) for size in options.sizes.split(",")})
    folder = options.folder or load_settings().cache_folder / "benchmarks"
    print(msgspec.json.encode(figures(measured(sizes, folder))).decode())


if __name__ == "__main__":
    main()
