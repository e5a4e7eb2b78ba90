"""A simulated service over real HTTP: the same replies and streams, with resets that reset and cuts that cut."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from urllib.parse import parse_qsl

from aiohttp import web

from bowerbird.errors import UserError
from bowerbird.model import Request
from bowerbird.ports import Clock
from bowerbird.simulated.service import Delivery, Manner, SimulatedService
from bowerbird.simulated.serving.pictures import picture
from bowerbird.simulated.serving.truth_pages import PREFIX, TruthPages
from bowerbird.simulated.streaming.live import Live
from bowerbird.simulated.streaming.sockets import stream

_PATIENCE = timedelta(minutes=2)
"""How long a lost answer keeps its connection open."""
_LARGEST_REQUEST = 1 << 20
_PICTURES = "/system/media_attachments/"


@asynccontextmanager
async def serve(service: SimulatedService, clock: Clock, host: str = "127.0.0.1", port: int = 0) -> AsyncIterator[str]:
    """Serves until the block ends; gives the base URL. Port 0 takes any free one."""
    app = web.Application(client_max_size=_LARGEST_REQUEST)
    app.router.add_route("*", "/{path:.*}", _Door(service, clock).answer)
    # A visitor who goes away ends the work for him: a stream's place is free again at once.
    runner = web.AppRunner(app, access_log=None, handle_signals=False, shutdown_timeout=0.2, handler_cancellation=True)
    await runner.setup()
    try:
        base = await _listen(runner, host, port)
        service.is_at(base)
        yield base
    finally:
        await runner.cleanup()


async def _listen(runner: web.AppRunner, host: str, port: int) -> str:
    try:
        await web.TCPSite(runner, host, port).start()
    except OSError as problem:
        why = f"The simulated service cannot listen on {host}:{port} ({problem.strerror})"
        raise UserError(why, "choose another --port or --host.") from None
    name, chosen = runner.addresses[0][:2]
    return f"http://{f'[{name}]' if ':' in name else name}:{chosen}"


class _Door:
    """Turns HTTP requests into ours and deliveries into HTTP."""

    def __init__(self, service: SimulatedService, clock: Clock) -> None:
        self._service = service
        self._clock = clock
        self._truth = TruthPages(service)

    async def answer(self, incoming: web.Request) -> web.StreamResponse:
        request, address = await _read(incoming), incoming.remote or ""
        if request.path.startswith(PREFIX):
            return _whole(Delivery(self._truth.handle(request, self._clock.now() + self._service.faults.skew, address)))
        if request.path.startswith(_PICTURES):
            return web.Response(body=picture(request.path), content_type="image/png")
        opened = self._service.connect(request, self._clock.now(), address)
        if isinstance(opened, Live):
            return await stream(opened, incoming, self._clock)
        delivery = opened or self._service.receive(request, self._clock.now(), address)
        if request.method == "HEAD" and self._service.sends_body_to_head:
            _wrong_head(incoming, delivery)
        return await self._deliver(delivery, incoming)

    async def _deliver(self, delivery: Delivery, incoming: web.Request) -> web.StreamResponse:
        if delivery.manner is Manner.LOST:
            await self._clock.sleep_until(self._clock.now() + _PATIENCE)
        if delivery.delay:
            await self._clock.sleep_until(self._clock.now() + delivery.delay)
        if delivery.manner is Manner.CUT:
            await _begin(incoming, delivery)
        if delivery.manner is not Manner.WHOLE and incoming.transport is not None:
            incoming.transport.abort()
        return _whole(delivery)


async def _read(incoming: web.Request) -> Request:
    return Request(
        path=incoming.path,
        method=incoming.method,
        query=tuple(parse_qsl(incoming.query_string, keep_blank_values=True)),
        headers={name.lower(): value for name, value in incoming.headers.items()},
        body=await incoming.read(),
    )


def _whole(delivery: Delivery) -> web.Response:
    return web.Response(status=delivery.reply.status, body=delivery.reply.body, headers=delivery.reply.headers)


def _wrong_head(incoming: web.Request, delivery: Delivery) -> None:
    """Answers HEAD with a body, as some servers do: what follows the headers is not the next answer."""
    reply = delivery.reply
    head = {**reply.headers, "content-length": str(len(reply.body)), "connection": "close"}
    lines = [f"HTTP/1.1 {reply.status} OK", *(f"{name}: {value}" for name, value in head.items()), "", ""]
    if incoming.transport is not None:
        incoming.transport.write("\r\n".join(lines).encode() + reply.body)
        incoming.transport.close()


async def _begin(incoming: web.Request, delivery: Delivery) -> None:
    """Sends the head and half of the body of a longer answer."""
    body = delivery.reply.body
    head = {**delivery.reply.headers, "content-length": str(len(body) + 1)}
    response = web.StreamResponse(status=delivery.reply.status, headers=head)
    await response.prepare(incoming)
    await response.write(body[: len(body) // 2])
