"""A crawl of a simulated service in one process: the real engine, store and ledgers, with a world whose truth is known."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path

import msgspec

from bowerbird.app import Crawl, Outside, open_crawl, vocabulary
from bowerbird.crawl.process.endings import Ending
from bowerbird.flows.files.crawl_file import CrawlPlan, parse_crawl
from bowerbird.model import Credential, Secret
from bowerbird.planning.rehearsal import virtual_glance
from bowerbird.ports import Clock
from bowerbird.simulated.service import Setup, SimulatedService, simulate
from bowerbird.simulated.serving.pictures import Pictures
from bowerbird.simulated.serving.transport import NEARBY, InProcessTransport, Network
from bowerbird.simulated.tokens import Token, secret_values
from bowerbird.simulated.world import World

SERVICE = "simulated"
BASE = "https://simulated.example"
_SELDOM = timedelta(days=1)
_PLENTY = "dollars = 1000000\n"
"""Here nobody pays: what money keeps a crawl from is measured elsewhere."""


class TokenVault:
    """Opens a simulated service with the tokens it gave out; implements `ports.Vault`."""

    def __init__(self, provider: str, tokens: Sequence[Token], *, name: str = "", base: str = BASE) -> None:
        """`base`: the server that gave them out, and the only one that sees them."""
        self._base = base
        self._tokens = {f"{name or token.kind}{number}": token for number, token in enumerate(tokens, start=1)}
        self._provider = provider
        self._kept: dict[str, Secret] = {}

    def credentials(self) -> Sequence[Credential]:
        return [
            Credential(
                name=name,
                provider=self._provider,
                kind=token.kind,
                account=token.account,
                app=token.app,
                servers=(self._base,),
            )
            for name, token in self._tokens.items()
        ]

    def secret(self, name: str) -> Secret:
        return self._kept.get(name) or Secret(name=name, values=secret_values(self._tokens[name]))

    def keep(self, secret: Secret) -> None:
        self._kept[secret.name] = secret


class Laboratory:
    """One simulated service and the crawls made of it, in whatever time the clock keeps."""

    def __init__(self, setup: Setup, clock: Clock, *, network: Network = NEARBY, world: World | None = None) -> None:
        """`world`: one that is not made from the setup alone."""
        self.service: SimulatedService = simulate(setup, world)
        self.clock = clock
        self.pictures = Pictures(clock)
        self._transport = InProcessTransport({SERVICE: self.service}, clock, network)

    def keys(self, count: int | None = None) -> list[str]:
        """The service's own keys of its first accounts, or of all."""
        numbers = range(len(self.service.world) if count is None else count)
        return [self.service.dialect.account_key(number) for number in numbers]

    def plan(self, flow: str, seeds: Sequence[str], more: str = "", *, store: str = ":memory:") -> CrawlPlan:
        """A crawl of this service; `flow` and `more` are parts of a crawl file (`more` before its tables)."""
        text = (
            f"{flow}\nseeds = {msgspec.json.encode(seeds).decode()}\n{more}\n"
            f'[service]\nname = "{SERVICE}"\nprovider = "{self.service.dialect.name}"\nbase = "{BASE}"\n'
            f"{_PLENTY if self.service.dialect.name == 'x' else ''}"
        )
        return msgspec.structs.replace(parse_crawl(text, Path("laboratory.toml"), vocabulary()), store=store)

    def outside(self) -> Outside:
        vault = TokenVault(self.service.dialect.name, list(self.service.tokens))
        # No other process works on this database: the loop need not look before something is due.
        return Outside(clock=self.clock, transport=self._transport, vault=vault, media=self.pictures, glance=_SELDOM)

    @asynccontextmanager
    async def crawl(self, plan: CrawlPlan) -> AsyncIterator[Crawl]:
        async with open_crawl(plan, msgspec.structs.replace(self.outside(), glance=virtual_glance(plan))) as crawl:
            yield crawl

    async def run(self, crawl: Crawl) -> Ending:
        return await crawl.process.run(crawl.seeds, slots=crawl.plan.concurrency, watch_every=timedelta(minutes=10))
