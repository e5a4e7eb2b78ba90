"""A simulated service over real HTTP in a thread of its own, for tests of commands that run their own loop."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from itertools import islice
from pathlib import Path

from msgspec import Struct

from bowerbird.clock import EPOCH, RealClock
from bowerbird.simulated.faults import Faults
from bowerbird.simulated.service import Setup, SimulatedService, simulate
from bowerbird.simulated.serving.http import serve
from bowerbird.simulated.world import WorldSettings
from bowerbird.simulated.world.hashing import generator


class Server(Struct, frozen=True):
    """A running service, and crawl files for it."""

    service: SimulatedService
    base: str

    def post_keys(self, count: int) -> list[str]:
        """Posts that anybody may read. Reposts are left out: which keys they have depends on the day."""
        service, now = self.service, RealClock().now()
        open_ones = (each for each in range(len(service.world)) if service.truth.is_collectable(each, now))
        keys = (service.dialect.account_key(each) for each in open_ones)
        posts = (service.posts_to_find(key, EPOCH, now, now) for key in keys)
        there = (key for found in posts for key, deleted_at in found.items() if deleted_at is None)
        return list(islice((key for key in there if "/app.bsky.feed.repost/" not in key), count))

    def crawl_file(self, path: Path, *, flow: str = "timelines", seeds: int = 40, more: str = "") -> Path:
        chosen = self.service.truth.sample_accounts(seeds, generator(1, 5), RealClock().now())
        keys = [self.service.dialect.account_key(account) for account in chosen]
        path.write_text(
            f'flow = "{flow}"\nseeds = {keys}\n{more}\n'.replace("'", '"')
            + f'[service]\nname = "sim"\nprovider = "{self.service.dialect.name}"\nbase = "{self.base}"\n',
        )
        return path


@contextmanager
def running(faults: Faults | None = None, dialect: str = "mastodon", flavour: str = "", pace: float = 1.0) -> Iterator[Server]:
    """A small server on loopback until the block ends; `pace`: how many times as fast as the clock the world's time runs."""
    clock = RealClock()
    world = WorldSettings(accounts=300, start=clock.now() - timedelta(days=10), longest_history=100, pace=pace, since=clock.now())
    service = simulate(Setup(dialect=dialect, flavour=flavour, world=world, tokens=1, app_tokens=1, faults=faults or Faults()))
    loop, up, bases = asyncio.new_event_loop(), threading.Event(), []
    down = asyncio.Event()

    async def main() -> None:
        async with serve(service, clock) as base:
            bases.append(base)
            up.set()
            await down.wait()

    thread = threading.Thread(target=lambda: (asyncio.set_event_loop(loop), loop.run_until_complete(main())))
    thread.start()
    assert up.wait(120)
    try:
        yield Server(service, bases[0])
    finally:
        loop.call_soon_threadsafe(down.set)
        thread.join(120)
        loop.close()
