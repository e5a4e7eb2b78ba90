"""A cable that can be cut: carries bytes between a client and a service on loopback, and breaks off in the middle of them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from datetime import timedelta
from random import Random
from urllib.parse import urlsplit

from bowerbird.ports import Clock

_CHUNK = 64 * 1024


class Cable:
    """All connections through one port. A cut resets them where they are and refuses new ones for a while."""

    def __init__(self, base: str, clock: Clock, random: Random) -> None:
        parts = urlsplit(base)
        self._host, self._port = parts.hostname or "127.0.0.1", parts.port or 80
        self._clock = clock
        self._random = random
        self._open: set[asyncio.StreamWriter] = set()
        self._is_cut = False
        self.cuts = 0
        """How often a connection that was carrying something was cut."""
        self.carried = 0
        """Bytes from the service."""

    @property
    def is_live(self) -> bool:
        return bool(self._open)

    async def cut(self, outage: timedelta) -> None:
        """Breaks every connection at once, some after a few more bytes, and keeps the way closed for so long."""
        self._is_cut = True
        self.cuts += bool(self._open)
        for writer in list(self._open):
            # Half of a frame may be all that comes through.
            writer.transport.abort()
        self._open.clear()
        await self._clock.sleep_until(self._clock.now() + outage)
        self._is_cut = False

    async def connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One client, from its first byte to its last."""
        if self._is_cut:
            writer.transport.abort()
            return
        try:
            there, beyond = await asyncio.open_connection(self._host, self._port)
        except OSError:
            writer.transport.abort()
            return
        self._open |= {writer, beyond}
        try:
            await asyncio.gather(self._carry(reader, beyond), self._carry(there, writer, is_counted=True))
        finally:
            for each in (writer, beyond):
                self._open.discard(each)
                each.transport.abort()

    async def _carry(self, source: asyncio.StreamReader, to: asyncio.StreamWriter, *, is_counted: bool = False) -> None:
        with suppress(ConnectionError, OSError):
            while piece := await source.read(1 + self._random.randrange(_CHUNK)):
                self.carried += len(piece) if is_counted else 0
                to.write(piece)
                await to.drain()
        with suppress(ConnectionError, OSError, RuntimeError):
            to.write_eof()


@asynccontextmanager
async def cable(base: str, clock: Clock, random: Random) -> AsyncIterator[tuple[str, Cable]]:
    """A cable to the service at `base`; gives the address that goes through it."""
    line = Cable(base, clock, random)
    server = await asyncio.start_server(line.connected, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", line
    finally:
        server.close()
        await line.cut(timedelta(0))
