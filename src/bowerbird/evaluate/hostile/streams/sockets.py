"""A stream over real sockets whose server is hostile, and then an honest one at the same address: it must be heard again."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from pathlib import Path
from urllib.parse import urlsplit

from msgspec import structs

from bowerbird.app import Crawl, Outside, open_crawl, vocabulary
from bowerbird.clock import RealClock
from bowerbird.evaluate.hostile.scenes import Scene
from bowerbird.evaluate.hostile.stage import Verdict, run, secrets_of, troubles
from bowerbird.evaluate.hostile.stored import tokens_in, trouble, uncharged
from bowerbird.evaluate.hostile.streams.frames import LINE_ATTACKS, SOCKET_ATTACKS
from bowerbird.evaluate.hostile.streams.messages import CHANNELS
from bowerbird.evaluate.hostile.wires import Visits, hostile_server
from bowerbird.evaluate.laboratory import SERVICE, TokenVault
from bowerbird.flows.files.crawl_file import parse_crawl
from bowerbird.simulated.service import Setup, SimulatedService, simulate
from bowerbird.simulated.serving.http import serve
from bowerbird.simulated.world import WorldSettings
from bowerbird.transport import Bounds, HttpTransport

_HOSTILE = timedelta(seconds=2)
_HEALTHY = timedelta(seconds=90)
_LOOK = timedelta(milliseconds=200)
_QUICK = Bounds(total=timedelta(seconds=10), connect=timedelta(seconds=2), read=timedelta(seconds=1))
_FILE = """
flow = "listen"
store = "{store}"
[[streams]]
{options}
[service]
name = "{name}"
provider = "{network}"
base = "{base}"
"""


async def play_socket(scene: Scene, store: str, folder: Path) -> Verdict:
    """An attack on the frames or lines of one channel; real time, real sockets."""
    stage, verdict, script = _Stage(scene, store), Verdict(), {**SOCKET_ATTACKS, **LINE_ATTACKS}[scene.attack]
    async with hostile_server(lambda head, _: script(head)) as (base, visits), troubles(verdict, "under attack"):
        await stage.listen(base, _HOSTILE, verdict, visits)
    secrets = secrets_of(stage.service)
    verdict.leaked += sum(secret in head for head in visits.elsewhere for secret in secrets)
    if not visits.here:
        verdict.words.append("nobody came")
        verdict.crashed += 1
    async with serve(stage.service, stage.clock, port=urlsplit(base).port or 0), troubles(verdict, "restored"):
        await stage.listen(base, _HEALTHY, verdict, None, folder)
    verdict.over_limit += stage.service.audit()["over_limit"]
    return verdict


class _Stage:
    """A busy network, and the crawl that listens to it."""

    def __init__(self, scene: Scene, store: str) -> None:
        self.clock = RealClock()
        self._line, self._store = CHANNELS[scene.part], store
        world = WorldSettings(seed=3, accounts=20_000, start=self.clock.now(), history=timedelta(hours=1), longest_history=2)
        setup = Setup(dialect=self._line.network, world=world, tokens=1, app_tokens=1, sample=1.0)
        self.service: SimulatedService = simulate(setup)

    async def listen(
        self, base: str, most: timedelta, verdict: Verdict, visits: Visits | None, folder: Path | None = None
    ) -> None:
        transport = HttpTransport(self.clock, "bowerbird-evaluation", bounds=_QUICK)
        tokens = [token for token in self.service.tokens if token.kind == self._line.token]
        vault = TokenVault(self._line.network, tokens, base=base)
        outside = Outside(clock=self.clock, transport=transport, vault=vault, glance=_LOOK, is_paced=False)
        text = _FILE.format(store="x.db", options=self._line.options, name=SERVICE, network=self._line.network, base=base)
        text += "dollars = 1000000\n" if self._line.network == "x" else ""
        plan = structs.replace(parse_crawl(text, Path("hostile.toml"), vocabulary()), store=self._store)
        try:
            async with open_crawl(plan, outside) as crawl:
                await self._heard(crawl, most, is_patient=visits is not None)
                if visits is not None:
                    verdict.over_limit += await uncharged(crawl.database, visits.here)
                elif folder is not None:
                    await self._judge(crawl, verdict, folder)
        finally:
            await transport.close()

    async def _heard(self, crawl: Crawl, most: timedelta, *, is_patient: bool) -> None:
        """Listens for so long, or until something was heard."""
        watch = asyncio.create_task(self._end_when_heard(crawl)) if not is_patient else None
        await run(crawl, self.clock, most)
        if watch is not None:
            watch.cancel()

    async def _end_when_heard(self, crawl: Crawl) -> None:
        while not await _posts(crawl):
            await self.clock.sleep_until(self.clock.now() + _LOOK)
        crawl.process.end("something was heard")

    async def _judge(self, crawl: Crawl, verdict: Verdict, folder: Path) -> None:
        noted = await trouble(crawl.database)
        async with crawl.database.reading() as tx:
            state = await tx.fetch_one("select state, reason from streams")
        if not await _posts(crawl):
            verdict.wedged += 1
            verdict.words.append(f"deaf after the restart: {dict(state) if state else None}"[:300])
        verdict.crashed += len(noted.crashes)
        verdict.words += [words[:300] for words in noted.crashes[:3]]
        verdict.leaked += await tokens_in(crawl.database, secrets_of(self.service), folder)


async def _posts(crawl: Crawl) -> int:
    async with crawl.database.reading() as tx:
        row = await tx.fetch_one("select count(*) as n from posts")
    return row["n"] if row else 0
