"""One transport for everything HTTP: single answers, and connections that stay open."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Mapping
from datetime import datetime

import aiohttp
from aiohttp.abc import AbstractResolver
from aiohttp.resolver import DefaultResolver

from bowerbird.model import Answer, Request, Service, Wire
from bowerbird.ports import Clock
from bowerbird.transport.addresses import address, encoded, lowered
from bowerbird.transport.bodies import Body, Room
from bowerbird.transport.bounds import FAILURES, Bounds, is_spoilt
from bowerbird.transport.failures import said
from bowerbird.transport.public import network_sockets
from bowerbird.transport.streams.cutting import Events, Lines
from bowerbird.transport.streams.refused import Refused
from bowerbird.transport.streams.response import ResponseConnection, open_response
from bowerbird.transport.streams.websocket import SocketConnection, handshake_traces, open_socket

_ACCEPTS = {Wire.EVENTS: "text/event-stream", Wire.LINES: "application/json", Wire.WEBSOCKET: "*/*"}


class HttpTransport:
    """Sends requests over pooled connections; follows no redirect and keeps no cookies.

    `{provider}` in the user agent is filled in for each service.
    """

    def __init__(
        self,
        clock: Clock,
        user_agent: str,
        *,
        bounds: Bounds | None = None,
        resolver: Callable[[], AbstractResolver] = DefaultResolver,
    ) -> None:
        self._clock = clock
        self._user_agent = user_agent
        self._bounds = bounds or Bounds()
        self._resolver = resolver
        self._room = Room(self._bounds.together)
        self._session: aiohttp.ClientSession | None = None
        self._sockets: aiohttp.ClientSession | None = None

    async def send(self, service: Service, request: Request) -> Answer:
        sent_at = self._clock.now()
        body = Body(self._room, self._bounds)
        try:
            answer = self._answer(*await self._exchange(service, request, body), sent_at)
        except BaseException as error:
            body.give_back()
            if not isinstance(error, FAILURES):
                raise
            return self._failed(error, sent_at)
        # An answer waits to be settled: its room is free when nobody holds it any more.
        if body.is_large:
            weakref.finalize(answer, body.give_back)
        return answer

    async def connect(self, service: Service, request: Request, wire: Wire) -> ResponseConnection | SocketConnection | Answer:
        """An open connection, or the answer that came instead; a redirect is such an answer."""
        sent_at = self._clock.now()
        headers = self._headers(service, {"accept": _ACCEPTS[wire], "accept-encoding": "identity"} | request.headers)
        url = encoded(address(service, request))
        try:
            if wire is Wire.WEBSOCKET:
                return await open_socket(self._socket_session(), url, headers, self._clock, self._bounds)
            cut = (Events if wire is Wire.EVENTS else Lines)(self._bounds.message)
            opened = await open_response(self._opened(), request, url, headers, self._bounds)
        except Refused as refused:
            return self._answer(refused.status, refused.headers, refused.body, sent_at)
        except FAILURES as error:
            return self._failed(error, sent_at)
        return ResponseConnection(opened, cut, self._clock)

    async def close(self) -> None:
        for session in (self._session, self._sockets):
            if session is not None:
                await session.close()
        self._session = self._sockets = None

    def _answer(self, status: int, headers: Mapping[str, str], body: bytes, sent_at: datetime) -> Answer:
        return Answer(status=status, headers=lowered(headers), body=body, sent_at=sent_at, received_at=self._clock.now())

    def _failed(self, error: BaseException, sent_at: datetime) -> Answer:
        words, now = said(error, self._bounds), self._clock.now()
        return Answer(status=0, sent_at=sent_at, received_at=now, failure=words, is_spoilt=is_spoilt(error))

    def _headers(self, service: Service, headers: Mapping[str, str]) -> dict[str, str]:
        return {"user-agent": self._user_agent.replace("{provider}", service.provider), **headers}

    async def _exchange(self, service: Service, request: Request, body: Body) -> tuple[int, Mapping[str, str], bytes]:
        """One request and no more: a redirect is an answer. To follow it would be a call that nobody was charged for."""
        url = encoded(address(service, request))
        headers = self._headers(service, {"accept": "application/json", "accept-encoding": "gzip"} | request.headers)
        async with self._opened().request(
            request.method, url, headers=headers, data=request.body or None, allow_redirects=False
        ) as response:
            return response.status, response.headers, await body.read(response, request.most)

    def _opened(self) -> aiohttp.ClientSession:
        # Made on first use: a session belongs to the loop that is running.
        if self._session is None:
            self._session = self._new_session()
        return self._session

    def _socket_session(self) -> aiohttp.ClientSession:
        # Apart, because only handshakes are traced: ordinary calls shall not pay for it.
        if self._sockets is None:
            self._sockets = self._new_session(handshake_traces(self._bounds))
        return self._sockets

    def _new_session(self, traces: list[aiohttp.TraceConfig] | None = None) -> aiohttp.ClientSession:
        session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(
                limit=self._bounds.connections, resolver=self._resolver(), socket_factory=network_sockets()
            ),
            cookie_jar=aiohttp.DummyCookieJar(),
            auto_decompress=False,
            timeout=self._bounds.timeout(),
            trace_configs=traces,
        )
        # By itself aiohttp asks once more when a server hangs up without an answer: a call that nobody was charged for. There
        # is no public way to say so.
        session._retry_connection = False
        return session
