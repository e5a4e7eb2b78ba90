"""One simulated service: world, dialect, limits, tokens and faults behind a single door, with a record of what came in."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from email.utils import format_datetime
from enum import StrEnum
from typing import Any, Protocol, runtime_checkable
from zlib import crc32

from msgspec import Struct
from msgspec.structs import replace

from bowerbird.errors import UserError
from bowerbird.model import Request, Service, Wire
from bowerbird.simulated import twitter_v1, x_v2
from bowerbird.simulated.bluesky import BlueskyDialect
from bowerbird.simulated.closures import CLOSURES, Closure
from bowerbird.simulated.faults import NO_FAULTS, NO_STREAM, UNCOUNTED, Faults, page, spoil, with_no_remainder
from bowerbird.simulated.feeds import Feed
from bowerbird.simulated.limiter import Limiter
from bowerbird.simulated.mastodon import MastodonDialect
from bowerbird.simulated.mastodon.federation import Vantage
from bowerbird.simulated.mastodon.flavours import FLAVOURS as MASTODON_FLAVOURS
from bowerbird.simulated.mastodon.flavours import flavour
from bowerbird.simulated.scale import Scale
from bowerbird.simulated.streaming.live import Live
from bowerbird.simulated.streaming.told import Told, told
from bowerbird.simulated.tokens import IssuedTokens
from bowerbird.simulated.twitter_v1 import TwitterV1Dialect
from bowerbird.simulated.weibo import WeiboDialect
from bowerbird.simulated.wire import Reply
from bowerbird.simulated.world import Truth, World, WorldSettings
from bowerbird.simulated.world.posts.rows import REPOST, Row, author_of
from bowerbird.simulated.world.settings import NEVER, from_ms, to_ms
from bowerbird.simulated.x_v2 import XV2Dialect

_KEPT_WINDOWS = 200_000


class Manner(StrEnum):
    """How an answer arrives."""

    WHOLE = "whole"
    CUT = "cut"
    RESET = "reset"
    LOST = "lost"


class Delivery(Struct, frozen=True):
    """What becomes of one request: the reply, how it arrives, and how long the service thinks about it."""

    reply: Reply
    manner: Manner = Manner.WHOLE
    delay: timedelta = timedelta(0)


class Dialect(Protocol):
    """One API over a world."""

    name: str
    domain: str
    world: World

    def handle(self, request: Request, now: datetime, address: str = "127.0.0.1") -> Reply: ...

    def failure(self, status: int) -> Reply: ...

    def is_shown(self, visibility: str) -> bool: ...

    def account_key(self, account: int) -> str: ...

    def post_key(self, number: int) -> str: ...

    def account_number(self, key: str) -> int | None: ...

    def handle_of(self, account: int, now: datetime) -> str: ...


@runtime_checkable
class StreamDialect(Dialect, Protocol):
    """An API that also speaks by itself."""

    def stream(self, request: Request, now: datetime, address: str) -> Feed | Reply | None:
        """An open connection, the refusal, or None when this is no address of a stream."""
        ...


class SimulatedService:
    """Receives requests at given times and answers as the real service would, faults included."""

    def __init__(
        self,
        dialect: Dialect,
        limiter: Limiter,
        tokens: IssuedTokens,
        faults: Faults = NO_FAULTS,
        closure: Closure | None = None,
    ) -> None:
        """`closure`: what is refused to everybody, whatever the dialect would answer."""
        self.closure = closure
        self.dialect = dialect
        self.world = dialect.world
        self.truth = Truth(dialect.world)
        self.limiter = limiter
        self.tokens = tokens
        self.faults = faults
        self.calls = 0
        self.connections = 0
        self.statuses: Counter[int] = Counter()
        self.met: Counter[str] = Counter()

    @property
    def lists_everybody(self) -> bool:
        """Whether anybody's posts are listed, as far back as the network goes; Weibo's later eras show one's own."""
        return not isinstance(self.dialect, WeiboDialect) or self.dialect.era == "classic"

    @property
    def sends_body_to_head(self) -> bool:
        return isinstance(self.dialect, MastodonDialect) and self.dialect.flavour.head_has_body

    def is_at(self, base: str) -> None:
        """The service is served at this address: pictures are shown as being there, for its domain is made up."""
        if isinstance(self.dialect, MastodonDialect):
            self.dialect.files_are_at(base)

    def receive(self, request: Request, now: datetime, address: str = "127.0.0.1") -> Delivery:
        """Handles one request that arrives now, in true time; the service's own clock may be ahead."""
        now = now + self.faults.skew
        serial, kind = self._count(now)
        reply = self._handle(_lowered(request), now, address) if kind not in UNCOUNTED else Reply(0)
        return self._deliver(self._disturb(reply, kind, serial) if kind is not None else Delivery(reply), now)

    def connect(self, request: Request, now: datetime, address: str = "127.0.0.1") -> Live | Delivery | None:
        """Opens a stream, or delivers the refusal; None when the request asks for no stream."""
        now = now + self.faults.skew
        refused = self.closure.answer(request.path) if self.closure is not None else None
        opened = None
        if isinstance(self.dialect, StreamDialect) and refused is None:
            opened = self.dialect.stream(_lowered(request), now, address)
        if opened is None:
            return None
        serial, kind = self._count(now)
        if isinstance(opened, Reply):
            return self._deliver(self._disturb(opened, kind, serial) if kind is not None else Delivery(opened), now)
        if kind is not None and kind in NO_STREAM:
            opened.end()
            return self._deliver(self._disturb(Reply(0), kind, serial), now)
        connection, self.connections = self.connections, self.connections + 1
        self.statuses[101 if opened.wire is Wire.WEBSOCKET else 200] += 1
        return Live(opened, self.faults, connection, self.met)

    def _handle(self, request: Request, now: datetime, address: str) -> Reply:
        refused = self.closure.answer(request.path) if self.closure is not None else None
        return refused or self.dialect.handle(request, now, address)

    def _count(self, now: datetime) -> tuple[int, str | None]:
        """The number of the call that comes in now, and the fault it meets."""
        serial, self.calls = self.calls, self.calls + 1
        kind = self.faults.at(serial, now)
        if kind is not None:
            self.met[kind] += 1
        return serial, kind

    def _deliver(self, delivery: Delivery, now: datetime) -> Delivery:
        reply = delivery.reply.adding({"date": format_datetime(now, usegmt=True)})
        self.statuses[reply.status] += delivery.manner is Manner.WHOLE
        return Delivery(reply, delivery.manner, delivery.delay)

    def happenings(self, since: datetime, until: datetime) -> Iterator[Told]:
        """What happens in `since < time <= until` of the world's time in the service's own keys: the truth behind streams."""
        return told(self.dialect, self.world.happenings(to_ms(since), to_ms(until)))

    def described(self, base: str, name: str = "simulated") -> Service:
        """The service as a crawl names it."""
        return Service(name=name, provider=self.dialect.name, base=base)

    def audit(self) -> dict[str, Any]:
        """What the service saw: calls, answers by status, and each throttle's windows added up."""
        buckets: dict[str, dict[str, int]] = {}
        for window in self.limiter.windows():
            sums = buckets.setdefault(window.name, {"windows": 0, "allowed": 0, "used": 0, "refused": 0, "over_limit": 0})
            sums["windows"] += 1
            sums["allowed"] += window.allowance
            sums["used"] += window.used
            sums["refused"] += window.refused
            sums["over_limit"] += max(0, window.used + window.refused - window.allowance)
        return {
            "calls": self.calls,
            "refused": self.limiter.refused,
            "over_limit": sum(sums["over_limit"] for sums in buckets.values()),
            "statuses": {str(status): count for status, count in sorted(self.statuses.items())},
            "faults": dict(self.met),
            "buckets": buckets,
        }

    def posts_to_find(self, key: str, since: datetime, until: datetime, at: datetime) -> Mapping[str, datetime | None]:
        """By the service's own key all posts of an account from a stretch of time that a visitor may see, with their deletion.

        Deleted posts are in it (they could be seen before); those only followers may read, and reposts of accounts that are not
        open at the time given, are not.
        """
        rows = self.world.all_rows(self.account(key), to_ms(since), to_ms(until))
        return {
            self.dialect.post_key(row.number): None if row.gone_at == NEVER else from_ms(row.gone_at)
            for row in rows
            if row.gone_at > row.ms and self.is_shown(row, to_ms(at))
        }

    def is_shown(self, row: Row, now: int) -> bool:
        """Whether everybody may read a post, or what it passes on."""
        number = row.target if row.kind == REPOST else row.number
        is_open = row.kind != REPOST or self.world.is_open(author_of(number), now)
        return is_open and self.dialect.is_shown(self.world.contents.visibility(number))

    def account(self, key: str) -> int:
        account = self.dialect.account_number(key)
        if account is None:
            raise UserError(
                f"The simulated service knows no account {key!r}",
                "ask it for keys with /_simulated/accounts.",
                code="unknown_account",
            )
        return account

    def _disturb(self, reply: Reply, kind: str, serial: int) -> Delivery:
        answers = {
            "error_500": lambda: self.dialect.failure(500).adding(_limits(reply)),
            "bad_gateway": lambda: Reply(502, page("502 Bad Gateway"), {"content-type": "text/html"}),
            "unavailable": lambda: self.dialect.failure(503),
            "bad_token": lambda: self.dialect.failure(401),
            "limited": lambda: self.dialect.failure(429).adding(with_no_remainder(_limits(reply))),
            "limited_bare": lambda: self.dialect.failure(429),
        }
        manners = {"reset": Manner.RESET, "lost_before": Manner.LOST, "lost_after": Manner.LOST, "cut": Manner.CUT}
        if kind in answers:
            return Delivery(answers[kind]())
        if kind in manners:
            return Delivery(reply, manners[kind])
        return Delivery(spoil(reply, kind, serial), delay=self.faults.slowness if kind == "slow" else timedelta(0))


