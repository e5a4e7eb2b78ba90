"""The networks of a researcher's first week: a simulated service of each over real HTTP, in a thread of its own."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from datetime import datetime, timedelta

from msgspec import Struct

from bowerbird.clock import EPOCH, RealClock
from bowerbird.simulated.scale import Scale
from bowerbird.simulated.service import Setup, SimulatedService, simulate
from bowerbird.simulated.serving.http import serve
from bowerbird.simulated.tokens import Token
from bowerbird.simulated.world import WorldSettings
from bowerbird.simulated.world.hashing import generator
from bowerbird.simulated.world.posts.rows import REPLY, REPOST, author_of
from bowerbird.simulated.world.settings import to_ms

NETWORKS = ("bluesky", "mastodon", "x", "weibo", "twitter_v1")
_ACCOUNTS = 300
_PACE = 3_000.0
"""Of the world that streams are heard from: minutes go by like that of a day."""


class Server(Struct, frozen=True):
    """One network, and what is true of it."""

    service: SimulatedService
    base: str

    @property
    def name(self) -> str:
        return self.service.dialect.name

    def options(self) -> list[str]:
        """How a command is told to ask here, and on a network that charges, what it may spend."""
        budget = ["--budget", "20"] if self.name == "x" else []
        return ["--on", self.base, "--provider", self.name, *budget]

    def token(self, kind: str) -> Token:
        return next(each for each in self.service.tokens if each.kind == kind)

    @property
    def now(self) -> datetime:
        """The world's own time: it stands still while commands are typed, however long they take."""
        return self.service.world.settings.moment(RealClock().now())

    def writers(self, count: int) -> list[int]:
        """Accounts that everybody may read and that have written."""
        now, truth = self.now, self.service.truth
        drawn = truth.sample_accounts(_ACCOUNTS, generator(1, 7), now, writers=True)
        return [account for account in drawn if truth.is_collectable(account, now) and self.posts(account)][:count]

    def handle(self, account: int) -> str:
        return f"@{self.service.dialect.handle_of(account, self.now)}"

    def key(self, account: int) -> str:
        return self.service.dialect.account_key(account)

    def posts(self, account: int) -> set[str]:
        """Keys of all posts of an account that are to be had."""
        now = self.now
        found = self.service.posts_to_find(self.key(account), EPOCH, now, now)
        return {post for post, gone in found.items() if gone is None or gone > now}

    def written(self, account: int) -> set[str]:
        """Keys of everything that it ever wrote or passed on, also what is not to be had everywhere."""
        rows = self.service.world.all_rows(account, 0, to_ms(self.now))
        return {self.service.dialect.post_key(row.number) for row in rows}

    def answered(self, kind: int) -> dict[str, set[int]]:
        """By the key of a post that everybody may read: who answered it, or passed it on, of those who may be collected."""
        now, found = to_ms(self.now), dict[str, set[int]]()
        recent = to_ms(self.now - timedelta(days=5))
        for account in self.writers(_ACCOUNTS):
            for row in self.service.world.all_rows(account, recent, now):
                if row.kind == kind and row.gone_at > now and self._is_there(row.target):
                    found.setdefault(self.service.dialect.post_key(row.target), set()).add(account)
        return found

    def replies(self) -> dict[str, set[int]]:
        return self.answered(REPLY)

    def reposts(self) -> dict[str, set[int]]:
        return self.answered(REPOST)

    def _is_there(self, number: int) -> bool:
        author = author_of(number)
        is_open = self.service.truth.is_collectable(author, self.now)
        return is_open and self.service.dialect.post_key(number) in self.posts(author)


@contextmanager
def serving(networks: Sequence[str]) -> Iterator[dict[str, Server]]:
    """Networks in worlds that stand still."""
    with ExitStack() as stack:
        yield {name: stack.enter_context(_running(name, 1.0)) for name in networks}


@contextmanager
def live(network: str) -> Iterator[Server]:
    """One of them in a world whose time runs fast, for those who listen."""
    with _running(network, _PACE) as server:
        yield server


@contextmanager
def _running(dialect: str, pace: float) -> Iterator[Server]:
    clock = RealClock()
    now = clock.now()
    world = WorldSettings(
        accounts=_ACCOUNTS,
        start=now - timedelta(days=10),
        longest_history=60,
        pace=pace,
        since=now,
        until=None if pace > 1 else now,
    )
    service = simulate(Setup(dialect=dialect, world=world, scale=Scale(limits=100), tokens=1, app_tokens=1))
    loop, up, down, bases = asyncio.new_event_loop(), threading.Event(), asyncio.Event(), list[str]()

    async def main() -> None:
        async with serve(service, clock) as base:
            bases.append(base)
            up.set()
            await down.wait()

    thread = threading.Thread(target=loop.run_until_complete, args=(main(),), name=f"simulated {dialect}", daemon=True)
    thread.start()
    up.wait(60)
    try:
        yield Server(service, bases[0])
    finally:
        loop.call_soon_threadsafe(down.set)
        thread.join(30)
        loop.close()
