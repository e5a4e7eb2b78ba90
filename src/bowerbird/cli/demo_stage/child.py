"""One crawl beside the first of a demo, with the network that it collects from: `python -m bowerbird.cli.demo_stage.child`.

A process of its own, as each crawl of a store has. It is told on its standard input what to do (`Asked`, one line of JSON), and
ends when that is closed, however the demo ended. On its standard output it says in one line what it does, as soon as it runs.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path

import msgspec
from msgspec import Struct

from bowerbird.app import Outside, open_crawl, vocabulary
from bowerbird.cli.demo_stage.others import OTHERS, Other
from bowerbird.cli.demo_stage.tokens import demo_vault, keep_tokens
from bowerbird.clock import RealClock
from bowerbird.errors import BowerbirdError
from bowerbird.evaluate.laboratory import TokenVault
from bowerbird.flows.files.crawl_file import CrawlPlan, parse_crawl
from bowerbird.ports import Clock
from bowerbird.settings import load_settings
from bowerbird.simulated.service import SimulatedService, simulate
from bowerbird.simulated.serving.http import serve
from bowerbird.transport import HttpTransport

_WATCH_EVERY = timedelta(seconds=1)
_ENDED = "the demo has ended"


class Asked(Struct, frozen=True):
    """Which crawl, of which world, and where its files go."""

    name: str
    seed: int
    folder: str


async def main() -> None:
    asked = msgspec.json.decode(await asyncio.to_thread(sys.stdin.readline), type=Asked)
    ended = asyncio.create_task(asyncio.to_thread(sys.stdin.read))
    try:
        await _play(asked, ended)
    except BowerbirdError as error:
        sys.exit(f"the crawl {asked.name} has ended: {error}")


async def _play(asked: Asked, ended: asyncio.Task[str]) -> None:
    clock = RealClock()
    other = OTHERS[asked.name](clock.now(), asked.seed)
    async with opened(other, asked.name, Path(asked.folder), clock) as plan:
        await _crawl(plan, clock, ended, f"{asked.name}: {other.about}.")
        # Whoever stopped it on a page may start it again there, and then its network has to be there.
        await ended


@asynccontextmanager
async def opened(other: Other, name: str, folder: Path, clock: Clock) -> AsyncIterator[CrawlPlan]:
    """Serves the network while the block runs; the plan is of the crawl file that was written for it."""
    service = simulate(other.setup)
    async with serve(service, clock) as base:
        _write(other, name, folder, service)
        file = folder / f"{name}.toml"
        file.write_text(other.crawl_file.format(base=base), "utf-8")
        keep_tokens(demo_vault(folder), TokenVault(service.dialect.name, list(service.tokens), name=f"{name}-", base=base))
        yield parse_crawl(file.read_text("utf-8"), file, vocabulary())


def _write(other: Other, name: str, folder: Path, service: SimulatedService) -> None:
    for file, text in {**other.files, other.seeds_file: "\n".join(other.seeds(service)) + "\n"}.items():
        (folder / file).write_text(text, "utf-8")


async def _crawl(plan: CrawlPlan, clock: Clock, ended: asyncio.Task[str], about: str) -> None:
    transport = HttpTransport(clock, load_settings().user_agent)
    outside = Outside(clock=clock, transport=transport, vault=demo_vault(Path(plan.store).parent))
    try:
        async with open_crawl(plan, outside) as crawl:
            ended.add_done_callback(lambda _: crawl.process.end(_ENDED))
            print(about, flush=True)
            await crawl.process.run(crawl.seeds, slots=plan.concurrency, watch_every=_WATCH_EVERY)
    finally:
        await transport.close()


if __name__ == "__main__":
    asyncio.run(main())
