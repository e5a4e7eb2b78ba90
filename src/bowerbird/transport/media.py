"""Downloads over HTTP from hosts that nobody chose: every address is checked, sizes and times are bounded, redirects are few."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import timedelta

import aiohttp
from aiohttp.abc import AbstractResolver
from aiohttp.resolver import DefaultResolver
from yarl import URL

from bowerbird.model import Fetched
from bowerbird.transport.bounds import FAILURES, Bounds
from bowerbird.transport.failures import said
from bowerbird.transport.public import PrivateAddressError, PublicSockets, web_address

_BOUNDS = Bounds(total=timedelta(minutes=5), connections=8)
_PER_HOST = 2
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_MOST_REDIRECTS = 3
_CHUNK = 64 * 1024


class HttpMedia:
    """Implements `ports.MediaTransport`. It sends no credentials and keeps no cookies."""

    def __init__(
        self,
        user_agent: str,
        *,
        allows_private: bool = False,
        bounds: Bounds = _BOUNDS,
        resolver: Callable[[], AbstractResolver] = DefaultResolver,
        sockets: PublicSockets | None = None,
    ) -> None:
        self._headers = {"user-agent": user_agent.replace("{provider}", "media"), "accept-encoding": "identity"}
        self._sockets = None if allows_private else sockets or PublicSockets()
        self._bounds = bounds
        self._resolver = resolver
        self._session: aiohttp.ClientSession | None = None

    async def fetch(self, url: str, most: int, take: Callable[[bytes], object]) -> Fetched:
        try:
            async with asyncio.timeout(self._bounds.total.total_seconds()):
                return await self._follow(url, most, take)
        except FAILURES as error:
            is_private = _is_private(error)
            # An address that cannot be one will never do; a refused connection may tomorrow.
            is_final = is_private or isinstance(error, ValueError)
            return Fetched(failure=str(_cause(error)) if is_private else said(error, self._bounds), is_final=is_final)

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()
        self._session = None

    async def _follow(self, url: str, most: int, take: Callable[[bytes], object]) -> Fetched:
        place = web_address(url)
        for _ in range(_MOST_REDIRECTS + 1):
            async with self._opened().get(place, headers=self._headers, allow_redirects=False) as response:
                if response.status not in _REDIRECTS or "location" not in response.headers:
                    return await _read(response, most, take)
                place = web_address(str(place.join(URL(response.headers["location"]))))
        return Fetched(failure=f"more than {_MOST_REDIRECTS} redirects")

    def _opened(self) -> aiohttp.ClientSession:
        # Made on first use: a session belongs to the loop that is running.
        if self._session is None:
            connector = aiohttp.TCPConnector(
                limit=self._bounds.connections,
                limit_per_host=_PER_HOST,
                resolver=self._resolver(),
                socket_factory=self._sockets,
                force_close=True,
            )
            self._session = aiohttp.ClientSession(
                connector=connector,
                cookie_jar=aiohttp.DummyCookieJar(),
                auto_decompress=False,
                timeout=self._bounds.timeout(),
            )
        return self._session


async def _read(response: aiohttp.ClientResponse, most: int, take: Callable[[bytes], object]) -> Fetched:
    kind = response.content_type
    if response.status != 200:
        failure = f"HTTP {response.status}"
        return Fetched(status=response.status, failure=failure, retry_after=_retry_after(response))
    if response.headers.get("content-encoding", "identity").strip().lower() not in ("", "identity"):
        return Fetched(status=200, failure="compressed, though nobody asked for it")
    too_large = Fetched(status=200, type=kind, failure=f"larger than {most} bytes", is_final=True)
    if (response.content_length or 0) > most:
        response.close()
        return too_large
    size = 0
    async for piece in response.content.iter_chunked(_CHUNK):
        size += len(piece)
        if size > most:
            response.close()
            return too_large
        take(piece)
    return Fetched(status=200, type=kind)


def _retry_after(response: aiohttp.ClientResponse) -> timedelta | None:
    """Seconds only: the date form is rare, and our own back-off is good enough for it."""
    text = response.headers.get("retry-after", "").strip()
    return timedelta(seconds=int(text)) if text.isascii() and text.isdigit() and len(text) < 9 else None


def _cause(error: BaseException) -> BaseException:
    """What aiohttp wraps: it tells failures of our resolver as its own."""
    return getattr(error, "os_error", None) or error


def _is_private(error: BaseException) -> bool:
    return isinstance(_cause(error), PrivateAddressError)
