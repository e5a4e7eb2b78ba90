"""Looks for texts in the bytes of files: as they are, and inside whatever zstd frames lie in them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path

import zstandard

_FRAME = re.compile(re.escape(b"\x28\xb5\x2f\xfd"))
_LONGEST = 1 << 20


def left_in(files: Iterable[Path], texts: Iterable[str], dictionaries: Sequence[bytes] = ()) -> dict[str, list[str]]:
    """Which of the texts can be read in which files; texts split by SQLite's pages are the caller's business: keep them short."""
    found = {path.name: _read(path.read_bytes(), dictionaries) for path in files if path.is_file()}
    left = {name: [text for text in texts if text.encode() in body] for name, body in found.items()}
    return {name: each for name, each in left.items() if each}


def _read(body: bytes, dictionaries: Sequence[bytes]) -> bytes:
    readers = [zstandard.ZstdDecompressor()]
    readers += [zstandard.ZstdDecompressor(dict_data=zstandard.ZstdCompressionDict(each)) for each in dictionaries]
    frames = [match.start() for match in _FRAME.finditer(body)]
    return body + b"\0".join(_unpacked(reader, body[at : at + _LONGEST]) for reader in readers for at in frames)


def _unpacked(reader: zstandard.ZstdDecompressor, frame: bytes) -> bytes:
    """What a frame says, up to where it breaks off."""
    stream, body = reader.decompressobj(), bytearray()
    try:
        for at in range(0, len(frame), 64):
            body += stream.decompress(frame[at : at + 64])
            if stream.eof:
                break
    except zstandard.ZstdError:
        pass
    return bytes(body)
