"""Is anything left of those who were forgotten? Crawls are played, some people asked to be forgotten, and the same crawl goes on.

Then their ids, handles, keys and words are searched for: in every table with payloads unpacked, in the bytes of the database and
its log, in a backup from before that is restored, and in exports from before that were gone through.
"""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Callable
from contextlib import ExitStack
from datetime import timedelta
from pathlib import Path
from typing import Any

from msgspec import Struct

from bowerbird.clock import RealClock, run_virtual
from bowerbird.db.backup import back_up, restore
from bowerbird.db.rewriting import rewrite
from bowerbird.evaluate.crash.stores import PostgresStores, SqliteStores, Stores
from bowerbird.evaluate.forget.exporting import clean_exports, found_in_exports, write_exports
from bowerbird.evaluate.forget.searching import Secret, found_in_file, found_in_tables, secrets_of
from bowerbird.evaluate.laboratory import Laboratory
from bowerbird.evaluate.postgres import start_postgres
from bowerbird.ports import Clock, Database
from bowerbird.simulated.service import Setup
from bowerbird.simulated.world import WorldSettings
from bowerbird.store.absences.forgetting import forget_as_in
from bowerbird.store.forgetting.requests import Forgetter, Wish
from bowerbird.store.opening import open_store

DIALECTS = ("bluesky", "mastodon", "twitter_v1", "x", "weibo")
_FLOW = 'flow = "timelines"'
_BUSIEST = """
select author from posts where deleted_at is null and text is not null group by author order by count(*) desc, author limit ?
"""
_BACKUP = "before.backup.db"
_EXPORTS = "exports"
Say = Callable[[str], None]


class Size(Struct, frozen=True):
    """How much is played."""

    accounts: int = 60
    forgotten: int = 5
    hours: int = 3
    """Virtual time before the request, after it, and of the crawl that goes on."""


FULL = Size()


class _Played(Struct, frozen=True, kw_only=True):
    """One crawl: what was looked for, and where it was found."""

    secrets: int
    before: int
    exported: int
    """Found in the exports from before."""
    found: dict[str, int]


def evaluate_forget(
    dialects: tuple[str, ...] = DIALECTS, size: Size = FULL, say: Say = lambda line: None, *, with_postgres: bool = True
) -> dict[str, Any]:
    """`found`: how many of the secrets are left anywhere; `by_crawl`: the same by network and database."""
    by_crawl: dict[str, dict[str, Any]] = {}
    with ExitStack() as stack:
        kinds: list[Stores] = [SqliteStores(RealClock())]
        if with_postgres:
            kinds.append(PostgresStores(stack.enter_context(start_postgres()), RealClock(), "forget"))
        for stores in kinds:
            for dialect in dialects:
                with tempfile.TemporaryDirectory() as folder:
                    played = _play(dialect, stores, Path(folder), size)
                name, left = f"{dialect}/{stores.name}", sum(played.found.values())
                by_crawl[name] = {
                    "secrets": played.secrets,
                    "found_before": played.before,
                    "exported_before": played.exported,
                    "found": left,
                    "where": played.found,
                }
                say(f"{name}: {played.secrets} secrets, {played.before} found before, {left} after")
    return {"found": sum(each["found"] for each in by_crawl.values()), "by_crawl": by_crawl}


def _play(dialect: str, stores: Stores, folder: Path, size: Size) -> _Played:
    store = asyncio.run(stores.fresh(folder))
    setup = Setup(
        dialect=dialect, world=WorldSettings(seed=5, accounts=size.accounts, following=9.0, longest_history=150), tokens=1
    )
    told = run_virtual(lambda clock: _crawled_and_forgotten(setup, clock, (store, folder), size))
    asyncio.run(rewrite(store, RealClock()))
    found = asyncio.run(_search(store, folder, told.secrets))
    return _Played(secrets=len(told.secrets), before=told.before, exported=told.exported, found=found)


class _Told(Struct):
    """Who is to go, and what would tell of them."""

    forgotten: list[int]
    secrets: list[Secret]
    before: int
    exported: int


async def _crawled_and_forgotten(setup: Setup, clock: Clock, where: tuple[str, Path], size: Size) -> _Told:
    """A crawl during which people are forgotten, and one that goes on after it; `where`: the store, and a folder."""
    laboratory, (store, folder) = Laboratory(setup, clock), where
    told = _Told([], [], 0, 0)
    for turn in range(2):
        plan = laboratory.plan(f"{_FLOW}\nconcurrency = 4", laboratory.keys(), store=store)
        async with laboratory.crawl(plan) as crawl:
            running = asyncio.create_task(laboratory.run(crawl))
            await clock.sleep_until(clock.now() + timedelta(hours=size.hours))
            # The crawl goes on meanwhile.
            if turn == 0:
                await back_up(store, folder / _BACKUP, clock)
                told = await _chosen(crawl.database, clock, folder / _EXPORTS, size)
                wish = Wish(who="evaluation", why="measured", users=frozenset(told.forgotten))
                await Forgetter(crawl.database, clock).forget(wish)
                await clock.sleep_until(clock.now() + timedelta(hours=size.hours))
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)
    return told


async def _chosen(database: Database, clock: Clock, exports: Path, size: Size) -> _Told:
    """Those who write most, what is known of them, and where it stands before they go."""
    async with database.reading() as tx:
        people = [row["author"] for row in await tx.fetch(_BUSIEST, size.forgotten)]
        secrets = await secrets_of(tx, people)
    await write_exports(database, exports, clock)
    exported = len(found_in_exports(exports, secrets))
    return _Told(people, secrets, len(await found_in_tables(database, secrets)), exported)


async def _search(store: str, folder: Path, secrets: list[Secret]) -> dict[str, int]:
    clock, restored = RealClock(), str(folder / "restored.db")
    await restore(folder / _BACKUP, restored, clock)
    async with open_store(store, clock) as known:
        found = {"tables": len(await found_in_tables(known, secrets))}
        await clean_exports(known, folder / _EXPORTS, clock)
        found["exports"] = len(found_in_exports(folder / _EXPORTS, secrets))
        async with open_store(restored, clock) as database:
            await forget_as_in(known, database, clock)
            found["restored backup"] = len(await found_in_tables(database, secrets))
    await rewrite(restored, clock)
    files = [Path(restored), *(Path(store + ending) for ending in ("", "-wal") if "://" not in store)]
    found["bytes"] = sum(len(found_in_file(path, secrets)) for path in files if path.is_file())
    return found
