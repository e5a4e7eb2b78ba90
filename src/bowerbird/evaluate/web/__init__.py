"""Can anybody get into the dashboard who should not, or have a browser run what a network said?

A real dashboard over real HTTP on loopback, on a crawled store whose every text is markup, is attacked in every way we know: by
strangers and by people with too low a role on every address, with forged, stolen and expired sessions, without the token of a
page, from other hosts, by paths that climb, bodies without end, pages that are called pictures, crawl files that reach for the
machine, and a thousand logins. Then every page is read by a parser and,
where there is Chromium, shown without the content policy, so that whatever was not escaped runs.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from msgspec import Struct

from bowerbird.clock import RealClock
from bowerbird.evaluate.web.body_attacks import (
    attack_bodies,
    attack_caches,
    attack_live,
    attack_logins,
    attack_paths,
)
from bowerbird.evaluate.web.browser import browse, chromium
from bowerbird.evaluate.web.counting import Tally
from bowerbird.evaluate.web.file_attacks import attack_files, attack_reach
from bowerbird.evaluate.web.markup import read_pages
from bowerbird.evaluate.web.people_attacks import (
    attack_keys,
    attack_origins,
    attack_redirects,
    attack_roles,
    attack_sessions,
    attack_tokens,
)
from bowerbird.evaluate.web.stage import Build, Stage, crawl_into, staged
from bowerbird.web.dashboard import dashboard

__all__ = ["Wish", "evaluate_web"]

_ATTACKS = {
    "roles": attack_roles,
    "sessions": attack_sessions,
    "tokens": attack_tokens,
    "origins": attack_origins,
    "redirects": attack_redirects,
    "keys": attack_keys,
    "paths": attack_paths,
    "bodies": attack_bodies,
    "caches": attack_caches,
    "live": attack_live,
    "files": attack_files,
    "reach": attack_reach,
}


class Wish(Struct, frozen=True, kw_only=True):
    """How thoroughly, and what is attacked."""

    logins: int = 1_000
    of_a_kind: int = 4
    """Pages of one kind that are looked at."""
    only: tuple[str, ...] = ()
    """Kinds of attacks; none: all."""
    with_browser: bool = True
    build: Build = dashboard
    say: Callable[[str], None] = print


KINDS = (*_ATTACKS, "markup", "logins")


def evaluate_web(wish: Wish) -> dict[str, Any]:
    """Attacks; the figures."""
    clock = RealClock()
    began = clock.now()
    with TemporaryDirectory(prefix="bowerbird-web-") as folder:
        crawl_into(Path(folder))
        tally, more = asyncio.run(_attacked(Path(folder), wish))
    return {
        "tried": sum(tally.tried.values()),
        "let_in": len(tally.let_in),
        "executed": len(tally.executed),
        "failed": len(tally.failed),
        **more,
        "pages_with_markup": len(tally.marked),
        **tally.measured,
        "by_kind": dict(sorted(tally.tried.items())),
        "what": [*tally.let_in, *tally.executed][:50],
        "failures": tally.failed[:50],
        "seconds": round((clock.now() - began).total_seconds(), 1),
        "is_clean": not tally.let_in and not tally.executed,
    }


async def _attacked(folder: Path, wish: Wish) -> tuple[Tally, dict[str, Any]]:
    tally = Tally(say=wish.say)
    async with staged(folder, wish.build) as stage:
        wish.say(f"{stage.marked.fields} fields of the store hold markup, in {stage.marked.rows:,} places")
        for name, attack in _ATTACKS.items():
            if not wish.only or name in wish.only:
                await attack(stage, tally)
                wish.say(f"{name}: {sum(tally.tried.values()):,} attacks so far, {len(tally.let_in)} let in")
        pages = await _looked_at(stage, tally, wish)
        # Last: afterwards nobody can log in for a while.
        if not wish.only or "logins" in wish.only:
            await attack_logins(stage, tally, wish.logins)
        told = {
            "fields": stage.marked.fields,
            "fields_without": len(stage.marked.left_out),
            "pages": len(pages),
            "routes": len(stage.routes),
        }
        return tally, told | {"chromium": wish.with_browser and chromium() is not None}


async def _looked_at(stage: Stage, tally: Tally, wish: Wish) -> list[str]:
    if wish.only and "markup" not in wish.only:
        return []
    pages = await read_pages(stage, tally, wish.of_a_kind)
    wish.say(f"markup: {len(pages)} pages, {len(tally.executed)} with markup that came to life, {len(tally.failed)} failed")
    program = chromium() if wish.with_browser else None
    if program is not None:
        await browse(stage, tally, [*pages, *stage.shown], program)
    elif wish.with_browser:
        wish.say("there is no Chromium with Playwright here: pages were read by a parser alone")
    return pages
