"""A long HTTP answer as a live connection: server-sent events and line streams."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import datetime

import aiohttp
from yarl import URL

from bowerbird.model import Ended, Request
from bowerbird.ports import Clock
from bowerbird.transport.bounds import FAILURES, Bounds
from bowerbird.transport.failures import said
from bowerbird.transport.streams.cutting import SIGN_OF_LIFE, Events, Lines
from bowerbird.transport.streams.refused import refusal


async def open_response(
    session: aiohttp.ClientSession, request: Request, url: URL, headers: dict[str, str], bounds: Bounds
) -> aiohttp.ClientResponse:
    """An answer whose body goes on for ever; raises `Refused` with any other."""
    # Once it is open only the streamer judges silence, by the rule of the network.
    timeout = aiohttp.ClientTimeout(sock_connect=bounds.connect.total_seconds())
    async with asyncio.timeout(bounds.total.total_seconds()):
        response = await session.request(
            request.method, url, headers=headers, data=request.body or None, allow_redirects=False, timeout=timeout
        )
        if not _is_stream(response):
            raise await refusal(response, bounds)
    return response


def _is_stream(response: aiohttp.ClientResponse) -> bool:
    """A proxy's error page may come with status 200 too."""
    is_plain = response.headers.get("content-encoding", "identity").strip().lower() in ("", "identity")
    return response.status == 200 and is_plain and response.content_type != "text/html"


class ResponseConnection:
    """Implements `ports.Connection` over one HTTP answer; what is not received waits in the socket."""

    def __init__(self, response: aiohttp.ClientResponse, cutter: Events | Lines, clock: Clock) -> None:
        self._response = response
        self._cutter = cutter
        self._clock = clock

    async def receive(self, until: datetime) -> Sequence[bytes] | Ended:
        left = max((until - self._clock.now()).total_seconds(), 0.0)
        try:
            async with asyncio.timeout(left) as waiting:
                chunk = await self._response.content.readany()
            return (self._cutter.cut(chunk) or [SIGN_OF_LIFE]) if chunk else Ended("the server ended the answer")
        except FAILURES as error:
            # Only our own patience is no failure.
            if isinstance(error, TimeoutError) and waiting.expired():
                return ()
            return Ended(said(error))

    async def send(self, message: bytes) -> None:
        """Nothing can be said on such a connection."""
        raise NotImplementedError("an HTTP answer takes no messages")

    async def close(self) -> None:
        self._response.close()
