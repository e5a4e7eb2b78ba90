"""How much of an answer is believed: bytes, values and items, by what was asked for. Pure.

A server may send anything. What it sends is bounded before it becomes objects: a value of JSON may take one byte on the wire and
sixty in memory.
"""

from __future__ import annotations

import msgspec

from bowerbird.model import Ask, Broken, Facet, Request, Subject
from bowerbird.providers.common.asking.paths import page_size

_BYTES_PER_RESULT = 64 * 1024
_BYTES_BESIDE = 1024 * 1024
MOST_BYTES = 16 * 1024 * 1024
"""Of an answer in JSON, however much was asked for."""
LARGEST_REPO = 32 * 1024 * 1024
_VALUES_PER_RESULT = 5_000
_VALUES_BESIDE = 20_000
MOST_VALUES = 1_500_000
"""Of one answer, however much was asked for."""
MESSAGE_VALUES = 200_000
"""Of one message of a stream, which is about one item."""
MOST_BROKEN = 100
"""Items of one page that go to quarantine; of those beyond only the number is kept."""
MOST_LOST = 1_000
"""Items of one page that cannot be mapped before the page as a whole counts as unreadable: each costs time."""
_LONGEST_RAW = 256 * 1024
_MOST_RAW = 4 * 1024 * 1024
"""Bytes of all broken items of a page together."""


def bounded(request: Request, ask: Ask, facet: Facet, most: int | None = None) -> Request:
    """The request with what its answer may weigh: so much for each result asked for, unless something else is said."""
    most = most or min(_BYTES_BESIDE + page_size(ask, facet) * _BYTES_PER_RESULT, MOST_BYTES)
    return msgspec.structs.replace(request, most=most)


def check_values(body: bytes, most: int = MESSAGE_VALUES) -> None:
    """Raises ValueError for JSON of too many values. Commas in texts count too, which the bound allows for."""
    if len(body) > most and body.count(b",") + body.count(b"[") + body.count(b"{") > most:
        raise ValueError(f"more than {most:,} values")


def most_values(ask: Ask, facet: Facet) -> int:
    return min(_VALUES_BESIDE + page_size(ask, facet) * _VALUES_PER_RESULT, MOST_VALUES)


def most_results(ask: Ask, facet: Facet) -> int:
    """Items of a list: servers round the number asked for, and some show everything they have, within reason."""
    return 4 * max(page_size(ask, facet), len(ask.targets)) + 100


def most_items(ask: Ask, facet: Facet) -> int:
    """Users, and as many posts, of a page: those listed, with what they pass on, quote and mention."""
    return 5 * most_results(ask, facet)


class SetAside:
    """What could not be mapped: the first ones whole, of the others the number."""

    def __init__(self) -> None:
        self._kept: list[Broken] = []
        self._room = _MOST_RAW
        self._others = 0

    def add(self, subject: Subject, raw: bytes, why: str) -> None:
        if len(self._kept) >= MOST_BROKEN or not self._room:
            self._others += 1
            return
        raw = raw[: min(_LONGEST_RAW, self._room)]
        self._room -= len(raw)
        self._kept.append(Broken(subject, raw, why))

    def all(self) -> tuple[Broken, ...]:
        if not self._others:
            return tuple(self._kept)
        return (*self._kept, Broken(self._kept[0].subject, b"", f"and {self._others:,} more like these"))

    def __len__(self) -> int:
        return len(self._kept) + self._others
