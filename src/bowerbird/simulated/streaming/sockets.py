"""Streams of a simulated service over real sockets: WebSockets, server-sent events and lines."""

from __future__ import annotations

import asyncio
from datetime import datetime, timedelta
from typing import Protocol

from aiohttp import WSMsgType, web

from bowerbird.model import Wire
from bowerbird.ports import Clock
from bowerbird.simulated.feeds import Sent
from bowerbird.simulated.streaming.live import BROKEN, PING, Live

_LARGEST_MESSAGE = 16 << 20
_PROTOCOLS = ("xrpc.v1.json",)


async def stream(live: Live, incoming: web.Request, clock: Clock) -> web.StreamResponse:
    """Holds one connection until either side ends it."""
    try:
        if live.wire is Wire.WEBSOCKET:
            return await _hold_socket(live, incoming, clock)
        return await _hold_answer(live, incoming, clock)
    except ConnectionError:
        # The visitor has gone before a word was said; nobody reads this.
        return web.Response(status=499)
    finally:
        live.end()


async def _hold_socket(live: Live, incoming: web.Request, clock: Clock) -> web.StreamResponse:
    socket = web.WebSocketResponse(compress=False, max_msg_size=_LARGEST_MESSAGE, protocols=_PROTOCOLS)
    socket.headers.update(live.headers)
    await socket.prepare(incoming)
    talk = _Talk(live, _Socket(socket, incoming, live.is_text), clock)
    async with asyncio.TaskGroup() as tasks:
        hearing = tasks.create_task(_hear(socket, talk))
        await talk.run()
        hearing.cancel()
    return socket


async def _hear(socket: web.WebSocketResponse, talk: _Talk) -> None:
    async for message in socket:
        if message.type in (WSMsgType.TEXT, WSMsgType.BINARY):
            said = message.data.encode() if isinstance(message.data, str) else message.data
            await talk.hear(said)
    talk.end()


async def _hold_answer(live: Live, incoming: web.Request, clock: Clock) -> web.StreamResponse:
    answer = web.StreamResponse(headers=live.headers)
    await answer.prepare(incoming)
    await _Talk(live, _Answer(answer, incoming), clock).run()
    return answer


class _Way(Protocol):
    """How frames leave and how a connection ends."""

    async def write(self, frame: bytes) -> None: ...

    async def ping(self) -> None: ...

    async def close(self, code: int, reason: str) -> None: ...


class _Socket:
    def __init__(self, socket: web.WebSocketResponse, incoming: web.Request, is_text: bool) -> None:
        self._socket = socket
        self._incoming = incoming
        self._is_text = is_text

    async def write(self, frame: bytes) -> None:
        if self._is_text:
            await self._socket.send_str(frame.decode("utf-8", "replace"))
        else:
            await self._socket.send_bytes(frame)

    async def ping(self) -> None:
        await self._socket.ping()

    async def close(self, code: int, reason: str) -> None:
        if code == BROKEN:
            _abort(self._incoming)
        else:
            await self._socket.close(code=code, message=reason.encode())


class _Answer:
    def __init__(self, answer: web.StreamResponse, incoming: web.Request) -> None:
        self._answer = answer
        self._incoming = incoming

    async def write(self, frame: bytes) -> None:
        await self._answer.write(frame)

    async def ping(self) -> None:
        """Heartbeats of a long answer are frames: the dialect sends them."""

    async def close(self, code: int, reason: str) -> None:
        if code == BROKEN:
            _abort(self._incoming)
        else:
            await self._answer.write_eof()


class _Talk:
    """Sends what is due when it is due, until one side ends it."""

    def __init__(self, live: Live, way: _Way, clock: Clock) -> None:
        self._live = live
        self._way = way
        self._clock = clock
        self._again_at: datetime = clock.now()
        self._stirred = asyncio.Event()
        self._is_over = False

    async def run(self) -> None:
        ping_at = self._clock.now() + PING
        try:
            while not self._is_over:
                now = self._clock.now()
                if now >= self._again_at:
                    # Asked again at the next heartbeat at the latest, whatever the feed says.
                    self._again_at = now + PING
                    await self._tell(self._live.due(now))
                elif now >= ping_at and not self._live.is_silent:
                    await self._way.ping()
                    ping_at = now + PING
                else:
                    self._stirred.clear()
                    await self._clock.wait(self._stirred, min(self._again_at, max(ping_at, now + timedelta(seconds=1))))
        except ConnectionError:
            # The visitor has gone.
            self._is_over = True

    async def hear(self, message: bytes) -> None:
        try:
            await self._tell(self._live.receive(message, self._clock.now()))
        except ConnectionError:
            self._is_over = True
        self._stirred.set()

    def end(self) -> None:
        self._is_over = True
        self._stirred.set()

    async def _tell(self, sent: Sent) -> None:
        for frame in sent.frames:
            await self._way.write(frame)
        if sent.again_at is not None:
            self._again_at = sent.again_at
        if sent.close is not None:
            self._is_over = True
            await self._way.close(*sent.close)


def _abort(incoming: web.Request) -> None:
    if incoming.transport is not None:
        incoming.transport.abort()
