"""How much do names tell of where people are from?

Names are those of politicians by parliament: a table is built from four fifths of each country's names, and measured on the
rest.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Any

import pycountry

from bowerbird.community.names import NameTable, name_log_odds
from bowerbird.errors import UserError
from bowerbird.evaluate.profiles.names_table import build_table

_NAMES = Path("names-by-country") / "politicians.tsv"
_MIN_NAMES = 200
_OF_EACH = 40
"""Names of each other country that a country is told from."""
_FALSE_ACCEPTANCE = 0.05
_REJECTED = -1.0
"""Log odds below which a name speaks against its own country."""
_CODES = {"UK": "GB", "Turkey": "TR", "Russia": "RU", "Ivory Coast": "CI", "Congo-Kinshasa": "CD", "Czech Republic": "CZ"}

Names = Mapping[str, Sequence[str]]
"""By country."""


def evaluate_profiles(folder: Path, seed: int) -> dict[str, Any]:
    """Measure names on those held out."""
    names = _frequent(names_by_country(folder))
    seen, unseen = _split(names, Random(seed))
    table = build_table(seen)
    countries = {country: _name_figures(country, table, unseen) for country in sorted(names)}
    return {"names": _mean(countries), "by_country": countries}


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


def _needed(folder: Path, name: Path) -> Path:
    if not (folder / name).is_file():
        raise UserError(f"{folder} has no {name}", "name the folder that holds the evaluation data", code="file_not_found")
    return folder / name
