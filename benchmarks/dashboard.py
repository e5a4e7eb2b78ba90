"""How quick the dashboard is, and what it costs the crawl beside it: `python -m benchmarks.dashboard --json`.

Pages: every address of the dashboard that is asked with GET, found by walking its routes and filled with real ids, over a store
of a million posts (`benchmarks/large_store.py` makes it, the cache folder keeps it). The dashboard is a process of its own, asked
over HTTP on one connection, as a browser would; every page takes turns with an empty one of the same application: layout, login
and all, without content. `ratio` is the worst page: its 95th percentile over that of the empty page, by the clock;
`processor_ratio` the same by the processor time of the dashboard, which other programs disturb less. Downloads and what is pushed
are no pages and left out; what this store has nothing of (a community, an event) is named under `unreached`. `searches` are
questions that look through the store, told apart: they are asked by people, not by opening a page.

Watchers: the crawl of `benchmarks/engine.py` with a dashboard over its store, in alternation with twenty watchers of everything
that is pushed and with none. `kept` is the share of its pages per second that it keeps, by medians.
"""

from __future__ import annotations

import argparse
import asyncio
import re
import statistics
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote, urlsplit

import msgspec
from msgspec import Struct

from benchmarks.engine import engine
from benchmarks.large_store import CHOSEN, POSTS_EACH, SERVICE, handle_of, large_store
from benchmarks.recorded import Served, served
from benchmarks.shown import EMPTY, Browser, Shown, shown
from bowerbird.clock import RealClock
from bowerbird.db import open_database
from bowerbird.settings import load_settings

WATCHERS = 20
CRAWLED = "bench"
"""The crawl that is watched."""
_CRAWL = "large"
_NO_PAGES = re.compile(r"^/(assets|live|enter|login|logout|favicon)|\.(csv|jsonl|gexf|xlsx)$")
_LIVE = re.compile(r'data-live="([^"]+)"')
_WATCHED = ("/", "/crawls", f"/crawls/{CRAWLED}", "/work", "/machine", "/steering")
_PART = re.compile(r"\{(\w+)(?::\w+)?\}")


class Known(Struct, frozen=True):
    """An account of the store, with which addresses are filled."""

    number: int

    @property
    def user(self) -> str:
        return f"{SERVICE.base}/users/{handle_of(self.number)}"

    @property
    def post(self) -> str:
        return f"{self.user}/statuses/{self.number * POSTS_EACH + 3}"

    def addresses(self, route: str) -> Iterator[str]:
        """Yield the addresses that a route may stand for, filled with what the store has."""
        filled = {
            "id": (self.user, self.post),
            "user": (self.user,),
            "post": (self.post,),
            "name": (_CRAWL, "posts", "flood"),
            "crawl": (_CRAWL,),
            "said": ("yes",),
            "which": ("undecided",),
        }
        otherwise = (_CRAWL, self.user, self.post, "posts", "users", "1")
        # This route answers only a question about an account.
        question = f"?account={quote(self.user, safe='')}" if route == "/figures/around/ties" else ""
        for values in product(*(filled.get(name, otherwise) for name in _PART.findall(route))):
            parts = iter(values)
            yield _PART.sub(lambda _: quote(next(parts), safe=""), route) + question  # noqa: B023 - used at once

    def searches(self) -> dict[str, str]:
        """Return the addresses of searches by name."""
        handle = handle_of(self.number)
        return {
            "a common word": "/data/posts?q=something",
            "a word that nobody used": "/data/posts?q=zzzz",
            "an author": f"/data/posts?user=@{handle}",
            "sorted by likes": "/data/posts?sort=likes",
            "users sorted by followers": "/data/users?sort=followers",
            "whom everybody follows": f"/data/relations?followed=@{handle}",
        }


class Measured(Struct, frozen=True, kw_only=True):
    """What one page took, in milliseconds at the 95th percentile, and how that compares with an empty one."""

    milliseconds: float
    ratio: float
    processor_milliseconds: float
    processor_ratio: float


