"""Carries requests over HTTP: bounded in size and time, and every failure is an answer that says why."""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from datetime import datetime, timedelta
from urllib.parse import quote, urljoin, urlsplit

import aiohttp
from aiohttp.http_exceptions import HttpProcessingError
from msgspec import Struct
from yarl import URL

from bowerbird.model import Answer, Request, Service
from bowerbird.ports import Clock

_FAILURES = (aiohttp.ClientError, HttpProcessingError, TimeoutError, OSError, ValueError, zlib.error)
_REDIRECTS = frozenset({301, 302, 307, 308})
_MOST_REDIRECTS = 3
_CHUNK = 64 * 1024


class Bounds(Struct, frozen=True, kw_only=True):
    """How much one call may take."""

    body: int = 32 * 1024 * 1024
    """Bytes, as sent and again after decompression."""
    total: timedelta = timedelta(seconds=60)
    connect: timedelta = timedelta(seconds=15)
    read: timedelta = timedelta(seconds=30)
    """The longest silence between two pieces of an answer."""
    connections: int = 64


class _TooLargeError(ValueError):
    """The body exceeds the bound; what was read is thrown away."""


class HttpTransport:
    """Sends requests over pooled connections; follows no redirect to another host and keeps no cookies.

    `{provider}` in the user agent is filled in for each service.
    """

    def __init__(self, clock: Clock, user_agent: str, *, bounds: Bounds | None = None) -> None:
        self._clock = clock
        self._user_agent = user_agent
        self._bounds = bounds or Bounds()
        self._session: aiohttp.ClientSession | None = None

    async def send(self, service: Service, request: Request) -> Answer:
        sent_at = self._clock.now()
        try:
            status, headers, body = await self._exchange(service, request)
        except _FAILURES as error:
            return Answer(status=0, sent_at=sent_at, received_at=self._clock.now(), failure=_said(error, self._bounds))
        return self._answer(status, headers, body, sent_at)

    def _answer(self, status: int, headers: Mapping[str, str], body: bytes, sent_at: datetime) -> Answer:
        return Answer(status=status, headers=_lowered(headers), body=body, sent_at=sent_at, received_at=self._clock.now())

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()
            self._session = None

    async def _exchange(self, service: Service, request: Request) -> tuple[int, Mapping[str, str], bytes]:
        url = _address(service, request)
        headers = {
            "accept": "application/json",
            "accept-encoding": "gzip",
            "user-agent": self._user_agent.replace("{provider}", service.provider),
            **request.headers,
        }
        for _ in range(_MOST_REDIRECTS + 1):
            async with self._opened().request(
                request.method, URL(url, encoded=True), headers=headers, data=request.body or None, allow_redirects=False
            ) as response:
                body = await self._body(response)
                onward = _onward(url, response) if response.status in _REDIRECTS else None
                if onward is None:
                    return response.status, response.headers, body
                url = onward
        raise ValueError(f"more than {_MOST_REDIRECTS} redirects")

    def _opened(self) -> aiohttp.ClientSession:
        # Made on first use: a session belongs to the loop that is running.
        if self._session is None:
            bounds = self._bounds
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=bounds.connections),
                cookie_jar=aiohttp.DummyCookieJar(),
                auto_decompress=False,
                timeout=aiohttp.ClientTimeout(
                    total=bounds.total.total_seconds(),
                    sock_connect=bounds.connect.total_seconds(),
                    sock_read=bounds.read.total_seconds(),
                ),
            )
        return self._session

    async def _body(self, response: aiohttp.ClientResponse) -> bytes:
        pieces: list[bytes] = []
        size = 0
        async for piece in response.content.iter_chunked(_CHUNK):
            size += len(piece)
            if size > self._bounds.body:
                # Closing drops the connection: the rest of the body would otherwise be read to reuse it.
                response.close()
                raise _TooLargeError
            pieces.append(piece)
        return _inflated(b"".join(pieces), response.headers.get("content-encoding", ""), self._bounds.body)


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
        raise _TooLargeError
    if body and not inflate.eof:
        raise ValueError("the compressed body ends early")
    return plain


def _address(service: Service, request: Request) -> str:
    query = "&".join(f"{_quoted(name)}={_quoted(value)}" for name, value in request.query)
    return service.base + request.path + (f"?{query}" if query else "")


def _quoted(text: str) -> str:
    return quote(text, safe="-._~", errors="replace")


def _onward(url: str, response: aiohttp.ClientResponse) -> str | None:
    """Where a redirect leads, if that is the same host, not less secure; None leaves the redirect as the answer."""
    here = urlsplit(url)
    onward = urljoin(url, response.headers.get("location", ""))
    there = urlsplit(onward)
    is_same_door = (there.scheme, there.netloc) == (here.scheme, here.netloc)
    is_upgrade = (here.scheme, there.scheme) == ("http", "https") and there.netloc == here.netloc and here.port is None
    return onward if onward != url and (is_same_door or is_upgrade) else None


def _lowered(headers: Mapping[str, str]) -> dict[str, str]:
    lowered: dict[str, str] = {}
    for name, value in headers.items():
        # Undecodable bytes arrive as lone surrogates, which no database stores.
        text = value if value.isascii() else value.encode(errors="surrogateescape").decode(errors="replace")
        key = name.lower()
        lowered[key] = f"{lowered[key]}, {text}" if key in lowered else text
    return lowered


def _said(error: Exception, bounds: Bounds) -> str:
    """The failure in words that say what happened and, where it helps, what to look at."""
    match error:
        case _TooLargeError():
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
