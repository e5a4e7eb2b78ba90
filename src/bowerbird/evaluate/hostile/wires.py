"""What a hostile server does below the answers: bytes on a real socket that no honest server sends."""

from __future__ import annotations

import asyncio
import gzip
import zlib
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress

from bowerbird.evaluate.hostile.echoes import echoed, secret_in_head

_OK = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n"
_MB = 1024 * 1024
Script = Callable[[int], list[bytes]]
"""What is written to the n-th visitor; after it the connection is closed."""


def _whole(body: bytes, head: bytes = b"") -> list[bytes]:
    return [_OK + head + b"content-length: %d\r\nconnection: close\r\n\r\n" % len(body), body]


_BOMB = gzip.compress(b"[" + b"0," * (15 * _MB) + b"0]", 9)
_DEFLATED = zlib.compress(b'[{"id":"' + b"x" * (40 * _MB) + b'"}]', 9)

WIRE_ATTACKS: Mapping[str, Script] = {
    "gzip bomb": lambda n: _whole(_BOMB, b"content-encoding: gzip\r\n"),
    "deflate bomb": lambda n: _whole(_DEFLATED, b"content-encoding: deflate\r\n"),
    "gzip within gzip": lambda n: _whole(gzip.compress(gzip.compress(b"[]" * 1000)), b"content-encoding: gzip\r\n"),
    "another packing": lambda n: _whole(b"\x28\xb5\x2f\xfd\x00\x00\x01", b"content-encoding: %b\r\n" % (b"zstd", b"br")[n % 2]),
    "packing cut off": lambda n: _whole(_BOMB[: len(_BOMB) // 2], b"content-encoding: gzip\r\n"),
    "too short": lambda n: [_OK + b"content-length: 999999\r\n\r\n[]"],
    "too long": lambda n: [_OK + b"content-length: 1\r\n\r\n" + b"[]" * 5_000],
    "negative length": lambda n: [_OK + b"content-length: -1\r\n\r\n[]"],
    "two lengths": lambda n: [_OK + b"content-length: 2\r\ncontent-length: 4\r\n\r\n[]  "],
    "huge length": lambda n: [_OK + b"content-length: 99999999999999999999\r\n\r\n[]"],
    "bad chunks": lambda n: [_OK + b"transfer-encoding: chunked\r\n\r\nzz\r\n[]\r\n"],
    "huge chunk": lambda n: [_OK + b"transfer-encoding: chunked\r\n\r\nffffffffffff\r\n[]"],
    "endless body": lambda n: [_OK + b"\r\n", *[b"[0," + b"0," * (_MB // 2)] * 40],
    "endless headers": lambda n: [b"HTTP/1.1 200 OK\r\n", *[b"x-%d: %s\r\n" % (each, b"y" * 500) for each in range(5_000)]],
    "long header": lambda n: [b"HTTP/1.1 200 OK\r\nx-long: " + b"y" * 500_000 + b"\r\n\r\n"],
    "nul in a header": lambda n: [_OK + b"x-bad: a\x00b\r\ncontent-length: 2\r\n\r\n[]"],
    "bytes in headers": lambda n: _whole(b"[]", b"retry-after: \xff\xfe\r\nlink: <\xe3\x80\x82>\r\n"),
    "no status": lambda n: [b"HTTP/1.1\r\n\r\n[]"],
    "status of letters": lambda n: [b"HTTP/1.1 OK 200\r\n\r\n[]"],
    "not http": lambda n: [b"SSH-2.0-OpenSSH_9.6\r\n"],
    "nothing": lambda n: [],
    "many interim answers": lambda n: [b"HTTP/1.1 102 Processing\r\n\r\n" * 2_000, *_whole(b"[]")],
    "cookies": lambda n: _whole(b"null", b"".join(b"set-cookie: a%d=%s\r\n" % (each, b"b" * 400) for each in range(60))),
    "around in a circle": lambda n: [b"HTTP/1.1 302 Found\r\nlocation: /circle%d\r\ncontent-length: 0\r\n\r\n" % n],
    "elsewhere": lambda n: [b"HTTP/1.1 302 Found\r\nlocation: http://ELSEWHERE/x\r\ncontent-length: 0\r\n\r\n"],
    "to a file": lambda n: [b"HTTP/1.1 301 Moved\r\nlocation: file:///etc/passwd\r\ncontent-length: 0\r\n\r\n"],
    "endless refusal": lambda n: [b"HTTP/1.1 500 Oops\r\n\r\n", *[b"x" * _MB] * 40],
    "token in the status": lambda n: [b"HTTP/1.1 500 ((token))\r\n\r\n((token))"],
    "token in the headers": lambda n: _whole(b'{"error":"((token))"}', b"x-error-message: ((token))\r\netag: ((token))\r\n"),
    "token in a redirect": lambda n: [b"HTTP/1.1 302 Found\r\nlocation: /x?access_token=((token))\r\ncontent-length: 0\r\n\r\n"],
    "token sent elsewhere": lambda n: [b"HTTP/1.1 307 Go\r\nlocation: http://ELSEWHERE/((quoted))\r\ncontent-length: 0\r\n\r\n"],
    "token in broken chunks": lambda n: [_OK + b"transfer-encoding: chunked\r\n\r\n((token))\r\n[]\r\n"],
    "upgrade": lambda n: [b"HTTP/1.1 101 Yes\r\nupgrade: websocket\r\nconnection: upgrade\r\n\r\n\x81\x7e\xff\xff"],
}  # fmt: skip


class Visits:
    """The heads of all requests, as they came: to the server itself, and to another host that it sends its visitors to."""

    def __init__(self) -> None:
        self.here: list[bytes] = []
        self.elsewhere: list[bytes] = []


@asynccontextmanager
async def hostile_server(script: Callable[[bytes, int], list[bytes]]) -> AsyncIterator[tuple[str, Visits]]:
    """Serves the script, which is told the head of a request and its number, on loopback, with a recorder at another address;
    gives the base address and the visits."""
    visits = Visits()

    async def record(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, TimeoutError):
            visits.elsewhere.append(await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), 5))
        writer.close()

    other = await asyncio.start_server(record, "127.0.0.2", 0)
    elsewhere = b"127.0.0.2:%d" % other.sockets[0].getsockname()[1]

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, TimeoutError):
            visits.here.append(await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), 5))
            for piece in script(visits.here[-1], len(visits.here)):
                writer.write(echoed(piece.replace(b"ELSEWHERE", elsewhere), secret_in_head(visits.here[-1])))
                await writer.drain()
        with suppress(ConnectionError):
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", visits
    finally:
        server.close()
        other.close()
