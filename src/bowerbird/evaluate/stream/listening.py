"""One listener: a crawl of flow `listen` with the real engine, over real sockets, into a store of its own."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from pathlib import Path

import msgspec

from bowerbird.app import Crawl, Outside, open_crawl, vocabulary
from bowerbird.evaluate.laboratory import TokenVault
from bowerbird.evaluate.stream.scenes import Scene
from bowerbird.flows.files.crawl_file import parse_crawl
from bowerbird.ports import Clock
from bowerbird.reports.status.streams import StreamReport, read_streams
from bowerbird.simulated.tokens import Token
from bowerbird.transport import HttpTransport

_GLANCE = timedelta(milliseconds=50)
_FILE = """
flow = "listen"

[service]
name = "simulated"
provider = "{provider}"
base = "{base}"

[[streams]]
{options}
"""


class Listener:
    """A running crawl that listens."""

    def __init__(self, crawl: Crawl, clock: Clock) -> None:
        self.crawl = crawl
        self._clock = clock

    async def report(self) -> StreamReport:
        async with self.crawl.database.reading() as tx:
            return (await read_streams(tx))[0]

    async def until_live(self) -> None:
        while (await self.report()).state != "live":
            await self._pause()

    async def until_heard(self, when: datetime) -> None:
        """Waits until an event of that time or later has been saved and every gap that can be filled is."""
        while not await self._has_heard(when):
            await self._pause()

    async def _has_heard(self, when: datetime) -> bool:
        report = await self.report()
        if report.state != "live" or report.event_at is None or report.event_at < when:
            return False
        async with self.crawl.database.reading() as tx:
            row = await tx.fetch_one(
                "select count(*) as open from gaps g left join tasks t on t.lane = g.lane and t.target = g.target "
                "where g.asked_at is not null and coalesce(t.visited_at, 0) < g.asked_at"
            )
        return row is not None and not row["open"]

    async def _pause(self) -> None:
        await self._clock.sleep_until(self._clock.now() + _GLANCE)


@asynccontextmanager
async def listening(scene: Scene, base: str, token: Token, folder: Path, clock: Clock) -> AsyncIterator[Listener]:
    """Listens in the background until the block ends, then stops in order; the store stays open until then."""
    provider = "x" if scene.dialect.startswith("x") else scene.dialect
    text = _FILE.format(provider=provider, base=base, options=scene.options)
    plan = msgspec.structs.replace(parse_crawl(text, folder / "crawl.toml", vocabulary()), store=str(folder / "crawl.db"))
    transport = HttpTransport(clock, "bowerbird-evaluation")
    outside = Outside(clock=clock, transport=transport, vault=TokenVault(provider, [token], base=base), is_paced=False)
    try:
        async with open_crawl(plan, outside) as crawl:
            run = asyncio.create_task(crawl.process.run(crawl.seeds, slots=4, watch_every=timedelta(seconds=1)))
            try:
                yield Listener(crawl, clock)
            finally:
                crawl.process.end("the evaluation is over")
                await run
    finally:
        await transport.close()
