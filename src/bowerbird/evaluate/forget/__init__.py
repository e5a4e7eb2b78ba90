"""Is anything left of what had to go? Crawls are played in which people are forgotten on request, opt out by the sign of their
network or by a list, are suspended, and posts are deleted; and the same crawls go on.

Then their ids, handles and words are searched for: in every table with payloads unpacked, in what was set aside, in the bytes of
the database and its log, in the folder of pictures, in a backup from before that is restored, and in exports from before that
were gone through, and from after.
"""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from bowerbird.clock import RealClock, run_virtual
from bowerbird.evaluate.crash.stores import PostgresStores, SqliteStores, Stores
from bowerbird.evaluate.forget.playing import Size, Stage
from bowerbird.evaluate.postgres import start_postgres
from bowerbird.simulated.faults import Faults
from bowerbird.simulated.service import Setup
from bowerbird.simulated.world import WorldSettings

__all__ = ["DIALECTS", "FULL", "Size", "evaluate_forget"]

DIALECTS = ("bluesky", "mastodon", "twitter_v1", "x", "weibo")
FULL = Size()
_SPOILT = 0.04
"""Of the answers one item is of a wrong type: it is set aside with whatever it holds."""
Say = Callable[[str], None]


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
                    # Another world for each: they share a server and its log.
                    figures = _figures(dialect, stores, Path(folder), (size, 5 + len(by_crawl)))
                name = f"{dialect}/{stores.name}"
                by_crawl[name] = figures
                say(f"{name}: {figures['secrets']} secrets, {figures['found_before']} found before, {figures['found']} after")
    return {"found": sum(each["found"] for each in by_crawl.values()), "by_crawl": by_crawl}


def _figures(dialect: str, stores: Stores, folder: Path, played: tuple[Size, int]) -> dict[str, Any]:
    size, seed = played
    world = WorldSettings(seed=seed, accounts=size.accounts, following=9.0, longest_history=150)
    setup = Setup(dialect=dialect, world=world, tokens=1, faults=Faults(rates={"wrong_types": _SPOILT}))
    stage = Stage(setup, asyncio.run(stores.fresh(folder)), folder, size)
    told = run_virtual(stage.play)
    where = asyncio.run(stage.search(told.leaving))
    leaving = told.leaving
    return {
        "left": {
            "forgotten": len(leaving.forgotten),
            "opted out": len(leaving.signing),
            "on an opt-out list": len(leaving.listed),
            "suspended": len(leaving.suspended),
            "posts deleted": len(leaving.deleted),
        },
        "secrets": len(leaving.secrets),
        "found_before": told.before,
        "exported_before": told.exported,
        "set_aside_before": told.quarantined,
        "pictures_before": told.pictures,
        "found": sum(where.values()),
        "where": where,
    }
