"""A WebSocket as a live connection. Pings of both sides are signs of life."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Any

import aiohttp
from aiohttp import WSMsgType
from yarl import URL

from bowerbird.model import Ended
from bowerbird.ports import Clock
from bowerbird.transport.bounds import FAILURES, Bounds
from bowerbird.transport.failures import said
from bowerbird.transport.streams.cutting import SIGN_OF_LIFE
from bowerbird.transport.streams.refused import refusal

_SWITCHED = 101
_PING_AFTER = timedelta(seconds=20)
_MOST_HELD = 1_000
_MOST_BYTES = 1024 * 1024
_TEXT, _BINARY = WSMsgType.TEXT, WSMsgType.BINARY
"""Asked of every message: an enumeration takes its time to name its members."""
_GOODBYE = aiohttp.ClientWSTimeout(ws_close=2.0)


def handshake_traces(bounds: Bounds) -> list[aiohttp.TraceConfig]:
    """Turns an answer that is no handshake into `Refused`: aiohttp itself would drop its body and follow redirects anywhere."""

    async def answered(session: object, context: object, params: Any) -> None:
        if params.response.status != _SWITCHED:
            raise await refusal(params.response, bounds)

    traces = aiohttp.TraceConfig()
    traces.on_request_redirect.append(answered)
    traces.on_request_end.append(answered)
    return [traces]


async def open_socket(
    session: aiohttp.ClientSession, url: URL, headers: dict[str, str], clock: Clock, bounds: Bounds
) -> SocketConnection:
    """An open WebSocket; raises `Refused` when the server answers otherwise. The session must have `handshake_traces`."""
    # No permessage-deflate: Jetstream refuses it beside its own compression, and the firehose defines none.
    socket = await session.ws_connect(
        url, headers=headers, autoping=False, decode_text=False, max_msg_size=bounds.message, timeout=_GOODBYE, compress=0
    )
    return SocketConnection(socket, clock)


class SocketConnection:
    """Implements `ports.Connection`. Its own task moves messages over, so that a whole burst is received at once."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse[Any], clock: Clock) -> None:
        self._socket = socket
        self._clock = clock
        self._held: list[bytes] = []
        self._size = 0
        self._ended: Ended | None = None
        self._has_news = asyncio.Event()
        self._has_room = asyncio.Event()
        self._has_room.set()
        self._mover = asyncio.create_task(self._move())

    async def receive(self, until: datetime) -> Sequence[bytes] | Ended:
        while not self._held and self._ended is None:
            now = self._clock.now()
            if now >= until:
                return ()
            # Half of the patience at most: the answer to a ping must have time to come.
            await self._clock.wait(self._has_news, now + min(_PING_AFTER, max((until - now) / 2, timedelta(milliseconds=1))))
            if not self._has_news.is_set():
                await self._ping()
        if not self._held and self._ended is not None:
            return self._ended
        return self._take()

    def _take(self) -> list[bytes]:
        taken, self._held, self._size = self._held, [], 0
        self._has_room.set()
        if self._ended is None:
            self._has_news.clear()
        return taken

    async def send(self, message: bytes) -> None:
        # A connection that broke says so when it is received from.
        with suppress(*FAILURES):
            await self._socket.send_frame(message, WSMsgType.TEXT)

    async def _ping(self) -> None:
        with suppress(*FAILURES):
            await self._socket.ping()

    async def close(self) -> None:
        self._mover.cancel()
        with suppress(asyncio.CancelledError):
            await self._mover
        await self._socket.close()

    async def _move(self) -> None:
        """Takes messages off the socket as long as there is room; otherwise they wait in it and the server with them."""
        try:
            while self._ended is None:
                if not self._has_room.is_set():
                    await self._has_room.wait()
                message = await self._socket.receive()
                if message.type is _TEXT or message.type is _BINARY:
                    self._keep(message.data)
                    continue
                if message.type is WSMsgType.PING:
                    await self._socket.pong(message.data)
                self._hold(message)
        except FAILURES as error:
            self._end(said(error))

    def _hold(self, message: Any) -> None:
        match message.type:
            case WSMsgType.PING | WSMsgType.PONG:
                self._keep(SIGN_OF_LIFE)
            case WSMsgType.CLOSE:
                self._end(message.extra or "the server closed the connection", message.data or 0)
            case WSMsgType.ERROR:
                self._end(said(message.data), self._socket.close_code or 0)
            case _:
                self._end("the connection broke", self._socket.close_code or 0)

    def _keep(self, message: bytes) -> None:
        self._held.append(message)
        self._size += len(message)
        if len(self._held) >= _MOST_HELD or self._size >= _MOST_BYTES:
            self._has_room.clear()
        if len(self._held) == 1:
            self._has_news.set()

    def _end(self, reason: str, status: int = 0) -> None:
        self._ended = Ended(reason, status)
        self._has_news.set()
