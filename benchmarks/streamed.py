"""Made-up messages sent over a real WebSocket by a process of their own, as fast as the reader takes them."""

from __future__ import annotations

import asyncio
import multiprocessing
import time
from base64 import b64encode
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from hashlib import sha1
from itertools import islice
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from benchmarks.frames import MESSAGES, Network, events

FOLLOWING = 100_000
"""Messages that are kept for measuring a filled store."""
_MAGIC = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
_SWITCHING = b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: %b\r\n\r\n"
_NOT_FOUND = b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
_TEXT, _BINARY = 0x81, 0x82
_CHUNK = 64 * 1024
_CLOSING = 0x88
_CLOSED = b"\x88\x02\x03\xe8"


class Streamed(Struct, frozen=True):
    """A stream being served, as its reader sees it."""

    channel: str
    base: str
    events: int
    mean_bytes: int
    pipe: Connection

    def processor_seconds(self) -> float:
        """How much the server has used so far."""
        self.pipe.send("so far")
        seconds: float = self.pipe.recv()
        return seconds


@contextmanager
def streamed(channel: str, count: int, following: Path | None = None) -> Iterator[Streamed]:
    """Serves in another process until the block ends; every connection gets all messages from the first one on. `following`: the
    messages that come after those of a filled store, which `streamed_once` wrote."""
    with _process(_serve_all, channel, count, following) as (pipe, (base, mean)):
        yield Streamed(channel, base, count, mean, pipe)


@contextmanager
def streamed_once(count: int, following: Path) -> Iterator[Streamed]:
    """Serves so many messages of Jetstream to one reader, each made when it is due; the next ones go into the file."""
    with _process(_serve_once, count, following) as (pipe, base):
        yield Streamed("jetstream", base, count, 0, pipe)
        pipe.send("has read all")
        pipe.recv()


@contextmanager
def _process(run: Callable[..., None], *arguments: Any) -> Iterator[tuple[Connection, Any]]:
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=run, args=(theirs, *arguments), daemon=True)
    process.start()
    theirs.close()
    try:
        yield ours, ours.recv()
    finally:
        process.terminate()
        process.join()


def _serve_all(pipe: Connection, channel: str, count: int, following: Path | None) -> None:
    if following is None:
        messages = [MESSAGES[channel](event) for event in events(count)]
    else:
        messages = msgspec.msgpack.decode(following.read_bytes(), type=dict[str, list[bytes]])[channel][:count]
    mean = sum(map(len, messages)) // len(messages)
    asyncio.run(_serve(pipe, list(_chunks(messages, _opcode(channel))), mean))


def _serve_once(pipe: Connection, count: int, following: Path) -> None:
    network = Network(count)
    messages = (MESSAGES["jetstream"](event) for event in islice(network, count))
    asyncio.run(_serve_to_one(pipe, _chunks(messages, _TEXT)))
    behind = list(islice(network, FOLLOWING))
    following.write_bytes(
        msgspec.msgpack.encode({channel: [form(event) for event in behind] for channel, form in MESSAGES.items()})
    )
    pipe.send("written")


def _opcode(channel: str) -> int:
    return _TEXT if channel == "jetstream" else _BINARY


async def _serve_to_one(pipe: Connection, chunks: Iterable[bytes]) -> None:
    server = await asyncio.start_server(_Door(chunks).answer, "127.0.0.1", 0)
    pipe.send(_address(server))
    await asyncio.to_thread(_is_asked, pipe)


async def _serve(pipe: Connection, chunks: list[bytes], mean: int) -> None:
    server = await asyncio.start_server(_Door(chunks).answer, "127.0.0.1", 0)
    pipe.send((_address(server), mean))
    while await asyncio.to_thread(_is_asked, pipe):
        pipe.send(time.process_time())


def _address(server: asyncio.Server) -> str:
    return f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"


def _is_asked(pipe: Connection) -> bool:
    return bool(pipe.recv())


class _Door:
    """Speaks just enough of the protocol: shakes hands, then sends."""

    def __init__(self, chunks: Iterable[bytes]) -> None:
        self._chunks = chunks

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            asked = await reader.readuntil(b"\r\n\r\n")
            key = _key(asked)
            if key is None:
                writer.write(_NOT_FOUND)
                return
            writer.write(_SWITCHING % _accepted(key))
            for chunk in self._chunks:
                writer.write(chunk)
                await writer.drain()
            # Whatever else the reader says (pings) needs no answer within the time this takes.
            while (said := await reader.read(_CHUNK)) and said[0] != _CLOSING:
                pass
            writer.write(_CLOSED)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()


def _key(asked: bytes) -> bytes | None:
    """The key of a handshake; None for any other request."""
    lines = (line.partition(b":") for line in asked.split(b"\r\n"))
    return next((value.strip() for name, _, value in lines if name.lower() == b"sec-websocket-key"), None)


def _accepted(key: bytes) -> bytes:
    return b64encode(sha1(key + _MAGIC, usedforsecurity=False).digest())


def _chunks(messages: Iterable[bytes], opcode: int) -> Iterator[bytes]:
    """All messages as WebSocket frames, joined into pieces of a size that is cheap to write."""
    waiting: list[bytes] = []
    size = 0
    for message in messages:
        frame = _framed(message, opcode)
        waiting.append(frame)
        size += len(frame)
        if size >= _CHUNK:
            yield b"".join(waiting)
            waiting, size = [], 0
    yield b"".join(waiting)


def _framed(message: bytes, opcode: int) -> bytes:
    length = len(message)
    if length < 126:
        return bytes([opcode, length]) + message
    if length < 65_536:
        return bytes([opcode, 126]) + length.to_bytes(2) + message
    return bytes([opcode, 127]) + length.to_bytes(8) + message
