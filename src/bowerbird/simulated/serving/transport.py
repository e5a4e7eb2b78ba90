"""Simulated services in process: a `Transport` whose network is a deterministic delay, for real and for virtual time."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta

from msgspec import Struct
from msgspec.structs import replace

from bowerbird.model import Answer, Request, Service, Wire
from bowerbird.ports import Clock
from bowerbird.simulated.service import Delivery, Manner, SimulatedService
from bowerbird.simulated.streaming.connection import InProcessConnection
from bowerbird.simulated.streaming.live import Live
from bowerbird.simulated.world.hashing import mix, unit

_FAILURES = {Manner.RESET: "connection reset by the server", Manner.CUT: "the connection ended in the middle of the body"}


class Network(Struct, frozen=True, kw_only=True):
    """How long a way is: `least` plus up to `jitter` in each direction, and when the caller gives up."""

    least: timedelta = timedelta(milliseconds=30)
    jitter: timedelta = timedelta(milliseconds=40)
    timeout: timedelta = timedelta(seconds=30)
    seed: int = 1
    address: str = "192.0.2.1"


NEARBY = Network()


class InProcessTransport:
    """Carries requests to simulated services by name. A lost answer comes back as failed after the timeout."""

    def __init__(self, services: Mapping[str, SimulatedService], clock: Clock, network: Network = NEARBY) -> None:
        self._services = services
        self._clock = clock
        self._network = network
        self._sent = 0

    async def send(self, service: Service, request: Request) -> Answer:
        sent_at, serial = self._clock.now(), self._number()
        simulated = self._services.get(service.name)
        if simulated is None:
            return self._unknown(sent_at, service)
        await self._wait_until(sent_at + self._way(serial * 2))
        delivery = simulated.receive(request, self._clock.now(), self._network.address)
        return await self._bring(delivery, sent_at, serial)

    async def connect(self, service: Service, request: Request, wire: Wire) -> InProcessConnection | Answer:
        """An open stream, or the answer that came instead."""
        sent_at, serial = self._clock.now(), self._number()
        simulated = self._services.get(service.name)
        if simulated is None:
            return self._unknown(sent_at, service)
        await self._wait_until(sent_at + self._way(serial * 2))
        if wire is Wire.WEBSOCKET:
            request = replace(request, headers={**request.headers, "upgrade": "websocket", "connection": "upgrade"})
        now = self._clock.now()
        opened = simulated.connect(request, now, self._network.address)
        if isinstance(opened, Live):
            way = self._way(serial * 2 + 1)
            await self._wait_until(now + way)
            return InProcessConnection(opened, self._clock, way)
        return await self._bring(opened or simulated.receive(request, now, self._network.address), sent_at, serial)

    async def close(self) -> None:
        """Nothing is held open."""

    async def _bring(self, delivery: Delivery, sent_at: datetime, serial: int) -> Answer:
        """The answer on its way back; a lost one is given up after the timeout."""
        arrives = self._clock.now() + delivery.delay + self._way(serial * 2 + 1)
        if delivery.manner is Manner.LOST or arrives > sent_at + self._network.timeout:
            await self._wait_until(sent_at + self._network.timeout)
            return self._failed(sent_at, f"no answer within {self._network.timeout.total_seconds():g} s")
        await self._wait_until(arrives)
        if delivery.manner is not Manner.WHOLE:
            return self._failed(sent_at, _FAILURES[delivery.manner])
        reply = delivery.reply
        return Answer(
            status=reply.status, headers=reply.headers, body=reply.body, sent_at=sent_at, received_at=self._clock.now()
        )  # fmt: skip

    def _number(self) -> int:
        serial, self._sent = self._sent, self._sent + 1
        return serial

    def _unknown(self, sent_at: datetime, service: Service) -> Answer:
        return self._failed(sent_at, f"no simulated service is named {service.name}")

    async def _wait_until(self, when: datetime) -> None:
        if when > self._clock.now():
            await self._clock.sleep_until(when)

    def _way(self, serial: int) -> timedelta:
        return self._network.least + self._network.jitter * unit(mix(serial, self._network.seed))

    def _failed(self, sent_at: datetime, why: str) -> Answer:
        return Answer(status=0, sent_at=sent_at, received_at=self._clock.now(), failure=why)
