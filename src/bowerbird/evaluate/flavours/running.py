"""One crawl of the matrix in virtual time, with the real engine, and what came of it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from bowerbird.app import Crawl, Outside, open_crawl, vocabulary
from bowerbird.clock import VirtualClock, run_virtual
from bowerbird.crawl.process.endings import Ending
from bowerbird.errors import UserError
from bowerbird.evaluate.flavours.judging import Judge, read_held
from bowerbird.evaluate.flavours.listing import Listing
from bowerbird.evaluate.flavours.scenes import ELSEWHERE, HERE, START, Order, Scene, make_world, order
from bowerbird.evaluate.flavours.watching import WatchedTransport
from bowerbird.evaluate.laboratory import TokenVault
from bowerbird.flows.files.crawl_file import parse_crawl
from bowerbird.model import Credential, Secret
from bowerbird.ports import Vault
from bowerbird.simulated.service import Setup, SimulatedService, simulate
from bowerbird.simulated.serving.transport import InProcessTransport
from bowerbird.simulated.world.posts.tags import NO_TAG, tag_number

SERVICE = "simulated"
_SETTLED = timedelta(seconds=30)
"""A stream has been opened by then."""
_SHOWN = 5


class Result(Struct, frozen=True, kw_only=True):
    """One crawl: how it ended, what it brought, and what is wrong with it."""

    flavour: str
    flow: str
    """With the stream, where it is not the one of everything."""
    state: str
    reason: str
    calls: int = 0
    users: int = 0
    posts: int = 0
    lost: int = 0
    erased: int = 0
    leaked: int = 0
    silent: int = 0
    examples: tuple[str, ...] = ()
    """Some of what was lost or taken for gone."""


class BothVaults:
    """The tokens of two servers in one vault; implements `ports.Vault`."""

    def __init__(self, vaults: Sequence[Vault]) -> None:
        self._vaults = {each.name: vault for vault in vaults for each in vault.credentials()}

    def credentials(self) -> Sequence[Credential]:
        return [each for vault in dict.fromkeys(self._vaults.values()) for each in vault.credentials()]

    def secret(self, name: str) -> Secret:
        return self._vaults[name].secret(name)

    def keep(self, secret: Secret) -> None:
        self._vaults[secret.name].keep(secret)


def run_scene(scene: Scene) -> Result:
    """Runs it to its end and judges it; the same scene gives the same result."""
    result: Result = run_virtual(lambda clock: _run(scene, clock), start=START)
    return result


def setups(scene: Scene) -> tuple[Setup, Setup]:
    """The server that is crawled, and another whose token lies in the same vault, on Mastodon a neighbour in the same world."""
    if scene.dialect == "mastodon":
        servers, flavours = (HERE, ELSEWHERE), {HERE: scene.flavour, ELSEWHERE: "mastodon-4.5"}
        here, there = (Setup(domain=name, servers=servers, flavours=flavours, world=scene.world()) for name in servers)
        return here, there
    here = Setup(dialect=scene.dialect, flavour=scene.flavour, world=scene.world(), app_tokens=1, sample=1.0, domain=HERE)
    return here, Setup(domain=ELSEWHERE, flavour="mastodon-4.5", world=scene.world())


async def _run(scene: Scene, clock: VirtualClock) -> Result:
    world = make_world(scene)
    setup, other = setups(scene)
    here, elsewhere = simulate(setup, world), simulate(other, world)
    base, base_elsewhere = f"https://{HERE}", f"https://{ELSEWHERE}"
    vault = BothVaults([_vault(here, base, "here"), _vault(elsewhere, base_elsewhere, "elsewhere")])
    transport = WatchedTransport(
        InProcessTransport({SERVICE: here, "elsewhere": elsewhere}, clock),
        {**_owners(here, base), **_owners(elsewhere, base_elsewhere)},
    )
    wanted = order(scene, here)
    try:
        plan = parse_crawl(_text(wanted, here, base), Path("flavours.toml"), vocabulary())
        plan = msgspec.structs.replace(plan, store=":memory:")
        outside = Outside(clock=clock, transport=transport, vault=vault, glance=timedelta(days=1))
        async with open_crawl(plan, outside) as crawl:
            ending = await crawl.process.run(crawl.seeds, slots=plan.concurrency, watch_every=timedelta(minutes=10))
            now, held = clock.now(), await read_held(crawl.database)
            judge = Judge(held, Listing(setup, here, now), here, now)
            figures = await _judge(scene, wanted, judge, crawl, ending)
            tally = crawl.tally
            return Result(
                flavour=scene.flavour,
                flow=scene.flow if not scene.channel else f"{scene.flow} ({scene.channel})",
                state=ending.state,
                reason=str(ending.reason),
                calls=tally.calls,
                users=tally.users,
                posts=tally.posts,
                leaked=len(transport.leaks),
                silent=int(not (tally.users or tally.posts or tally.items) and ending.state != "failed"),
                **figures,
            )
    except UserError as refused:
        # Said before anything was asked: nothing is silent about that.
        return Result(flavour=scene.flavour, flow=scene.flow, state="refused", reason=str(refused), leaked=len(transport.leaks))


async def _judge(scene: Scene, wanted: Order, judge: Judge, crawl: Crawl, ending: Ending) -> dict[str, Any]:
    # A crawl that failed has said that it could not keep what its flow promises.
    broken = judge.broken(wanted.seeds, wanted.promises) if ending.state != "failed" else []
    missing = sorted({*judge.lost(), *broken})
    if scene.flow == "listen" and crawl.tally.posts:
        about = tag_number(wanted.tag) if scene.channel == "hashtag" else NO_TAG
        missing += judge.unheard(START + _SETTLED, about)
    gone = judge.erased()
    return {"lost": len(missing), "erased": len(gone), "examples": (*missing[:_SHOWN], *gone[:_SHOWN])}


def _vault(service: SimulatedService, base: str, name: str) -> Vault:
    return TokenVault(service.dialect.name, list(service.tokens), name=name, base=base)


def _owners(service: SimulatedService, base: str) -> dict[str, str]:
    return {value: base for token in service.tokens for value in (token.value, token.secret)}


def _text(wanted: Order, service: SimulatedService, base: str) -> str:
    minutes = int(wanted.length.total_seconds() // 60)
    return (
        f"{wanted.lines}\nstop.duration = '{minutes}m'\nseeds = {msgspec.json.encode(wanted.seeds).decode()}\n{wanted.tables}\n"
        f'[service]\nname = "{SERVICE}"\nprovider = "{service.dialect.name}"\nbase = "{base}"\n'
    )
