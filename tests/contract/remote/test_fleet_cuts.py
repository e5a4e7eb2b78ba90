"""A worker without a database behind a network that fails: what was put is settled once, what was got is made once."""

from __future__ import annotations

import asyncio
from collections import Counter
from contextlib import suppress
from urllib.parse import urlsplit

from fleet_scene import Fleet, play_fleet
from stream_scene import TinyVault
from work_scene import SECOND

from bowerbird.db import open_database
from bowerbird.errors import Busy
from bowerbird.model import Answer, Offer, Request, Service
from bowerbird.ports import Transport
from bowerbird.remote.wire import Beat
from bowerbird.remote.worker.client import HttpWorkSource
from bowerbird.remote.worker.link import Address, Link
from bowerbird.remote.worker.working import Hands, RemoteWorker
from failures import raises_code


class Proxy:
    """Passes every request on; every third answer is lost: the connection is cut instead. So is all while it `is_down`."""

    def __init__(self, base: str) -> None:
        self._to = urlsplit(base)
        self._answers = 0
        self.lost = 0
        self.is_down = False

    async def start(self) -> tuple[asyncio.Server, str]:
        server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        return server, f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        inside, outward = await asyncio.open_connection(self._to.hostname, self._to.port)
        there, back = asyncio.create_task(self._pass(reader, outward)), asyncio.create_task(self._back(inside, writer))
        await asyncio.wait([there, back], return_when=asyncio.FIRST_COMPLETED)
        for each in (there, back):
            each.cancel()
        for each in (outward, writer):
            each.close()
            with suppress(OSError):
                await each.wait_closed()

    async def _pass(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while (piece := await reader.read(1 << 16)) and not self.is_down:
            writer.write(piece)
            await writer.drain()

    async def _back(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while piece := await reader.read(1 << 16):
            self._answers += 1
            if self.is_down or self._answers % 3 == 0:
                self.lost += 1
                return
            writer.write(piece)
            await writer.drain()


class Counting:
    """A service that counts how often it is asked about whom."""

    def __init__(self, fleet: Fleet) -> None:
        self._fleet = fleet
        self.asked: Counter[str] = Counter()

    async def send(self, service: Service, request: Request) -> Answer:
        (target,) = (value for _, value in request.query)
        self.asked[target] += 1
        return self._fleet.scene.answer(f"posts {target}0 {target}1")

    async def close(self) -> None:
        """Nothing is held open."""


async def _behind(fleet: Fleet) -> tuple[Proxy, Link]:
    proxy = Proxy(fleet.base)
    server, base = await proxy.start()
    link = Link(Address(base=base, token=await fleet.token("w")), fleet.scene.clock)
    fleet.scene.ends.push_async_callback(link.close)
    fleet.scene.ends.callback(server.close)
    return proxy, link


def test_answers_that_are_lost_on_their_way_double_nothing() -> None:
    async def work(fleet: Fleet) -> None:
        scene, transport = fleet.scene, Counting(fleet)
        await scene.add("timeline", *map(str, range(1, 31)))
        proxy, link = await _behind(fleet)
        own = await open_database(":memory:", scene.clock)
        await own.create_tables()

        def made(contact: str) -> Transport:
            return transport

        worker = RemoteWorker(link, Hands(clock=scene.clock, vault=TinyVault(), transport=made, own=own, slots=4))
        running = asyncio.create_task(worker.run())
        while Counter(state for state, _ in await scene.calls())["settled"] < 30 and not running.done():
            await scene.wait(SECOND)
        fleet.desk.over = "enough"
        ending = await running
        await own.close()
        assert ending.reason.problem == "enough"
        assert proxy.lost > 5
        assert await scene.calls() == [("settled", "ok")] * 30
        assert set(transport.asked.values()) == {1}
        assert len(await scene.posts()) == 60

    play_fleet(work)


def test_a_coordinator_that_is_out_of_reach_is_busy_and_comes_back() -> None:
    async def work(fleet: Fleet) -> None:
        proxy, link = await _behind(fleet)
        proxy.is_down = True
        source = HttpWorkSource(link)
        with raises_code(Busy, "database_busy"):
            await source.lease(Offer(worker=1))
        with raises_code(Busy, "database_busy"):
            await link.ask("heartbeat", Beat(worker=1))

    play_fleet(work)
