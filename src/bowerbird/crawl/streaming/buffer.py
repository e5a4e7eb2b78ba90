"""What was received and is not saved yet: bounded, so that a slow store makes the service wait."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Sequence
from datetime import datetime, timedelta

from msgspec import Struct

from bowerbird.model import Ended
from bowerbird.ports import Clock, Connection

MOST_MESSAGES = 60_000
MOST_BYTES = 40 * 1024 * 1024
_QUIET_TURNS = 3
"""So many turns of the loop without a message mean that none is there."""
SILENT = Ended("not even a sign of life for too long")


class Batch(Struct, frozen=True):
    """Messages in the order they came, and when the last of them did."""

    messages: Sequence[bytes]
    size: int
    received_at: datetime


class Buffer:
    """Stands between the reader, which fills it, and the writer, which takes all it can."""

    def __init__(self, clock: Clock, most_messages: int = MOST_MESSAGES, most_bytes: int = MOST_BYTES) -> None:
        self._clock = clock
        self._most_messages = most_messages
        self._most_bytes = most_bytes
        self._chunks: deque[tuple[datetime, Sequence[bytes]]] = deque()
        self._count = self._bytes = 0
        self._has_news = asyncio.Event()
        self._has_room = asyncio.Event()
        self._has_room.set()
        self.alive_at: datetime | None = None
        """When the last message or sign of life came."""
        self.ended: Ended | None = None

    def __len__(self) -> int:
        return self._count

    async def room(self) -> None:
        """Returns when something may be received again."""
        await self._has_room.wait()

    def put(self, received: Sequence[bytes]) -> None:
        self.alive_at = self._clock.now()
        messages = [message for message in received if message]
        if not messages:
            return
        self._chunks.append((self.alive_at, messages))
        self._change(len(messages), sum(map(len, messages)))
        self._has_news.set()

    def stir(self) -> None:
        """Wakes whoever waits for messages, without one."""
        self._has_news.set()

    def end(self, ended: Ended) -> None:
        """No more will come; what is here can still be taken. The first reason stays."""
        self.ended = self.ended or ended
        self._has_news.set()
        self._has_room.set()

    async def take(self, most: int, until: datetime) -> Batch | None:
        """All that is there, up to `most` messages; None when the time is over or nothing will come any more."""
        if not self._count and self.ended is None:
            self._has_news.clear()
            await self._clock.wait(self._has_news, until)
        await self._gather(most)
        return self._cut(most) if self._count else None

    async def _gather(self, most: int) -> None:
        """Lets the reader fetch what has arrived already: large batches cost less each, and nothing is waited for."""
        quiet = 0
        while 0 < self._count < most and quiet < _QUIET_TURNS and self.ended is None and self._has_room.is_set():
            before = self._count
            await asyncio.sleep(0)
            quiet = 0 if self._count > before else quiet + 1

    def _cut(self, most: int) -> Batch:
        messages: list[bytes] = []
        while self._chunks and len(messages) < most:
            received_at, chunk = self._chunks.popleft()
            left = most - len(messages)
            if len(chunk) > left:
                self._chunks.appendleft((received_at, chunk[left:]))
            messages += chunk[:left]
        size = sum(map(len, messages))
        self._change(-len(messages), -size)
        return Batch(messages, size, received_at)

    def _change(self, count: int, size: int) -> None:
        self._count += count
        self._bytes += size
        if self.ended is None and (self._count >= self._most_messages or self._bytes >= self._most_bytes):
            self._has_room.clear()
        else:
            self._has_room.set()


class OpenLine:
    """An open connection that is read into a buffer, until it is closed."""

    def __init__(self, connection: Connection, buffer: Buffer, silence: timedelta, clock: Clock) -> None:
        self.buffer = buffer
        self._connection = connection
        self._clock = clock
        self._is_closed = False
        self._reader = asyncio.create_task(receive_into(buffer, connection, silence, clock))
        # However it ends, nobody shall wait for more of it.
        self._reader.add_done_callback(lambda _: buffer.end(Ended("the reader broke down")))

    async def send(self, message: bytes) -> None:
        await self._connection.send(message)

    def check(self) -> None:
        """Raises what broke the reader, if anything did."""
        if self._reader.done() and not self._reader.cancelled():
            self._reader.result()

    async def hang_up(self) -> None:
        """Closes the connection, but takes what has arrived already: where each message costs, that is paid for."""
        if self._is_closed:
            return
        await self._stop_reading()
        for _ in range(_QUIET_TURNS):
            received = await self._connection.receive(self._clock.now())
            if isinstance(received, Ended):
                break
            if received:
                self.buffer.put(received)
            await asyncio.sleep(0)
        await self.close()

    async def close(self) -> None:
        if not self._is_closed:
            self._is_closed = True
            await self._stop_reading()
            await self._connection.close()

    async def _stop_reading(self) -> None:
        self._reader.cancel()
        await asyncio.gather(self._reader, return_exceptions=True)


async def receive_into(buffer: Buffer, connection: Connection, silence: timedelta, clock: Clock) -> None:
    """Fills the buffer until the connection ends or is silent for too long; nothing is received while the buffer is full."""
    while buffer.ended is None:
        await buffer.room()
        until = clock.now() + silence
        received = await connection.receive(until)
        if isinstance(received, Ended):
            buffer.end(received)
        elif received:
            buffer.put(received)
        elif clock.now() >= until:
            buffer.end(SILENT)
