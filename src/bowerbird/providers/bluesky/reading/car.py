"""CAR files and DAG-CBOR within bounds: blocks are found by their lengths and decoded one by one, when they are needed. Pure."""

from __future__ import annotations

from typing import Any

import libipld

MOST_BLOCKS = 1_000_000
LARGEST_BLOCK = 2 * 1024 * 1024
"""The network allows records of one."""
MOST_VALUES = 50_000
"""Of one block or message; each may take one byte there and sixty in memory."""
_UNCOUNTED = 64 * 1024
"""So few bytes cannot hold too many values."""
_CID_LENGTH = 36
_CID_BEGINNING = b"\x01"
_LENGTHS = {24: 1, 25: 2, 26: 4, 27: 8}

Blocks = dict[bytes, bytes]
"""By CID, not decoded."""


def opened(car: bytes) -> tuple[Any, Blocks]:
    """The header and the blocks; raises ValueError for what is no CAR file."""
    size, start = _uvarint(car, 0)
    if not 0 < size <= _UNCOUNTED or start + size > len(car):
        raise ValueError("a CAR file without a header")
    header = decoded(car[start : start + size])
    blocks: Blocks = {}
    at = start + size
    while at < len(car):
        size, start = _uvarint(car, at)
        at = start + size
        if at > len(car) or size < _CID_LENGTH or car[start : start + 1] != _CID_BEGINNING:
            raise ValueError("a CAR file with a broken block")
        if size > LARGEST_BLOCK or len(blocks) >= MOST_BLOCKS:
            raise ValueError("a CAR file with too large a block, or too many")
        blocks[car[start : start + _CID_LENGTH]] = car[start + _CID_LENGTH : at]
    return header, blocks


def decoded(block: bytes) -> Any:
    """One value; raises ValueError, or RecursionError where it is nested too deep."""
    count_values(block)
    return libipld.decode_dag_cbor(block)


def count_values(data: bytes) -> None:
    """Raises ValueError for CBOR of too many values; what lies within texts and bytes is stepped over."""
    if len(data) <= _UNCOUNTED:
        return
    at, values, size = 0, 0, len(data)
    while at < size:
        values += 1
        if values > MOST_VALUES:
            raise ValueError(f"more than {MOST_VALUES:,} values")
        kind, argument = data[at] >> 5, data[at] & 31
        width = _LENGTHS.get(argument, 0)
        length = int.from_bytes(data[at + 1 : at + 1 + width], "big") if width else argument
        at += 1 + width
        if kind in (2, 3):
            at += length


def _uvarint(data: bytes, at: int) -> tuple[int, int]:
    """A number as CAR files write lengths, and where it ends."""
    number = 0
    for index, byte in enumerate(data[at : at + 5]):
        number |= (byte & 0x7F) << (7 * index)
        if byte < 0x80:
            return number, at + index + 1
    raise ValueError("a CAR file with a broken length")
