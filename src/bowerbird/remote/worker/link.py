"""A worker's way to its coordinator: one request at a time or many, each answered, refused or tried again by whoever asked."""

from __future__ import annotations

import os
import ssl
from datetime import datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import aiohttp
import msgspec
from msgspec import Struct

from bowerbird.clock import from_micros
from bowerbird.errors import Busy, UserError
from bowerbird.ports import Clock
from bowerbird.remote.bodies import MOST, MOST_PACKED, PLAIN, packed, unpacked
from bowerbird.remote.problems import Large, Problem, error_of
from bowerbird.remote.services import SERVICES
from bowerbird.remote.wire import MESSAGEPACK, PREFIX, TIME_HEADER, VERSION_HEADER, WIRE, read, written
from bowerbird.transport.serving import is_loopback

_TIMES = aiohttp.ClientTimeout(total=60, connect=10, sock_read=30)
_ACCEPTS = "zstd, gzip"
_AT_ONCE = 8
_LARGE = 413
_LONGEST_TIME = 17
"""Digits of microseconds: enough for three thousand years."""
_GATEWAY = (502, 504)
"""What stands between answers so when it does not reach the coordinator."""


class Address(Struct, frozen=True, kw_only=True):
    """Where a coordinator is, and how it is spoken to."""

    base: str
    token: str
    authority: Path | None = None
    """A file with the certificates that are trusted, instead of those that the system trusts."""
    may_be_plain: bool = False

    def __repr__(self) -> str:
        return f"Address({self.base})"

    def check(self) -> None:
        """Raises `UserError` for an address that is none, or would send the token over a network that anybody can read."""
        parts = urlsplit(self.base)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise UserError(
                f"{self.base!r} is no address of a coordinator",
                "write for example https://coordinator.example:8440",
                code="invalid_address",
            )
        if parts.username is not None or parts.password is not None:
            raise UserError(
                "an address of a coordinator names no user",
                f"write {parts.scheme}://{parts.hostname}; the token says who asks",
                code="invalid_address",
            )
        if parts.scheme == "http" and not is_loopback(parts.hostname) and not self.may_be_plain:
            raise UserError(
                f"{self.base} is not encrypted: the token and all answers could be read on the way.",
                "Serve it with TLS and write https://…, or say --plain where the network between is your own",
                code="insecure_address",
            )
        if self.authority is not None and not self.authority.is_file():
            raise UserError(
                f"there is no file {self.authority}", "--ca names a file of certificates in PEM format", code="file_not_found"
            )


class Link:
    """Carries questions to the coordinator, and goes by its time."""

    def __init__(self, address: Address, clock: Clock) -> None:
        address.check()
        self._address = address
        self._clock = clock
        self._session: aiohttp.ClientSession | None = None

    async def ask(self, service: str, question: Any = None, *, sets_clock: bool = False) -> Any:
        """What the coordinator answers to one of its services; raises what it refuses with, and `Busy` when it is not reached.

        `sets_clock`: our clock is set by its answer."""
        body, packing = packed(b"" if question is None else written(question))
        headers = {"content-encoding": packing} if packing != PLAIN else {}
        try:
            with self._clock.outside():
                sent = self._clock.now()
                # Nobody is followed elsewhere: there the token and the answers may be read by others.
                async with self._opened().post(
                    f"{self._base}/{service}", data=body, headers=headers, allow_redirects=False
                ) as response:
                    answer = unpacked(await self._body(response), response.headers.get("content-encoding", PLAIN))
                received = self._clock.now()
        except (aiohttp.ClientError, TimeoutError, OSError, UserError) as error:
            raise Busy(f"the coordinator {self._address.base} did not answer: {_words(error)}") from error
        if sets_clock and (told := told_time(response.headers.get(TIME_HEADER, ""))) is not None:
            self._clock.heed(told, sent, received)
        return self._understood(service, response, answer)

    @property
    def _base(self) -> str:
        return self._address.base.rstrip("/") + PREFIX

    async def _body(self, response: aiohttp.ClientResponse) -> bytes:
        body = bytearray()
        async for piece in response.content.iter_chunked(1 << 16):
            body += piece
            if len(body) > MOST_PACKED:
                raise UserError(f"the answer has more than {MOST_PACKED:,} bytes", code="too_large")
        return bytes(body)

    def _understood(self, service: str, response: aiohttp.ClientResponse, body: bytes) -> Any:
        is_ours = VERSION_HEADER in response.headers
        if response.status in _GATEWAY or (response.status >= 500 and not is_ours):
            raise Busy(f"the coordinator {self._address.base} cannot be reached: HTTP {response.status}")
        if response.status == _LARGE and not is_ours:
            raise Large(f"what stands before {self._address.base} takes no request of that size; let it take 64 MB")
        try:
            if response.status == 200 and is_ours:
                return read(body, SERVICES[service].answers)
            problem: Problem = read(body, Problem)
        except msgspec.DecodeError:
            raise UserError(
                f"{self._address.base} does not speak as a coordinator does (HTTP {response.status}): is the address right, and "
                "does `bowerbird serve` run there?",
                code="wrong_server",
            ) from None
        raise error_of(problem)

    def _opened(self) -> aiohttp.ClientSession:
        # Made on first use: a session belongs to the loop that is running.
        if self._session is None:
            trusted = ssl.create_default_context(cafile=self._address.authority) if self._address.authority else True
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=_AT_ONCE, ssl=trusted),
                headers={
                    "authorization": f"Bearer {self._address.token}",
                    VERSION_HEADER: str(WIRE),
                    "content-type": MESSAGEPACK,
                    "accept": MESSAGEPACK,
                    "accept-encoding": _ACCEPTS,
                },
                cookie_jar=aiohttp.DummyCookieJar(),
                auto_decompress=False,
                timeout=_TIMES,
            )
        return self._session

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()
            self._session = None


def told_time(told: str) -> datetime | None:
    """The time that the other side says it is; None where it says none that can be."""
    return from_micros(int(told)) if told.isdecimal() and len(told) <= _LONGEST_TIME else None


def _words(error: BaseException) -> str:
    if isinstance(error, aiohttp.ClientSSLError):
        cause = error.certificate_error if isinstance(error, aiohttp.ClientConnectorCertificateError) else error.os_error
        return f"TLS failed ({cause}); is it served with a certificate that is trusted here (--ca FILE), or at http://…?"
    if isinstance(error, aiohttp.ClientConnectorError) and error.os_error.errno is not None and error.os_error.errno > 0:
        return os.strerror(error.os_error.errno)
    return str(error) or type(error).__name__


MOST_BODY = MOST // 4
"""Bytes of answers that are sent together: the coordinator takes more, but others wait meanwhile."""
