"""A real Bluesky network on this machine, crawled by the real command and compared with what was written: `make test-real`.

Prints what it does; the last line is one JSON object. Exit code 1 when anything differs, 0 also when the machine has no Node.
"""

from __future__ import annotations

import asyncio
import signal
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import msgspec
from crawls import CrawlFailed
from machine import InstallationFailed, Machine, Missing, prepared
from network import NetworkFailed, started
from scenes import Scenes
from written import FOLLOW, POST, Written

from bowerbird.clock import RealClock
from bowerbird.errors import UserError

CACHE = Path(__file__).parents[2] / ".cache" / "real-bluesky"
ACCOUNTS = 40
POSTS = 1_500
ALL = ("timelines", "graph", "hydrate", "standing", "repositories", "logged_in", "killed", "firehose", "refused")


def main(names: Sequence[str]) -> int:
    unknown = [name for name in names if name not in ALL]
    if unknown:
        print(f"make test-real: there is no scene {unknown[0]!r}; there are {', '.join(ALL)}", file=sys.stderr)
        return 1
    # An orderly end also when we are told to end: everything that was started is ended first.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        machine = prepared(CACHE)
    except Missing as missing:
        print(f"make test-real: skipped, because {missing}")
        return 0
    except InstallationFailed as failed:
        print(f"make test-real: {failed}", file=sys.stderr)
        return 1
    try:
        return asyncio.run(_run(machine, names))
    except (CrawlFailed, NetworkFailed, UserError) as failed:
        print(f"make test-real: {failed}", file=sys.stderr)
        return 1


async def _run(machine: Machine, names: Sequence[str]) -> int:
    clock = RealClock()
    began = clock.now()
    with tempfile.TemporaryDirectory(prefix="bb-real-") as name:
        folder = Path(name)
        async with started(machine, folder, seed=1, accounts=ACCOUNTS, posts=POSTS) as network:
            print(f"The network is up after {(clock.now() - began).total_seconds():.0f} s; it is being filled …", flush=True)
            written = Written.of(await network.command("fill"))
            print(f"Filled after {(clock.now() - began).total_seconds():.0f} s: {_told(written)}", flush=True)
            scenes = Scenes(network, written, folder, clock)
            for name in names or ALL:
                await getattr(scenes, name)()
    written = scenes.written
    figures = {
        "accounts": len(written.accounts),
        "posts": len(written.every_post),
        "relations": len(written.follow_records),
        **msgspec.to_builtins(scenes.figures),
        "seconds": round((clock.now() - began).total_seconds()),
    }
    print(msgspec.json.encode(figures).decode())
    return 1 if scenes.figures.differences else 0


def _told(written: Written) -> str:
    counts = {name: sum(each.collection == name for each in written.records) for name in (POST, FOLLOW)}
    return (
        f"{len(written.accounts)} accounts ({len(written.gone)} of them gone), {counts[POST]:,} posts, {counts[FOLLOW]} follows, "
        f"{len(written.records):,} records in all, {len(written.deleted)} of them taken back"
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
