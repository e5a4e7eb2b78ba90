"""A stream that turns hostile, and is restored: what was said afterwards must be in the store."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from datetime import datetime, timedelta
from pathlib import Path

from msgspec import structs

from bowerbird.app import Crawl, Outside, open_crawl
from bowerbird.clock import VirtualClock
from bowerbird.evaluate.hostile.echoes import echoed, secret_in
from bowerbird.evaluate.hostile.scenes import Scene
from bowerbird.evaluate.hostile.stage import Verdict, run, secrets_of, troubles
from bowerbird.evaluate.hostile.stored import tokens_in, trouble
from bowerbird.evaluate.hostile.streams.messages import CHANNELS, STREAM_ATTACKS, Line, Saying
from bowerbird.evaluate.laboratory import SERVICE, Laboratory, TokenVault
from bowerbird.model import Answer, Ended, Request, Service, Wire
from bowerbird.ports import Connection, Database
from bowerbird.simulated.service import Setup, SimulatedService
from bowerbird.simulated.serving.transport import InProcessTransport
from bowerbird.simulated.world import WorldSettings
from bowerbird.simulated.world.passing.happenings import Kind

_HOSTILE = timedelta(minutes=40)
_HEALTHY = timedelta(hours=3)
_SETTLED = timedelta(minutes=20)
"""So long after the restart everything that is said must be heard: the longest wait before a new connection is over."""
_MOST_SAID = 60


class HostileConnection:
    """A good connection whose messages are turned into others until it is ended."""

    def __init__(self, inner: Connection, say: Saying, secret: str) -> None:
        """`secret`: what the connection was opened with."""
        self._inner = inner
        self._say = say
        self._secret = secret
        self._said = 0

    async def receive(self, until: datetime) -> Sequence[bytes] | Ended:
        received = await self._inner.receive(until)
        if isinstance(received, Ended):
            return received
        turned: list[bytes] = []
        for message in filter(None, received):
            said = self._say(message, self._said)
            self._said += 1
            if isinstance(said, Ended):
                reason = echoed(said.reason.encode(errors="surrogatepass"), self._secret).decode(errors="surrogatepass")
                return structs.replace(said, reason=reason)
            turned += [echoed(each, self._secret) for each in said]
            if self._said >= _MOST_SAID or sum(map(len, turned)) > 8 * 1024 * 1024:
                break
        return turned if turned or not received else [b""]

    async def send(self, message: bytes) -> None:
        await self._inner.send(message)

    async def close(self) -> None:
        await self._inner.close()


class HostileStreams:
    """Implements `ports.StreamTransport`; single requests are answered as always."""

    def __init__(self, inner: InProcessTransport, say: Saying) -> None:
        self._inner = inner
        self._say = say
        self.has_changed = False
        """Whether any message became another one."""

    async def send(self, service: Service, request: Request) -> Answer:
        return await self._inner.send(service, request)

    async def connect(self, service: Service, request: Request, wire: Wire) -> Connection | Answer:
        opened = await self._inner.connect(service, request, wire)
        return opened if isinstance(opened, Answer) else HostileConnection(opened, self._turned, secret_in(request))

    def _turned(self, message: bytes, number: int) -> list[bytes] | Ended:
        said = self._say(message, number)
        self.has_changed |= isinstance(said, Ended) or said != [message]
        return said

    async def close(self) -> None:
        await self._inner.close()


def setup_of(line: Line, now: datetime) -> Setup:
    world = WorldSettings(seed=3, accounts=400, start=now, history=timedelta(days=1), longest_history=5)
    return Setup(dialect=line.network, world=world, tokens=1, app_tokens=1, sample=1.0)


async def undisturbed(channel: str, clock: VirtualClock) -> frozenset[str]:
    """The keys of the posts that somebody hears whom nobody attacks."""
    stage = _Stage(channel, clock, ":memory:")
    async with stage.crawl(stage.inner) as crawl:
        await run(crawl, clock, _HOSTILE + _HEALTHY)
        return await _heard(crawl.database)


async def play_stream(scene: Scene, expected: frozenset[str], store: str, folder: Path, clock: VirtualClock) -> Verdict:
    """An attack on the messages of one channel."""
    stage, verdict = _Stage(scene.part, clock, store), Verdict()
    hostile = HostileStreams(stage.inner, STREAM_ATTACKS[scene.attack])
    async with troubles(verdict, "under attack"), stage.crawl(hostile) as crawl:
        await run(crawl, clock, _HOSTILE)
    verdict.is_idle = not hostile.has_changed
    since = clock.now() + _SETTLED
    async with troubles(verdict, "restored"), stage.crawl(stage.inner) as crawl:
        await run(crawl, clock, _HEALTHY)
        await _judge(verdict, crawl.database, stage.written(since) & expected)
        verdict.leaked += await tokens_in(crawl.database, secrets_of(stage.service), folder)
    verdict.over_limit = stage.service.audit()["over_limit"]
    return verdict


class _Stage:
    """One simulated network that speaks, and the crawl that listens to it."""

    def __init__(self, channel: str, clock: VirtualClock, store: str) -> None:
        self._line, self._clock = CHANNELS[channel], clock
        laboratory = Laboratory(setup_of(self._line, clock.now()), clock)
        self.service: SimulatedService = laboratory.service
        self.inner = InProcessTransport({SERVICE: self.service}, clock)
        self._plan = laboratory.plan('flow = "listen"', [], f"[[streams]]\n{self._line.options}\n", store=store)

    def crawl(self, transport: HostileStreams | InProcessTransport) -> AbstractAsyncContextManager[Crawl]:
        tokens = [token for token in self.service.tokens if token.kind == self._line.token]
        vault = TokenVault(self._line.network, tokens)
        outside = Outside(clock=self._clock, transport=transport, vault=vault, glance=timedelta(minutes=1))
        return open_crawl(self._plan, outside)

    def written(self, since: datetime) -> frozenset[str]:
        """What was posted since then, up to a moment ago."""
        told = self.service.happenings(since, self._clock.now() - timedelta(minutes=2))
        return frozenset(each.post for each in told if each.kind is Kind.WRITTEN)


async def _judge(verdict: Verdict, database: Database, expected: frozenset[str]) -> None:
    heard, noted = await _heard(database), await trouble(database)
    async with database.reading() as tx:
        state = await tx.fetch_one("select state, reason from streams")
    if not expected & heard:
        verdict.wedged += 1
        verdict.words.append(f"deaf after the restart: {dict(state) if state else None}"[:300])
    verdict.lost += len(expected - heard)
    verdict.crashed += len(noted.crashes)
    verdict.words += [words[:300] for words in noted.crashes[:3]]


async def _heard(database: Database) -> frozenset[str]:
    async with database.reading() as tx:
        rows = await tx.fetch("select id as key from posts union select key from post_keys")
    # On the X network a global id is the service's own key behind a mark.
    return frozenset(row["key"].removeprefix("x:") for row in rows)
