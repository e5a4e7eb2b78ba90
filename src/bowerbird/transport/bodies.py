"""The body of one answer: unpacked while it is read, and never more of it in memory than is allowed."""

from __future__ import annotations

import asyncio
import zlib
from collections import deque

import aiohttp

from bowerbird.transport.bounds import Bounds, SpoiltError, TooLargeError

_CHUNK = 64 * 1024
_GOOD = range(200, 300)


class Room:
    """The memory that large answers share: who needs more than is left waits until an earlier one is let go."""

    def __init__(self, together: int) -> None:
        self._left = together
        self._waiting: deque[asyncio.Future[None]] = deque()

    async def take(self, size: int) -> None:
        while self._left < size:
            turn = asyncio.get_running_loop().create_future()
            self._waiting.append(turn)
            await turn
        self._left -= size

    def give_back(self, size: int) -> None:
        self._left += size
        while self._waiting:
            turn = self._waiting.popleft()
            if not turn.done():
                turn.set_result(None)


class Body:
    """Reads one body, and answers for the room it takes until `give_back`."""

    def __init__(self, room: Room, bounds: Bounds) -> None:
        self._room = room
        self._bounds = bounds
        self._taken = 0

    @property
    def is_large(self) -> bool:
        """Whether it holds some of the room."""
        return self._taken > 0

    async def read(self, response: aiohttp.ClientResponse, most: int) -> bytes:
        """The whole body without its compression; raises `TooLargeError` as soon as it is larger than it may be.

        Of an error only the beginning is kept: what it says of limits is in its status and headers.
        """
        if response.status not in _GOOD:
            return await self._pieces(response, self._bounds.refusal, is_cut=True)
        return await self._pieces(response, min(most, self._bounds.body), is_cut=False)

    def give_back(self) -> None:
        taken, self._taken = self._taken, 0
        if taken:
            self._room.give_back(taken)

    async def _pieces(self, response: aiohttp.ClientResponse, most: int, *, is_cut: bool) -> bytes:
        unpacked = _unpacker(response.headers.get("content-encoding", ""))
        pieces: list[bytes] = []
        size = 0
        async for packed in response.content.iter_chunked(_CHUNK):
            piece = unpacked.some(packed, most + 1 - size)
            size += len(piece)
            pieces.append(piece)
            if size > most:
                # Closing drops the connection: the rest of the body would otherwise be read to reuse it.
                response.close()
                if is_cut:
                    return b"".join(pieces)[:most]
                raise TooLargeError(most)
            await self._account(size, most)
        if size and not is_cut:
            unpacked.end()
        return b"".join(pieces)

    async def _account(self, size: int, most: int) -> None:
        """Takes all the room that the answer may come to need as soon as it proves large: half of it could wait for ever."""
        if size > self._bounds.large and not self._taken:
            wanted = min(most, self._bounds.together)
            async with asyncio.timeout(self._bounds.total.total_seconds()):
                await self._room.take(wanted)
            self._taken = wanted


class _Plain:
    """A body that is not compressed."""

    def some(self, packed: bytes, most: int) -> bytes:
        return packed

    def end(self) -> None:
        """It ends where it ends."""


class _Inflated:
    """A body in gzip or deflate, unpacked piece by piece."""

    def __init__(self) -> None:
        # 32 + 15 bits: zlib tells gzip from deflate by itself.
        self._inflate = zlib.decompressobj(32 + zlib.MAX_WBITS)

    def some(self, packed: bytes, most: int) -> bytes:
        """What these bytes unpack to, at most so much of it; whoever gets that much gives the body up."""
        return self._inflate.decompress(packed, most)

    def end(self) -> None:
        if not self._inflate.eof:
            raise SpoiltError("the compressed body ends early")


def _unpacker(encoding: str) -> _Plain | _Inflated:
    match encoding.strip().lower():
        case "" | "identity":
            return _Plain()
        case "gzip" | "x-gzip" | "deflate":
            return _Inflated()
        case other:
            raise SpoiltError(f"content-encoding {other[:40]!r} was not asked for")
