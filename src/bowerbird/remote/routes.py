"""The coordinator's services as HTTP routes: who asks, in which version and how much, is looked at here and nowhere else."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route

from bowerbird.clock import to_micros
from bowerbird.errors import Failure, UserError
from bowerbird.ports import Clock
from bowerbird.remote.bodies import PLAIN, Sizes, TooLarge, packed, unpacked
from bowerbird.remote.description import openapi
from bowerbird.remote.desk import Desk
from bowerbird.remote.problems import BUSY, LARGE, PROBLEMS, REFUSED, Problem, problem_of
from bowerbird.remote.services import SERVICES, Service
from bowerbird.remote.tokens import TokenCheck
from bowerbird.remote.versions import misunderstanding
from bowerbird.remote.wire import JSON, MESSAGEPACK, PREFIX, TIME_HEADER, VERSION_HEADER, WIRE, read, written

_PATIENCE = 120.0
"""Seconds that a body may take to come; a worker gives up after half of it."""


class _Denied(Exception):
    """A request that is answered with this status and this failure."""

    def __init__(self, status: int, failure: Failure, kind: str = REFUSED) -> None:
        super().__init__(str(failure))
        self.status = status
        self.failure = failure
        self.kind = kind


def fleet_routes(desk: Desk, tokens: TokenCheck, clock: Clock, sizes: Sizes | None = None) -> list[Route]:
    """All that a coordinator serves; a dashboard may stand beside it in the same application."""
    door = _Door(desk, tokens, clock, sizes or Sizes())
    return [
        Route(f"{PREFIX}/openapi.json", door.describe, methods=["GET"]),
        *(Route(f"{PREFIX}/{name}", door.serving(name, service), methods=["POST"]) for name, service in SERVICES.items()),
        Route("/fleet/{rest:path}", door.elsewhere, methods=["GET", "POST"]),
    ]


class _Door:
    """Reads requests, answers them, and lets nothing through that is not understood."""

    def __init__(self, desk: Desk, tokens: TokenCheck, clock: Clock, sizes: Sizes) -> None:
        self._desk = desk
        self._tokens = tokens
        self._clock = clock
        self._sizes = sizes

    def serving(self, name: str, service: Service) -> Callable[[Request], Awaitable[Response]]:
        handle = getattr(self._desk, name)

        async def serve(request: Request) -> Response:
            try:
                label = await self._label(request)
                asked = await self._read(request, service.asks) if service.asks is not None else None
                value = await (handle(label) if asked is None else handle(label, asked))
                return self._answered(request, 200, value)
            except _Denied as denied:
                return self._answered(request, denied.status, Problem.of(denied.kind, denied.failure))
            except ClientDisconnect:
                return Response(status_code=400)
            except Exception as error:
                problem = problem_of(error)
                return self._answered(request, PROBLEMS[problem.kind][0], problem)

        return serve

    async def describe(self, request: Request) -> Response:
        return Response(msgspec.json.encode(openapi()), media_type=JSON)

    async def elsewhere(self, request: Request) -> Response:
        unknown = Failure("unknown_route", f"there is no {request.url.path} here")
        return self._answered(request, 404, Problem.of(REFUSED, misunderstanding(_version(request)) or unknown))

    async def _label(self, request: Request) -> str:
        """The name of the worker that asks."""
        if (why := misunderstanding(_version(request))) is not None:
            raise _Denied(426, why)
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        label = await self._tokens.owner(token.strip()) if scheme.lower() == "bearer" else None
        if label is None:
            refused = "this token is nobody's, or was revoked"
            raise _Denied(401, Failure("token_refused", refused, "make one with: bowerbird worker tokens add NAME"))
        return label

    async def _read(self, request: Request, kind: Any) -> Any:
        try:
            body = unpacked(await self._body(request), request.headers.get("content-encoding", PLAIN), self._sizes.unpacked)
            return read(body, kind, request.headers.get("content-type", MESSAGEPACK).partition(";")[0])
        except TooLarge as error:
            raise _Denied(413, error.failure, LARGE) from None
        except TimeoutError:
            raise _Denied(408, Failure("too_slow", f"the body did not come within {_PATIENCE:.0f} s"), BUSY) from None
        except (msgspec.DecodeError, RecursionError) as error:
            wrong = f"the body is not what {request.url.path} takes: {error}"
            raise _Denied(400, Failure("invalid_body", wrong)) from None
        except UserError as error:
            raise _Denied(400, error.failure) from None

    async def _body(self, request: Request) -> bytes:
        most, body = self._sizes.packed, bytearray()
        said = request.headers.get("content-length", "")
        if said.isdecimal() and int(said) > most:
            raise TooLarge(f"the body has {int(said):,} bytes; {most:,} are allowed", code="too_large")
        # In real time, as it passes on the wire: who sends a byte now and then would hold a place for ever.
        async with asyncio.timeout(_PATIENCE):
            async for piece in request.stream():
                body += piece
                if len(body) > most:
                    raise TooLarge(f"the body has more than {most:,} bytes", code="too_large")
        return bytes(body)

    def _answered(self, request: Request, status: int, value: Any) -> Response:
        manner = JSON if JSON in request.headers.get("accept", "") else MESSAGEPACK
        body, packing = packed(written(value, manner), request.headers.get("accept-encoding", ""))
        headers = {VERSION_HEADER: str(WIRE), TIME_HEADER: str(to_micros(self._clock.now()))}
        if packing != PLAIN:
            headers["content-encoding"] = packing
        if status == 401:
            headers["www-authenticate"] = "Bearer"
        return Response(body, status, headers, manner)


def _version(request: Request) -> str:
    return request.headers.get(VERSION_HEADER, "")