def _lowered(request: Request) -> Request:
    return replace(request, headers={name.lower(): value for name, value in request.headers.items()})


def _limits(reply: Reply) -> dict[str, str]:
    return {name: text for name, text in reply.headers.items() if "limit" in name}


class Setup(Struct, frozen=True, kw_only=True):
    """Everything a simulated service is made from."""

    dialect: str = "mastodon"
    world: WorldSettings = WorldSettings()
    scale: Scale = Scale()
    faults: Faults = Faults()
    tokens: int = 1
    app_tokens: int = 0
    domain: str = "simulated.example"
    """Of a Mastodon server: part of every name it gives."""
    servers: tuple[str, ...] = ()
    """The domains of all Mastodon servers that share the world, this one among them; alone if none is named."""
    flavour: str = ""
    """Which software the server runs and what may be asked of it; the newest or fullest if none is named."""
    flavours: Mapping[str, str] = {}
    """The flavours of all Mastodon servers that share the world, by domain."""
    sample: float = 0.01
    """Share of all posts in the sample streams of X and v1.1."""
    volume: int = 3_000
    """Posts a minute that v1.1's filtered streams bring at most; of what is above only the number is told."""


DIALECTS = ("mastodon", "twitter_v1", "bluesky", "x", "x_post", "weibo", "weibo_restricted", "weibo_minimal")


