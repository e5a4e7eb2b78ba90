"""How much one call may take."""

from __future__ import annotations

import zlib
from datetime import timedelta

import aiohttp
from aiohttp.http_exceptions import HttpProcessingError
from msgspec import Struct

FAILURES = (aiohttp.ClientError, HttpProcessingError, TimeoutError, OSError, ValueError, zlib.error)


class Bounds(Struct, frozen=True, kw_only=True):
    """How much one call may take."""

    body: int = 32 * 1024 * 1024
    """Bytes of an answer without its compression, whatever `Request.most` says."""
    refusal: int = 64 * 1024
    """Bytes kept of an answer that is an error; the rest is not read."""
    together: int = 48 * 1024 * 1024
    """Bytes of all large answers in memory at once: one more waits until an earlier one is let go."""
    large: int = 1024 * 1024
    """Bytes from which on an answer is a large one."""
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


class SpoiltError(ValueError):
    """The server answered, but with a body that is of no use."""


class TooLargeError(SpoiltError):
    """The body exceeds the bound; what was read is thrown away."""

    def __init__(self, most: int) -> None:
        super().__init__(f"the body is larger than {most} bytes")


def is_spoilt(error: BaseException) -> bool:
    """Whether it is the answer that failed, and not the way to the server: the next one may well be the same."""
    return isinstance(error, SpoiltError | zlib.error)
