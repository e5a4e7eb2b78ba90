"""A coordinator on loopback over the small crawl of `work_scene`, in virtual time."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from msgspec import Struct
from starlette.applications import Starlette
from work_scene import Scene, play

from bowerbird.crawl.process.workers.identity import myself
from bowerbird.crawl.work.source import LocalWorkSource
from bowerbird.model import Credential
from bowerbird.ports import WorkSource
from bowerbird.remote import tokens
from bowerbird.remote.bodies import Sizes
from bowerbird.remote.coordinator import Opened
from bowerbird.remote.desk import Desk
from bowerbird.remote.roster import Roster
from bowerbird.remote.routes import fleet_routes
from bowerbird.remote.tokens import TokenCheck
from bowerbird.remote.wire import Enrol, Enrolled
from bowerbird.remote.worker.link import Address, Link
from bowerbird.transport.serving import Listening, serving

FACETS = frozenset({"profile", "timeline"})


class Fleet(Struct, frozen=True):
    """One coordinator and those who ask it."""

    scene: Scene
    desk: Desk
    base: str
    source: LocalWorkSource

    async def token(self, name: str) -> str:
        async with self.scene.database.transaction() as tx:
            return await tokens.add(tx, name, self.scene.clock.now())

    def link(self, token: str) -> Link:
        link = Link(Address(base=self.base, token=token), self.scene.clock)
        self.scene.ends.push_async_callback(link.close)
        return link

    async def enrolled(self, name: str, *, token: str = "") -> tuple[Link, Enrolled]:
        """A worker of that name, its way to the coordinator and its number."""
        link = self.link(token or await self.token(name))
        asked = Enrol(process=myself(), version="1", credentials=(Credential(name="key", provider="x"),))
        return link, await link.ask("enrol", asked, sets_clock=True)


async def served(scene: Scene, source: LocalWorkSource, sizes: Sizes | None = None) -> Fleet:
    """A coordinator that hands out the calls of a source."""
    desk = Desk(Roster(scene.database, scene.clock, "crawl"), scene.clock)
    desk.open(Opened(source=source, worker=scene.worker, facets=FACETS))
    app = Starlette(routes=fleet_routes(desk, TokenCheck(scene.database, scene.clock), scene.clock, sizes))
    return Fleet(scene, desk, await scene.ends.enter_async_context(serving(app, Listening())), source)


def play_fleet(work: Callable[[Fleet], Awaitable[None]], sizes: Sizes | None = None) -> None:
    """Plays a scene with a coordinator whose crawl has the credential `key`."""
    found: list[LocalWorkSource] = []

    async def remembered(scene: Scene, source: LocalWorkSource) -> WorkSource:
        found.append(source)
        return source

    async def main(scene: Scene) -> None:
        await scene.source("key")
        await work(await served(scene, found[0], sizes))

    play(main, ":memory:", remembered)