FLAVOURS: dict[str, tuple[str, ...]] = {
    "mastodon": tuple(MASTODON_FLAVOURS),
    "bluesky": ("bluesky", "bluesky-pds"),
    "x": ("x", "x_post", "x-basic"),
    "twitter_v1": ("twitter_v1", "twitter_v1-basic"),
    "weibo": ("weibo", "weibo_restricted", "weibo_minimal", "weibo-limited"),
}
"""Which servers of each network can be simulated, the newest or fullest first."""


def simulate(setup: Setup, world: World | None = None) -> SimulatedService:
    """A service ready to receive, over a world of its own or a given one."""
    setup = _flavoured(setup)
    if setup.dialect not in DIALECTS:
        raise UserError(
            f"There is no simulated dialect {setup.dialect!r}", f"there are {', '.join(DIALECTS)}.", code="unknown_name"
        )
    world = World(setup.world) if world is None else world
    # Servers that share a world give out tokens of their own all the same.
    salt = crc32(setup.domain.encode()) if setup.domain != Setup().domain else 0
    limiter, tokens = Limiter(keep=_KEPT_WINDOWS), IssuedTokens(world.settings.seed ^ salt)
    for _ in range(setup.tokens):
        tokens.issue("user")
    for _ in range(setup.app_tokens):
        tokens.issue("app")
    dialect: Dialect
    if setup.dialect == "mastodon":
        names = {**setup.flavours, setup.domain: setup.flavour or setup.flavours.get(setup.domain, "")}
        flavours = {domain: flavour(name) for domain, name in names.items()}
        vantage = Vantage(world, setup.domain, setup.servers, flavours)
        dialect = MastodonDialect(vantage, limiter, tokens, scale=setup.scale)
    elif setup.dialect == "bluesky":
        oversized = setup.faults.messages.get("stream_oversized", 0.0)
        dialect = BlueskyDialect(world, limiter, tokens, scale=setup.scale, oversized=oversized)
    elif setup.dialect.startswith("weibo"):
        era = setup.dialect.partition("_")[2] or "classic"
        dialect = WeiboDialect(world, limiter, tokens, scale=setup.scale, era=era)
    elif setup.dialect in ("x", "x_post"):
        spelling, manner = setup.dialect.partition("_")[2] or "tweet", x_v2.Manner(sample=setup.sample)
        dialect = XV2Dialect(world, limiter, tokens, scale=setup.scale, spelling=spelling, manner=manner)
    else:
        manner_v1 = twitter_v1.Manner(sample=setup.sample, volume=setup.volume)
        dialect = TwitterV1Dialect(world, limiter, tokens, scale=setup.scale, manner=manner_v1)
    return SimulatedService(dialect, limiter, tokens, setup.faults, CLOSURES.get(setup.flavour))


def _flavoured(setup: Setup) -> Setup:
    """The setup with its flavour's dialect: the eras of Weibo and the spellings of X are dialects of their own."""
    known = FLAVOURS.get(setup.dialect, (setup.dialect,))
    if setup.flavour and setup.flavour not in known:
        raise UserError(
            f"There is no simulated {setup.dialect} server of the flavour {setup.flavour!r}",
            f"there are {', '.join(known)}.",
            code="unknown_name",
        )
    return replace(setup, dialect=setup.flavour) if setup.flavour in DIALECTS else setup
