"""Recorded messages sent over a real WebSocket by a process of their own, as fast as the reader takes them."""

from __future__ import annotations

import asyncio
import multiprocessing
import time
from base64 import b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha1
from multiprocessing.connection import Connection

from msgspec import Struct

from benchmarks.frames import MESSAGES, events

_MAGIC = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
_SWITCHING = b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: %b\r\n\r\n"
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
def streamed(channel: str, count: int) -> Iterator[Streamed]:
    """Serves in another process until the block ends; every connection gets all messages from the first one on."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_run, args=(theirs, channel, count), daemon=True)
    process.start()
    theirs.close()
    try:
        base, mean = ours.recv()
        yield Streamed(channel, base, count, mean, ours)
    finally:
        process.terminate()
        process.join()


def _run(pipe: Connection, channel: str, count: int) -> None:
    messages = [MESSAGES[channel](event) for event in events(count)]
    asyncio.run(_serve(pipe, messages, _TEXT if channel == "jetstream" else _BINARY))


async def _serve(pipe: Connection, messages: list[bytes], opcode: int) -> None:
    door = _Door(_chunks(messages, opcode))
    server = await asyncio.start_server(door.answer, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    pipe.send((f"http://127.0.0.1:{port}", sum(map(len, messages)) // len(messages)))
    while await asyncio.to_thread(_is_asked, pipe):
        pipe.send(time.process_time())


def _is_asked(pipe: Connection) -> bool:
    return bool(pipe.recv())


class _Door:
    """Speaks just enough of the protocol: shakes hands, then sends."""

    def __init__(self, chunks: list[bytes]) -> None:
        self._chunks = chunks

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            asked = await reader.readuntil(b"\r\n\r\n")
            writer.write(_SWITCHING % _accepted(asked))
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


def _accepted(asked: bytes) -> bytes:
    lines = (line.partition(b":") for line in asked.split(b"\r\n"))
    key = next(value.strip() for name, _, value in lines if name.lower() == b"sec-websocket-key")
    return b64encode(sha1(key + _MAGIC, usedforsecurity=False).digest())


def _chunks(messages: list[bytes], opcode: int) -> list[bytes]:
    """All messages as WebSocket frames, joined into pieces of a size that is cheap to write."""
    chunks, waiting, size = [], [], 0
    for message in messages:
        frame = _framed(message, opcode)
        waiting.append(frame)
        size += len(frame)
        if size >= _CHUNK:
            chunks.append(b"".join(waiting))
            waiting, size = [], 0
    return [*chunks, b"".join(waiting)]


def _framed(message: bytes, opcode: int) -> bytes:
    length = len(message)
    if length < 126:
        return bytes([opcode, length]) + message
    if length < 65_536:
        return bytes([opcode, 126]) + length.to_bytes(2) + message
    return bytes([opcode, 127]) + length.to_bytes(8) + message
