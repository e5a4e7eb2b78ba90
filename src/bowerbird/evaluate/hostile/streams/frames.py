"""What a hostile server writes on an open stream: frames and lines that no honest server sends."""

from __future__ import annotations

import gzip
import re
import zlib
from base64 import b64encode
from collections.abc import Callable, Mapping
from hashlib import sha1

from bowerbird.evaluate.hostile.echoes import echoed, secret_in_head

Script = Callable[[bytes], list[bytes]]
"""What is written to a visitor with this head; after it the connection is closed."""

_MB = 1024 * 1024
_GUID = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
_HELLO = b"HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: Upgrade\r\nsec-websocket-accept: "
_REFUSED = (
    b"HTTP/1.1 401 Unauthorized\r\nx-error-message: ((token))\r\ncontent-type: text/plain\r\nconnection: close\r\n\r\n((token))"
)
_ELSEWHERE = b"HTTP/1.1 302 Found\r\nlocation: http://ELSEWHERE/x\r\ncontent-length: 0\r\n\r\n"
_LINES = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n%b\r\n"


def _shaken(*frames: bytes, more: bytes = b"") -> Script:
    """A good handshake, then these frames."""

    def script(head: bytes) -> list[bytes]:
        found = re.search(rb"(?i)sec-websocket-key: *(\S+)", head)
        key = b64encode(sha1((found[1] if found else b"") + _GUID).digest())  # noqa: S324  as RFC 6455 wants it
        return [_HELLO + key + b"\r\n" + more + b"\r\n", *frames]

    return script


def _spoken(opcode: int, text: bytes, before: bytes = b"") -> Script:
    """A good handshake, then one good frame that repeats the visitor's secret."""

    def script(head: bytes) -> list[bytes]:
        said = before + echoed(text, secret_in_head(head))
        size = bytes([len(said)]) if len(said) < 126 else b"\x7e" + len(said).to_bytes(2, "big")
        return [*_shaken()(head), bytes([0x80 | opcode]) + size + said]

    return script


def _streamed(*pieces: bytes, more: bytes = b"") -> Script:
    """A stream of lines, in chunks."""
    chunks = [b"%x\r\n%b\r\n" % (len(piece), piece) for piece in pieces]
    return lambda _: [_LINES % more, *chunks]


def _packed(text: bytes) -> bytes:
    squeezed = zlib.compressobj(9, zlib.DEFLATED, -15)
    return squeezed.compress(text) + squeezed.flush(zlib.Z_SYNC_FLUSH)


_BOMB = _packed(b"x" * (60 * _MB))
_PACKING = b"sec-websocket-extensions: permessage-deflate\r\n"
_PART = b"\x7e\xff\xff" + b"x" * 65_535

SOCKET_ATTACKS: Mapping[str, Script] = {
    "frame without end": _shaken(b"\x81\x7f" + (2**62).to_bytes(8, "big") + b"x" * _MB),
    "fragments without end": _shaken(b"\x01" + _PART, *[b"\x00" + _PART] * 400),
    "reserved bits": _shaken(b"\xf1\x01x"),
    "packed frames": _shaken(b"\xc1\x7f" + len(_BOMB).to_bytes(8, "big") + _BOMB, more=_PACKING),
    "masked frame": _shaken(b"\x81\x81abcdx"),
    "long ping": _shaken(b"\x89\x7e\x01\x00" + b"x" * 256),
    "pings without end": _shaken(*[b"\x89\x00" * 1_000] * 20),
    "bytes that are no text": _shaken(b"\x81\x02\xff\xfe", b"\x82\x02\xff\xfe"),
    "close without sense": _shaken(b"\x88\x01\x00"),
    "token in the close": _spoken(8, b"((token))", b"\x03\xf0"),
    "token in frames": _spoken(1, b'{"event":"((token))","error":"((token))","status":401}'),
    "wrong handshake": lambda _: [_HELLO + b"x\r\n\r\n"],
    "token in the refusal": lambda _: [_REFUSED],
    "handshake elsewhere": lambda _: [_ELSEWHERE],
}  # fmt: skip
"""On WebSockets, by name."""

LINE_ATTACKS: Mapping[str, Script] = {
    "line without end": _streamed(*[b"x" * _MB] * 40),
    "lines of nothing": _streamed(*[b"\r\n" * 50_000] * 10),
    "deep lines": _streamed(*[b"[" * 200_000 + b"\r\n"] * 20),
    "packed lines": _streamed(gzip.compress(b"x" * (60 * _MB)), more=b"content-encoding: gzip\r\n"),
    "token in lines": _streamed(b'{"errors":[{"title":"((token))","message":"((token))"}]}\r\n'),
    "bad chunks of lines": lambda _: [_LINES % b"", b"zz\r\n{}\r\n"],
    "token in the refusal of lines": lambda _: [_REFUSED],
    "lines elsewhere": lambda _: [_ELSEWHERE],
}
"""On streams of lines, by name."""
