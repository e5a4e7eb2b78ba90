"""How much do names and the hours of posts tell of where people are from?

Names are those of politicians by parliament: a table is built from four fifths of each country's names, and measured on the
rest. Hours are those of American politicians, who work from Washington much of the time, whatever state they are from.
"""

from __future__ import annotations

import gzip
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from random import Random
from typing import Any

import pycountry

from bowerbird.analysis.rhythm import rhythm
from bowerbird.community.names import NameTable, name_log_odds
from bowerbird.errors import UserError
from bowerbird.evaluate.profiles.names_table import build_table

_NAMES = Path("names-by-country") / "politicians.tsv"
_TIMES = Path("posting-times") / "posting_times_2021h1.tsv.gz"
_MIN_NAMES = 200
_OF_EACH = 40
"""Names of each other country that a country is told from."""
_FALSE_ACCEPTANCE = 0.05
_REJECTED = -1.0
"""Log odds below which a name speaks against its own country."""
_CODES = {"UK": "GB", "Turkey": "TR", "Russia": "RU", "Ivory Coast": "CI", "Congo-Kinshasa": "CD", "Czech Republic": "CZ"}
_SIZES = (30, 100)

Names = Mapping[str, Sequence[str]]
"""By country."""


def evaluate_profiles(folder: Path, seed: int) -> dict[str, Any]:
    """Measure names on those held out, and the hours of posts."""
    names, random = _frequent(names_by_country(folder)), Random(seed)
    seen, unseen = _split(names, random)
    table = build_table(seen)
    countries = {country: _name_figures(country, table, unseen) for country in sorted(names)}
    return {"names": _mean(countries), "by_country": countries, "hours": _hours(folder, random)}


def packaged_table(folder: Path) -> NameTable:
    """Build the table of the package, from all names."""
    return build_table(_frequent(names_by_country(folder)))


def _frequent(names: Names) -> Names:
    """Only countries with enough names, each name once."""
    unique = {country: sorted(set(own)) for country, own in names.items()}
    return {country: own for country, own in unique.items() if len(own) >= _MIN_NAMES}


def names_by_country(folder: Path) -> Names:
    found: dict[str, list[str]] = {}
    for line in _needed(folder, _NAMES).read_text("utf-8").splitlines()[1:]:
        country, name, *_ = line.split("\t")
        if code := _code(country.replace("_", " ")):
            found.setdefault(code, []).append(name)
    return found


def _code(country: str) -> str | None:
    try:
        return _CODES.get(country) or str(pycountry.countries.lookup(country).alpha_2)
    except LookupError:
        return None


def _split(names: Names, random: Random) -> tuple[Names, Names]:
    mixed = {country: random.sample(own, len(own)) for country, own in names.items()}
    ends = {country: len(own) * 4 // 5 for country, own in names.items()}
    return (
        {country: own[: ends[country]] for country, own in mixed.items()},
        {country: own[ends[country] :] for country, own in mixed.items()},
    )


def _name_figures(country: str, table: NameTable, unseen: Names) -> dict[str, Any]:
    """How many names of a country and of others are accepted, where 5 % of the others are; and its own names rejected."""
    own = _log_odds(unseen[country], country, table)
    others = sorted(
        ratio for other, names in unseen.items() if other != country for ratio in _log_odds(names[:_OF_EACH], country, table)
    )
    threshold = others[-1 - int(len(others) * _FALSE_ACCEPTANCE)]
    return {
        "names": len(own),
        "own_accepted": round(sum(each > threshold for each in own) / len(own), 4),
        "own_rejected": round(sum(each < _REJECTED for each in own) / len(own), 4),
        "others_rejected": round(sum(each < _REJECTED for each in others) / len(others), 4),
    }


def _log_odds(names: Sequence[str], country: str, table: NameTable) -> list[float]:
    """A name without known letters counts as undecided."""
    return [name_log_odds(name, (country,), table=table) or 0.0 for name in names]


def _mean(countries: Mapping[str, Mapping[str, float]]) -> dict[str, Any]:
    columns = ("own_accepted", "own_rejected", "others_rejected")
    means = {column: round(sum(each[column] for each in countries.values()) / len(countries), 4) for column in columns}
    return {"countries": len(countries), "at_others_accepted": _FALSE_ACCEPTANCE} | means


def _hours(folder: Path, random: Random) -> dict[str, Any]:
    people: dict[str, list[datetime]] = {}
    with gzip.open(_needed(folder, _TIMES), "rt", encoding="utf-8") as file:
        next(file)
        for line in file:
            _, user, _, time, *_ = line.split("\t")
            people.setdefault(user, []).append(datetime.fromisoformat(time))
    return {
        f"{size} posts": _placed([random.sample(own, size) for own in people.values() if len(own) >= size]) for size in _SIZES
    }


def _placed(people: Sequence[Sequence[datetime]]) -> dict[str, Any]:
    """Held against the hours that the recorded times themselves are ahead of UTC."""
    told = [(found, times) for times in people if (found := rhythm(times)) is not None]
    fits = [found.fit(_ahead(times)) for found, times in told]
    return {
        "people": len(told),
        "truth_among_likely": round(sum(round(_ahead(times)) in found.likely for found, times in told) / len(told), 4),
        "likely_zones": round(sum(len(found.likely) for found, _ in told) / len(told), 1),
        "mean_fit": round(sum(fits) / len(fits), 4),
    }


def _ahead(times: Sequence[datetime]) -> float:
    hours = [offset.total_seconds() / 3600 for each in times if (offset := each.utcoffset()) is not None]
    return sum(hours) / len(hours)


def _needed(folder: Path, name: Path) -> Path:
    if not (folder / name).is_file():
        raise UserError(f"{folder} has no {name}; name the folder that holds the evaluation data")
    return folder / name
