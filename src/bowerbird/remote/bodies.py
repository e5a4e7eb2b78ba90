"""Bodies of requests and answers: packed where that pays, and bounded before and after they are unpacked."""

from __future__ import annotations

import zlib

import zstandard
from msgspec import Struct

from bowerbird.errors import UserError

ZSTD, GZIP, PLAIN = "zstd", "gzip", "identity"
MOST = 64 * 1024 * 1024
"""Bytes that a body may have, unpacked; an export of a whole account is the largest answer that a network gives."""
MOST_PACKED = 32 * 1024 * 1024
_WORTH = 1024
"""Smaller bodies are sent as they are."""
_LEVEL = 3


class Sizes(Struct, frozen=True):
    """Bytes that a request may have, as it comes and unpacked."""

    packed: int = MOST_PACKED
    unpacked: int = MOST


class TooLarge(UserError):
    """A body has more bytes than is allowed."""

    default_code = "too_large"


def packed(body: bytes, accepted: str = ZSTD) -> tuple[bytes, str]:
    """The body as it is sent, and how it is packed; `accepted`: what the other side can unpack, as HTTP says it."""
    if len(body) < _WORTH:
        return body, PLAIN
    if ZSTD in accepted:
        return zstandard.ZstdCompressor(level=_LEVEL).compress(body), ZSTD
    if GZIP in accepted:
        return zlib.compress(body, wbits=zlib.MAX_WBITS | 16), GZIP
    return body, PLAIN


def unpacked(body: bytes, manner: str, most: int = MOST) -> bytes:
    """The body as it was written; raises `TooLarge` before more than that is unpacked, `UserError` for what cannot be."""
    try:
        plain = _UNPACK[manner or PLAIN](body, most)
    except KeyError:
        raise UserError(
            f"bodies packed as {manner!r} are not understood", f"send {ZSTD}, {GZIP} or none", code="invalid_body"
        ) from None
    except (zlib.error, zstandard.ZstdError) as error:
        raise UserError(
            f"the body is said to be packed as {manner} and cannot be unpacked: {error}", code="invalid_body"
        ) from None
    if len(plain) > most:
        raise TooLarge(f"the body has more than {most:,} bytes when it is unpacked", code="too_large")
    return plain


def _from_zstd(body: bytes, most: int) -> bytes:
    # Piece by piece: what a frame says of its own size need not be true.
    pieces, size = [], 0
    with zstandard.ZstdDecompressor(max_window_size=1 << 27).stream_reader(body) as reader:
        while piece := reader.read(1 << 16):
            pieces.append(piece)
            size += len(piece)
            if size > most:
                break
    return b"".join(pieces)


def _from_gzip(body: bytes, most: int) -> bytes:
    return zlib.decompressobj(wbits=zlib.MAX_WBITS | 16).decompress(body, most + 1)


def _as_it_is(body: bytes, most: int) -> bytes:
    return body


_UNPACK = {ZSTD: _from_zstd, GZIP: _from_gzip, PLAIN: _as_it_is}