class Taken(NamedTuple):
    """Milliseconds of one answer."""

    clock: float
    processor: float


def reachable(where: Shown, browser: Browser, known: Known) -> tuple[list[str], list[str]]:
    """One address of each page that answers, and the routes of which none does."""
    found: list[str] = []
    unreached: list[str] = []
    for route in where.routes:
        if _NO_PAGES.search(route):
            continue
        statuses = {address: browser.get(address).status for address in known.addresses(route)}
        good = [address for address, status in statuses.items() if status == 200]
        if good:
            found.append(good[0])
        elif not {303, 307} & set(statuses.values()):
            unreached.append(f"{route} ({', '.join(str(each) for each in sorted(set(statuses.values())))})")
    return found, unreached


def measured(browser: Browser, pages: Sequence[str], rounds: int) -> tuple[float, dict[str, Measured]]:
    """The empty page's 95th percentile in milliseconds, and each page."""
    taken: dict[str, list[Taken]] = {page: [] for page in pages}
    empty: list[Taken] = []
    for number in range(rounds + 1):
        for page in pages:
            nothing, something = _took(browser, EMPTY), _took(browser, page)
            if number:
                # The first round fills caches, as the first reader does.
                empty.append(nothing)
                taken[page].append(something)
    base = _late(empty)
    return round(base.clock, 2), {page: _compared(_late(each), base) for page, each in taken.items()}


def _compared(late: Taken, base: Taken) -> Measured:
    return Measured(
        milliseconds=round(late.clock, 2),
        ratio=round(late.clock / base.clock, 2),
        processor_milliseconds=round(late.processor, 2),
        processor_ratio=round(late.processor / base.processor, 2),
    )


def _took(browser: Browser, page: str) -> Taken:
    began = time.perf_counter()
    answered = browser.get(page)
    if answered.status >= 400:
        raise RuntimeError(f"{page} answered {answered.status}")
    return Taken((time.perf_counter() - began) * 1000, answered.processor)


def _late(times: Sequence[Taken]) -> Taken:
    """The 95th percentiles."""
    clock, processor = zip(*times, strict=True)
    return Taken(statistics.quantiles(clock, n=20)[-1], statistics.quantiles(processor, n=20)[-1])


