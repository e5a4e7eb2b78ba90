"""How much one call may take, and what is said when it takes more."""

from __future__ import annotations

import zlib
from datetime import timedelta

import aiohttp
from aiohttp.http_exceptions import HttpProcessingError
from msgspec import Struct

FAILURES = (aiohttp.ClientError, HttpProcessingError, TimeoutError, OSError, ValueError, zlib.error)
_CHUNK = 64 * 1024


class Bounds(Struct, frozen=True, kw_only=True):
    """How much one call may take."""

    body: int = 32 * 1024 * 1024
    """Bytes, as sent and again after decompression."""
    message: int = 8 * 1024 * 1024
    """Bytes of one message of a stream."""
    total: timedelta = timedelta(seconds=60)
    connect: timedelta = timedelta(seconds=15)
    read: timedelta = timedelta(seconds=30)
    """The longest silence between two pieces of an answer."""
    connections: int = 64

    def timeout(self) -> aiohttp.ClientTimeout:
        return aiohttp.ClientTimeout(
            total=self.total.total_seconds(),
            sock_connect=self.connect.total_seconds(),
            sock_read=self.read.total_seconds(),
        )


class TooLargeError(ValueError):
    """The body exceeds the bound; what was read is thrown away."""


async def read_body(response: aiohttp.ClientResponse, most: int) -> bytes:
    """The whole body without its compression; raises `TooLargeError` as soon as it is larger than `most` bytes."""
    pieces: list[bytes] = []
    size = 0
    async for piece in response.content.iter_chunked(_CHUNK):
        size += len(piece)
        if size > most:
            # Closing drops the connection: the rest of the body would otherwise be read to reuse it.
            response.close()
            raise TooLargeError
        pieces.append(piece)
    return _inflated(b"".join(pieces), response.headers.get("content-encoding", ""), most)


def _inflated(body: bytes, encoding: str, most: int) -> bytes:
    """The body without its compression, never larger than `most` even while it unfolds."""
    match encoding.strip().lower():
        case "" | "identity":
            return body
        case "gzip" | "x-gzip" | "deflate":
            pass
        case other:
            raise ValueError(f"content-encoding {other[:40]!r} was not asked for")
    # 32 + 15 bits: zlib tells gzip from deflate by itself.
    inflate = zlib.decompressobj(32 + zlib.MAX_WBITS)
    plain = inflate.decompress(body, most + 1)
    if len(plain) > most:
        raise TooLargeError
    if body and not inflate.eof:
        raise ValueError("the compressed body ends early")
    return plain


def said(error: BaseException, bounds: Bounds) -> str:
    """The failure in words that say what happened and, where it helps, what to look at."""
    match error:
        case TooLargeError():
            return f"the body is larger than {bounds.body} bytes"
        case aiohttp.ClientSSLError():
            return f"the server's certificate was not accepted: {error}"[:300]
        case aiohttp.ConnectionTimeoutError():
            return f"no connection within {bounds.connect.total_seconds():g} s"
        case aiohttp.SocketTimeoutError():
            return f"silent for {bounds.read.total_seconds():g} s"
        case TimeoutError():
            return f"not finished within {bounds.total.total_seconds():g} s"
        case aiohttp.ClientConnectorError():
            return f"cannot connect: {error}"[:300]
    return f"{type(error).__name__}: {error}"[:300].encode(errors="replace").decode()
