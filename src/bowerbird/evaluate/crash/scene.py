"""What the crash evaluation crawls: a world that stands still, limits that bind, and a flow that comes to an end.

Every account is reached from a few seeds through the lists of others, each profile is looked at once, each timeline and list
is read to its end in small pages. So whatever the order and however often it is interrupted, the crawl must end with the
same store.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

from msgspec import Struct

from bowerbird.limits.vault import FileVault
from bowerbird.model import Credential, Secret
from bowerbird.providers import provider
from bowerbird.providers.limit_overrides import limit_name
from bowerbird.simulated.faults import Faults
from bowerbird.simulated.scale import Scale
from bowerbird.simulated.service import Setup, SimulatedService, simulate
from bowerbird.simulated.tokens import secret_values
from bowerbird.simulated.world import World, WorldSettings

SERVICE = "simulated"
FACETS = ("profiles", "timeline", "followers", "following")
_SEEDS = 12
_TOKENS = 3
_FLOW = """\
# Written by `bowerbird evaluate crash`.
name = "crash"
store = "{store}"
seeds = {seeds}

[flow]
seeds = ["profiles"]

[flow.facets.profiles]
[flow.facets.timeline]
hints = {{limit = "{posts}"}}
[flow.facets.followers]
hints = {{limit = "{edges}"}}
[flow.facets.following]
hints = {{limit = "{edges}"}}

[[flow.edges]]
from = "profiles"
to = "timeline"
take = "asked"
when = "news and not protected"
[[flow.edges]]
from = "profiles"
to = "followers"
take = "asked"
when = "not protected"
[[flow.edges]]
from = "profiles"
to = "following"
take = "asked"
when = "not protected"
[[flow.edges]]
from = "followers"
to = "profiles"
take = "neighbours"
[[flow.edges]]
from = "following"
to = "profiles"
take = "neighbours"

[service]
name = "{service}"
provider = "{dialect}"
base = "{base}"
"""


class Beyond(Struct, frozen=True):
    """A facet that is asked for what timelines bring."""

    facet: str
    take: str
    when: str = ""

    def text(self) -> str:
        """In the words of a crawl file."""
        condition = f'when = "{self.when}"\n' if self.when else ""
        edge = f'from = "timeline"\nto = "{self.facet}"\ntake = "{self.take}"\n{condition}'
        return f"\n[flow.facets.{self.facet}]\n[[flow.edges]]\n{edge}"


class Scene(Struct, frozen=True, kw_only=True):
    """One dialect with limits scaled so that they bind within seconds."""

    dialect: str
    scale: Scale
    posts: int
    """Posts per page."""
    edges: int = 8
    """Relations per page."""
    accounts: int = 110
    beyond: tuple[Beyond, ...] = ()
    """What else the flow asks for, beside those that the evaluation of crashes needs."""

    def setup(self) -> Setup:
        settings = WorldSettings(
            seed=11,
            accounts=self.accounts,
            following=9.0,
            longest_history=150,
            start=datetime(2026, 1, 5, tzinfo=UTC),
            until=datetime(2026, 1, 8, 15, tzinfo=UTC),
        )
        # Answers that take their time are in flight when the kill comes.
        slow = Faults(rates={"slow": 0.7}, slowness=timedelta(milliseconds=150))
        return Setup(dialect=self.dialect, world=settings, scale=self.scale, tokens=_TOKENS, faults=slow)

    def world(self) -> World:
        return World(self.setup().world)

    def service(self, world: World) -> SimulatedService:
        """A service without a past, over a world that many may share."""
        return simulate(self.setup(), world)

    def write(self, folder: Path, service: SimulatedService, base: str, store: str) -> Path:
        """The crawl file and the vault of a crawl of this service."""
        for number, token in enumerate(service.tokens, 1):
            credential = Credential(
                name=f"key{number}", provider=self.dialect, account=token.account, app=token.app, servers=(base,)
            )
            FileVault(folder / "vault").add(credential, Secret(name=credential.name, values=secret_values(token)))
        file = folder / "crash.toml"
        file.write_text(self.crawl_file(service, base, store), "utf-8")
        return file

    def crawl_file(self, service: SimulatedService, base: str, store: str) -> str:
        """The text of the crawl file."""
        now = self.setup().world.until or self.setup().world.start
        open_accounts = [n for n in range(len(service.world)) if service.truth.is_available(n, now)]
        seeds = [service.dialect.account_key(number) for number in open_accounts[:_SEEDS]]
        text = _FLOW.format(
            store=store,
            seeds=str(seeds).replace("'", '"'),
            service=SERVICE,
            dialect=self.dialect,
            base=base,
            posts=self.posts,
            edges=self.edges,
        )
        return text + self._purse() + "".join(self._limits()) + "".join(each.text() for each in self.beyond)

    def _purse(self) -> str:
        """As much as anybody may want to spend, where calls cost money."""
        is_paid = any(facet.is_paid for facet in provider(self.dialect).facets.values())
        return "dollars = 1000000\n" if is_paid else ""

    def _facets(self) -> tuple[str, ...]:
        return FACETS + tuple(each.facet for each in self.beyond)

    def _limits(self) -> list[str]:
        """The server's scaled limits in the words of a crawl file."""
        table = provider(self.dialect).tables["user"]
        limits = {(name, limit_name(limit)): limit for name in self._facets() for limit in table[name].limits}
        lines = []
        for (facet, name), limit in limits.items():
            if name == "money":
                continue
            scaled = self.scale.throttle(name, limit.allowance, limit.window, limit.kind)
            window = f"{scaled.window.total_seconds():g}s"
            lines.append(f'\n[service.limits.{facet}.{name}]\nallowance = {scaled.allowance}\nwindow = "{window}"\n')
        return lines


BROKEN = Scene(dialect="twitter_v1", scale=Scale(limits=0.6, windows=1 / 300), posts=25, edges=4, accounts=24)
"""Small enough to be crawled in virtual time within seconds, with everything that a settle does."""
SCENES = (
    Scene(dialect="mastodon", scale=Scale(limits=0.1, windows=0.01), posts=20),
    Scene(dialect="twitter_v1", scale=Scale(limits=0.6, windows=1 / 300), posts=25),
)
