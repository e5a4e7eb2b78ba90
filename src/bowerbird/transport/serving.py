"""Serves an application over HTTP, here or to others: for the coordinator of a fleet, and for a dashboard beside it."""

from __future__ import annotations

import asyncio
import logging
import socket
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from importlib import import_module
from ipaddress import ip_address
from pathlib import Path
from typing import Any

from msgspec import Struct

from bowerbird.errors import UserError

_GOODBYE = 5
"""Seconds that open requests have to end."""
_MOST_AT_ONCE = 2000
_MOST_OF_ONE = _MOST_AT_ONCE // 2
"""Connections from one other machine: nobody there can have them all. Here are proxies, who speak for many."""
_MOST_COMPLAINTS = 100
_IDLE = 120
"""Seconds after which a connection on which nobody asks is closed."""


class Listening(Struct, frozen=True, kw_only=True):
    """Where and how an application is served."""

    host: str = "127.0.0.1"
    port: int = 0
    """0: any that is free."""
    certificate: Path | None = None
    key: Path | None = None
    headers_within: float = 20.0
    """Seconds in which the head of a request must have come."""
    may_be_plain: bool = False
    """Whether others may ask without TLS: where something in front of it does that."""

    def check(self) -> None:
        """Raises `UserError` for what would send tokens and answers over a network that anybody can read."""
        if (self.certificate is None) != (self.key is None):
            raise UserError(
                "a certificate and its key belong together", "give both --certificate FILE and --key FILE", code="needs_option"
            )
        for file in (self.certificate, self.key):
            if file is not None and not file.is_file():
                raise UserError(
                    f"there is no file {file}", "--certificate and --key name files in PEM format", code="file_not_found"
                )
        if self.certificate is None and not is_loopback(self.host) and not self.may_be_plain:
            raise UserError(
                f"{self.host} can be reached from other machines, and without TLS tokens and answers could be read on the way",
                "give --certificate FILE and --key FILE, or say --plain where something in front of it does that",
                code="insecure_address",
            )

    @property
    def scheme(self) -> str:
        return "https" if self.certificate is not None else "http"


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach an address."""
    try:
        return host == "localhost" or ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def needed_for_web(package: str) -> Any:
    """A package that serving needs; raises `UserError` with what to install where it is missing."""
    try:
        return import_module(package)
    except ImportError:
        name = package.partition(".")[0]
        names = {"python_multipart": "python-multipart", "argon2": "argon2-cffi"}
        raise UserError(
            f"this needs the package {names.get(name, name)}",
            "install it with `pip install 'bowerbird[web]'`",
            code="package_missing",
        ) from None


@asynccontextmanager
async def serving(app: Any, where: Listening) -> AsyncIterator[str]:
    """Serves an ASGI application until the block ends; gives its base URL."""
    where.check()
    uvicorn = needed_for_web("uvicorn")
    door = _bound(where)
    logging.getLogger("uvicorn.error").addFilter(_said_once)
    config = uvicorn.Config(
        app,
        http=punctual(needed_for_web("uvicorn.protocols.http.auto").AutoHTTPProtocol, where.headers_within),
        log_config=None,
        access_log=False,
        lifespan="off",
        ws="none",
        server_header=False,
        # Who asks, and how, is what the connection says: anybody on this machine could claim to be a proxy.
        proxy_headers=False,
        limit_concurrency=_MOST_AT_ONCE,
        timeout_keep_alive=_IDLE,
        timeout_graceful_shutdown=_GOODBYE,
        ssl_certfile=where.certificate,
        ssl_keyfile=where.key,
    )
    server = uvicorn.Server(config)
    # The process has signals of its own to heed.
    server.capture_signals = _no_signals
    task = asyncio.create_task(server.serve(sockets=[door]), name="serving")
    try:
        host, port = door.getsockname()[:2]
        yield f"{where.scheme}://{f'[{host}]' if ':' in host else host}:{port}"
    finally:
        server.should_exit = True
        await task


@contextmanager
def _no_signals() -> Iterator[None]:
    yield


def punctual(protocol: type[Any], headers_within: float, most_of_one: int = _MOST_OF_ONE) -> type[Any]:
    """The same protocol, which closes connections on which no whole request comes in time: who sends half of one and waits would
    hold its place for ever. And it takes only so many from one other machine."""
    opened: Counter[str] = Counter()

    class Punctual(protocol):  # type: ignore[misc]
        _too_late: asyncio.TimerHandle | None = None
        _from = ""

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            self._from = str((transport.get_extra_info("peername") or ("",))[0])
            opened[self._from] += 1
            if opened[self._from] > most_of_one and not is_loopback(self._from):
                transport.abort()
            self._wait_for_request()

        def data_received(self, data: bytes) -> None:
            super().data_received(data)
            if self.cycle is not None and not self.cycle.response_complete:
                self._stop_waiting()
            elif self._too_late is None:
                self._wait_for_request()

        def connection_lost(self, exc: Exception | None) -> None:
            self._stop_waiting()
            opened[self._from] -= 1
            if not opened[self._from]:
                del opened[self._from]
            super().connection_lost(exc)

        def on_response_complete(self) -> None:
            # Who asks nothing more is closed as idle; who begins to ask has so long again.
            self._stop_waiting()
            super().on_response_complete()

        def _wait_for_request(self) -> None:
            self._too_late = self.loop.call_later(headers_within, self.transport.close)

        def _stop_waiting(self) -> None:
            if self._too_late is not None:
                self._too_late.cancel()
                self._too_late = None

    return Punctual


class Once(logging.Filter):
    """Lets every complaint through once: a stranger who sends rubbish again and again fills no log."""

    def __init__(self) -> None:
        super().__init__()
        self._said: set[str] = set()

    def filter(self, record: logging.LogRecord) -> bool:
        words = record.getMessage()
        is_new = words not in self._said and len(self._said) < _MOST_COMPLAINTS
        self._said.add(words)
        return is_new


_said_once = Once()


def _bound(where: Listening) -> socket.socket:
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(where.host, where.port, type=socket.SOCK_STREAM)[0]
        door = socket.socket(family, kind, protocol)
        door.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        door.bind(address)
        # From here on nobody is turned away: who comes before the server is ready waits.
        door.listen(_MOST_AT_ONCE)
    except OSError as problem:
        raise UserError(
            f"cannot listen on {where.host}:{where.port} ({problem.strerror})", "choose another --host or --port"
        ) from None
    return door
