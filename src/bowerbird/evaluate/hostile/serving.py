"""A real server that is hostile below the answers, and then an honest one at the same address."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from urllib.parse import urlsplit

from bowerbird.app import Outside, open_crawl
from bowerbird.clock import RealClock
from bowerbird.evaluate.crash.scene import Scene as World
from bowerbird.evaluate.hostile.scenes import Scene
from bowerbird.evaluate.hostile.stage import Verdict, missing, plan_of, run, secrets_of, service_of, troubles
from bowerbird.evaluate.hostile.stored import Holdings, holdings, tokens_in, trouble, uncharged
from bowerbird.evaluate.hostile.wires import WIRE_ATTACKS, Visits, hostile_server
from bowerbird.evaluate.laboratory import TokenVault
from bowerbird.simulated.service import SimulatedService
from bowerbird.simulated.serving.http import serve
from bowerbird.simulated.world import World as Population
from bowerbird.transport import Bounds, HttpTransport

_HOSTILE = timedelta(seconds=2)
_HEALTHY = timedelta(seconds=60)
_QUICK = Bounds(total=timedelta(seconds=10), connect=timedelta(seconds=2), read=timedelta(seconds=1))


async def play_wire(scene: Scene, world: World, population: Population, expected: Holdings, store: str, folder: Path) -> Verdict:
    """An attack on the bytes of every answer; real time, real sockets."""
    clock, verdict, service = RealClock(), Verdict(), service_of(world, population)
    script = WIRE_ATTACKS[scene.attack]
    async with hostile_server(lambda _, number: script(number)) as (base, visits), troubles(verdict, "under attack"):
        await _crawl(world, service, store, base, clock, _HOSTILE, (verdict, visits))
    secrets = secrets_of(service)
    verdict.leaked += sum(secret in head for head in visits.elsewhere for secret in secrets)
    if not visits.here:
        verdict.words.append("nobody came")
        verdict.crashed += 1
    async with serve(service, clock, port=urlsplit(base).port or 0), troubles(verdict, "restored"):
        await _crawl(world, service, store, base, clock, _HEALTHY, (verdict, expected, folder))
    verdict.over_limit += service.audit()["over_limit"]
    return verdict


async def _crawl(
    world: World,
    service: SimulatedService,
    store: str,
    base: str,
    clock: RealClock,
    most: timedelta,
    judging: tuple[Verdict, Visits] | tuple[Verdict, Holdings, Path],
) -> None:
    transport = HttpTransport(clock, "bowerbird-evaluation", bounds=_QUICK)
    vault = TokenVault(world.dialect, [token for token in service.tokens if token.kind == "user"], base=base)
    outside = Outside(clock=clock, transport=transport, vault=vault, glance=timedelta(milliseconds=100), is_paced=False)
    try:
        async with open_crawl(plan_of(world, service, store, base), outside) as crawl:
            ending = await run(crawl, clock, most)
            if len(judging) == 2:
                verdict, visits = judging
                verdict.over_limit += await uncharged(crawl.database, visits.here)
                return
            verdict, expected, folder = judging
            if ending is None or ending.state != "finished":
                verdict.wedged += 1
                verdict.words.append(f"did not complete: {ending.reason if ending else 'waits for ever'}"[:300])
            noted = await trouble(crawl.database)
            verdict.crashed += len(noted.crashes)
            verdict.words += [words[:300] for words in noted.crashes[:3]]
            missing(verdict, expected, await holdings(crawl.database), noted)
            verdict.leaked += await tokens_in(crawl.database, secrets_of(service), folder)
    finally:
        await transport.close()
