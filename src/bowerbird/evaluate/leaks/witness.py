"""Records everything that hosts are sent, to the last byte, and finds secrets in it that do not belong to them."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Collection, Sequence
from contextlib import asynccontextmanager
from datetime import datetime
from urllib.parse import urlsplit

from msgspec import Struct

from bowerbird.crawl.access.redaction import Redactor
from bowerbird.model import Answer, Ended, Request, Secret, Service, Wire, origin
from bowerbird.ports import Connection, StreamTransport, Vault

_PIECE = 64 * 1024
_Note = Callable[[bytes], object]


class Leak(Struct, frozen=True, order=True):
    """A secret that a host has seen, or a table holds, and should not."""

    credential: str
    where: str


class Witness:
    """Everything that was sent, by the origin (scheme, host and port) it was sent to."""

    def __init__(self) -> None:
        self._heard: defaultdict[str, list[bytes]] = defaultdict(list)

    def hear(self, host: str, sent: bytes) -> None:
        self._heard[origin(host)].append(sent)

    def heard(self, host: str) -> bytes:
        return b"".join(self._heard[origin(host)])

    def leaks(self, vault: Vault) -> list[Leak]:
        """Every secret of the vault, in whatever spelling, that reached a host it does not belong to."""
        found = []
        for host in list(self._heard):
            own = {value for name in _named(vault, host) for value in vault.secret(name).values.values()}
            strangers = [each.name for each in vault.credentials() if not each.belongs_to(host)]
            # Several credentials may share a value, such as the key of their application.
            found += [Leak(name, host) for name in strangers if self._has_seen(host, vault.secret(name), without=own)]
        return sorted(found)

    def reached(self, vault: Vault) -> set[str]:
        """The credentials whose own servers have seen them: a test in which none was sent proves nothing."""
        hosts = list(self._heard)
        return {name for host in hosts for name in _named(vault, host) if self._has_seen(host, vault.secret(name))}

    def _has_seen(self, host: str, secret: Secret, without: Collection[str] = ()) -> bool:
        redactor = Redactor()
        redactor.learn(Secret(name=secret.name, values={key: each for key, each in secret.values.items() if each not in without}))
        return redactor.finds(self.heard(host))


def _named(vault: Vault, host: str) -> list[str]:
    """The credentials that belong to a host."""
    return [each.name for each in vault.credentials() if each.belongs_to(host)]


class WitnessedTransport:
    """Records what it carries; implements `ports.StreamTransport` over another one."""

    def __init__(self, transport: StreamTransport, witness: Witness) -> None:
        self._transport = transport
        self._witness = witness

    async def send(self, service: Service, request: Request) -> Answer:
        self._witness.hear(service.base, _written(request))
        return await self._transport.send(service, request)

    async def connect(self, service: Service, request: Request, wire: Wire) -> Connection | Answer:
        self._witness.hear(service.base, _written(request))
        opened = await self._transport.connect(service, request, wire)
        return opened if isinstance(opened, Answer) else _WitnessedConnection(opened, service.base, self._witness)

    async def close(self) -> None:
        await self._transport.close()


class _WitnessedConnection:
    def __init__(self, connection: Connection, host: str, witness: Witness) -> None:
        self._connection, self._host, self._witness = connection, host, witness

    async def receive(self, until: datetime) -> Sequence[bytes] | Ended:
        return await self._connection.receive(until)

    async def send(self, message: bytes) -> None:
        self._witness.hear(self._host, message)
        await self._connection.send(message)

    async def close(self) -> None:
        await self._connection.close()


def _written(request: Request) -> bytes:
    query = "&".join(f"{name}={value}" for name, value in request.query)
    head = "\n".join((f"{request.method} {request.path}?{query}", *(f"{name}: {each}" for name, each in request.headers.items())))
    return head.encode(errors="replace") + b"\n\n" + request.body + b"\n"


@asynccontextmanager
async def tapped(base: str, witness: Witness) -> AsyncIterator[str]:
    """The address on loopback through which a server is reached while everything sent to it is recorded under that address."""
    parts = urlsplit(base)
    busy: set[asyncio.Task[None]] = set()

    async def visit(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there, back = await asyncio.open_connection(parts.hostname, parts.port)
        pumps = (_pump(reader, back, lambda piece: witness.hear(through, piece)), _pump(there, writer, lambda piece: None))
        await asyncio.gather(*pumps)

    def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.create_task(visit(reader, writer))
        busy.add(task)
        task.add_done_callback(busy.discard)

    server = await asyncio.start_server(accept, "127.0.0.1", 0)
    through = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        yield through
    finally:
        server.close()
        for task in list(busy):
            task.cancel()
        await asyncio.gather(*busy, return_exceptions=True)


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, note: _Note) -> None:
    try:
        while piece := await reader.read(_PIECE):
            note(piece)
            writer.write(piece)
            await writer.drain()
    except OSError:
        # Either side may hang up whenever it likes.
        pass
    finally:
        writer.close()