def pages_of(store: Path, rounds: int, known: Known) -> dict[str, Any]:
    """All pages over a large store."""
    with shown(str(store)) as where:
        browser = Browser(where)
        pages, unreached = reachable(where, browser, known)
        base, told = measured(browser, pages, rounds)
        _, searches = measured(browser, list(known.searches().values()), max(rounds // 4, 3))
    worst = max(told, key=lambda page: told[page].ratio)
    print(f"an empty page: {base:.2f} ms at the 95th percentile", flush=True)
    for page, each in sorted(told.items(), key=lambda pair: -pair[1].processor_ratio):
        _tell(each, page)
    for route in unreached:
        print(f"  nothing of this in the store: {route}", flush=True)
    names = {address: name for name, address in known.searches().items()}
    for page, each in searches.items():
        _tell(each, f"search: {names[page]}")
    return {
        "ratio": told[worst].ratio,
        "worst": worst,
        "processor_ratio": max(each.processor_ratio for each in told.values()),
        "empty_milliseconds": base,
        "pages": {page: msgspec.structs.asdict(each) for page, each in told.items()},
        "slow": sorted(page for page, each in told.items() if each.ratio > 5),
        "searches": {names[page]: msgspec.structs.asdict(each) for page, each in searches.items()},
        "unreached": unreached,
    }


def _tell(each: Measured, page: str) -> None:
    print(
        f"  {each.ratio:6.2f} x  {each.milliseconds:8.2f} ms   processor {each.processor_ratio:6.2f} x  "
        f"{each.processor_milliseconds:8.2f} ms  {page}",
        flush=True,
    )


def _pushed(browser: Browser) -> list[str]:
    """The parts of pages that are pushed anew while they change."""
    pages = [browser.get(page).body.decode() for page in _WATCHED]
    return sorted({path for page in pages for path in _LIVE.findall(page)})


async def _watch(where: Shown, cookie: str, path: str) -> int:
    """Reads what is pushed until the connection ends; answers how many bytes came."""
    parts = urlsplit(where.base)
    reader, writer = await asyncio.open_connection(parts.hostname, parts.port)
    writer.write(f"GET {path} HTTP/1.1\r\nHost: {parts.netloc}\r\nCookie: {cookie}\r\n\r\n".encode())
    heard = 0
    with suppress(asyncio.CancelledError, ConnectionError):
        while got := await reader.read(65_536):
            heard += len(got)
    writer.close()
    return heard


async def _crawled(source: Served, watchers: int) -> tuple[float, int]:
    """Pages per second of a crawl with a dashboard over its store, and what watchers heard."""
    with tempfile.TemporaryDirectory() as folder:
        store = Path(folder) / "bench.db"
        database = await open_database(str(store), RealClock())
        await database.create_tables()
        await database.close()
        with shown(str(store)) as where:
            browser = Browser(where)
            began = time.perf_counter()
            crawling = asyncio.create_task(engine(source, store))
            # What a page pushes is known once the crawl is there.
            await asyncio.sleep(1)
            live = await asyncio.to_thread(_pushed, browser) if watchers else []
            watching = [asyncio.create_task(_watch(where, browser.cookie, live[n % len(live)])) for n in range(watchers)]
            await crawling
            took = time.perf_counter() - began
            for task in watching:
                task.cancel()
            # A watcher that was cancelled before it connected heard nothing.
            told = await asyncio.gather(*watching, return_exceptions=True)
            heard = sum(each for each in told if isinstance(each, int))
        return source.pages / took, heard


def kept(pages: int, rounds: int) -> dict[str, Any]:
    """The share of its pages per second that a crawl keeps while twenty people watch."""
    alone: list[float] = []
    seen: list[float] = []
    heard = 0
    with served("mastodon", pages) as source:
        for _ in range(rounds):
            alone.append(asyncio.run(_crawled(source, 0))[0])
            speed, told = asyncio.run(_crawled(source, WATCHERS))
            seen.append(speed)
            heard += told
            print(
                f"  alone {alone[-1]:6.1f} pages/s   with {WATCHERS} watchers {seen[-1]:6.1f}   {told:,} bytes pushed", flush=True
            )
    return {
        "kept": round(statistics.median(seen) / statistics.median(alone), 3),
        "pages_per_second_alone": round(statistics.median(alone), 1),
        "pages_per_second_watched": round(statistics.median(seen), 1),
        "watchers": WATCHERS,
        "bytes_pushed": heard,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="only the last line matters to a machine: one JSON object")
    parser.add_argument("--posts", type=int, default=1_000_000, help="of the store; 0 leaves the pages out")
    parser.add_argument("--rounds", type=int, default=40, help="how often each page is asked for, at least twice")
    parser.add_argument("--pages", type=int, default=1_000, help="of the crawl that is watched; 0 leaves it out")
    parser.add_argument("--crawls", type=int, default=3, help="how often it runs with and without watchers")
    parser.add_argument("--folder", type=Path, help="where stores are kept; default: the cache folder")
    options = parser.parse_args()
    if options.rounds < 2:
        parser.error("--rounds: a percentile needs two rounds at least")
    folder = options.folder or load_settings().cache_folder / "benchmarks"
    figures: dict[str, Any] = {}
    if options.posts:
        # In a store too small for the usual account, the last one.
        known = Known(min(CHOSEN, max(0, options.posts // POSTS_EACH - 1)))
        figures |= pages_of(large_store(options.posts, folder), options.rounds, known)
    if options.pages:
        figures |= kept(options.pages, options.crawls)
    print(msgspec.json.encode(figures).decode())


if __name__ == "__main__":
    main()
