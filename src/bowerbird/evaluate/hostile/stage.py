"""One scene: a crawl of a hostile service, then of the same service restored, with the same store."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path

from msgspec import Struct, field, structs

from bowerbird.app import Crawl, Outside, open_crawl, vocabulary
from bowerbird.clock import VirtualClock
from bowerbird.crawl.process.endings import Ending
from bowerbird.evaluate.crash.scene import SERVICE
from bowerbird.evaluate.crash.scene import Scene as World
from bowerbird.evaluate.hostile.answering import HostileTransport, asks
from bowerbird.evaluate.hostile.attacks import ATTACKS
from bowerbird.evaluate.hostile.scenes import Scene
from bowerbird.evaluate.hostile.stored import Holdings, Trouble, holdings, tokens_in, trouble
from bowerbird.evaluate.laboratory import BASE, TokenVault
from bowerbird.flows.files.crawl_file import CrawlPlan, parse_crawl
from bowerbird.ports import Clock, Transport
from bowerbird.providers import provider
from bowerbird.simulated.faults import NO_FAULTS
from bowerbird.simulated.service import SimulatedService, simulate
from bowerbird.simulated.serving.transport import InProcessTransport
from bowerbird.simulated.tokens import secret_values
from bowerbird.simulated.world import World as Population

HOSTILE_FOR = timedelta(hours=6)
_GRACE = timedelta(seconds=90)
HEALTHY_FOR = timedelta(days=40)
"""In virtual time; a crawl that has not ended by then never will."""


class Verdict(Struct, kw_only=True):
    """What one scene showed; all zeros is good."""

    wedged: int = 0
    crashed: int = 0
    leaked: int = 0
    over_limit: int = 0
    lost: int = 0
    accounted: int = 0
    """Missing, and written down as missing or set aside."""
    is_idle: bool = False
    """The attack changed nothing here: there is no position to turn, or no such field. It does not count as a scene."""
    peak_mb: float = 0.0
    words: list[str] = field(default_factory=list)

    @property
    def is_clean(self) -> bool:
        return not (self.wedged or self.crashed or self.leaked or self.over_limit or self.lost)


def service_of(world: World, population: Population) -> SimulatedService:
    return simulate(structs.replace(world.setup(), faults=NO_FAULTS, app_tokens=1), population)


def plan_of(world: World, service: SimulatedService, store: str, base: str = BASE) -> CrawlPlan:
    text = world.crawl_file(service, base, "hostile.db")
    return structs.replace(parse_crawl(text, Path("hostile.toml"), vocabulary()), store=store)


@asynccontextmanager
async def opened(plan: CrawlPlan, clock: Clock, transport: Transport, service: SimulatedService) -> AsyncIterator[Crawl]:
    vault = TokenVault(plan.services[0].service.provider, [token for token in service.tokens if token.kind == "user"])
    outside = Outside(clock=clock, transport=transport, vault=vault, glance=timedelta(hours=1))
    async with open_crawl(plan, outside) as crawl:
        yield crawl


async def run(crawl: Crawl, clock: Clock, most: timedelta) -> Ending | None:
    """How the crawl ended by itself; None when it had to be ended."""
    ended = asyncio.Event()
    work = asyncio.create_task(crawl.process.run(crawl.seeds, slots=4, watch_every=timedelta(minutes=10)))
    work.add_done_callback(lambda _: ended.set())
    await clock.wait(ended, clock.now() + most)
    if work.done():
        return work.result()
    crawl.process.end("the time is over")
    await clock.wait(ended, clock.now() + _GRACE)
    if not work.done():
        work.cancel()
    await asyncio.gather(work, return_exceptions=True)
    return None


async def healthy(world: World, population: Population, clock: VirtualClock) -> Holdings:
    """What a crawl of the service brings when nobody is hostile."""
    service = service_of(world, population)
    async with opened(
        plan_of(world, service, ":memory:"), clock, InProcessTransport({SERVICE: service}, clock), service
    ) as crawl:
        await run(crawl, clock, HEALTHY_FOR)
        return await holdings(crawl.database)


async def play_answers(
    scene: Scene, world: World, population: Population, expected: Holdings, store: str, folder: Path, clock: VirtualClock
) -> Verdict:
    """An attack on the answers to one facet."""
    service, verdict = service_of(world, population), Verdict()
    inner = InProcessTransport({SERVICE: service}, clock)
    enough = asyncio.Event()
    hostile = HostileTransport(
        inner, asks(provider(world.dialect), scene.part, _any_key(service)), ATTACKS[scene.attack], enough.set
    )
    plan = plan_of(world, service, store)
    async with troubles(verdict, "under attack"), opened(plan, clock, hostile, service) as crawl:
        ender = asyncio.create_task(_end_when(enough, crawl))
        await run(crawl, clock, HOSTILE_FOR)
        ender.cancel()
    verdict.is_idle = not hostile.has_changed
    await _restored(verdict, plan, inner, service, clock, expected, scene, folder)
    verdict.over_limit = service.audit()["over_limit"]
    return verdict


async def _end_when(enough: asyncio.Event, crawl: Crawl) -> None:
    await enough.wait()
    crawl.process.end("enough was seen")


def _any_key(service: SimulatedService) -> str:
    return service.dialect.account_key(0)


async def _restored(
    verdict: Verdict,
    plan: CrawlPlan,
    transport: Transport,
    service: SimulatedService,
    clock: Clock,
    expected: Holdings,
    scene: Scene,
    folder: Path,
) -> None:
    """The same crawl started again, now that all is well: it must complete, and hold what it should."""
    async with troubles(verdict, "restored"), opened(plan, clock, transport, service) as crawl:
        ending = await run(crawl, clock, HEALTHY_FOR)
        if ending is None or ending.state != "finished":
            verdict.wedged += 1
            verdict.words.append(f"did not complete: {ending.reason if ending else 'waits for ever'}"[:300])
        noted = await trouble(crawl.database)
        verdict.crashed += len(noted.crashes)
        verdict.words += [words[:300] for words in noted.crashes[:3]]
        missing(verdict, expected, await holdings(crawl.database), noted)
        verdict.leaked += await tokens_in(crawl.database, secrets_of(service), folder)


def secrets_of(service: SimulatedService) -> list[bytes]:
    return [value.encode() for token in service.tokens for value in secret_values(token).values() if len(value) > 12]


def missing(verdict: Verdict, expected: Holdings, found: Holdings, noted: Trouble) -> None:
    """Counts what is not there: as accounted for only where the crawl wrote down something about that very thing."""
    for thing in sorted(expected.things.keys() - found.things.keys()):
        if noted.accounts_for(expected.things[thing]):
            verdict.accounted += 1
        else:
            verdict.lost += 1
            if verdict.lost <= 3:
                verdict.words.append(f"lost: {thing}")


@asynccontextmanager
async def troubles(verdict: Verdict, when: str) -> AsyncIterator[None]:
    try:
        yield
    except Exception as error:
        verdict.crashed += 1
        verdict.words.append(f"{when}: {type(error).__name__}: {error}"[:300])
