"""How much do names and the hours of posts tell of where people are from?

Names are those of politicians by parliament, four fifths to estimate from and one to measure. Hours are those of American
politicians, who work from Washington much of the time, whatever state they are from.
"""

from __future__ import annotations

import gzip
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from random import Random
from typing import Any

import pycountry

from bowerbird.analysis.names.fitting import Letters, estimated, score
from bowerbird.analysis.rhythm import rhythm
from bowerbird.errors import UserError

_NAMES = Path("names-by-country") / "politicians.tsv"
_TIMES = Path("posting-times") / "posting_times_2021h1.tsv.gz"
_LEAST_NAMES = 200
_OF_EACH = 100
"""Names of each other country that a country is told from."""
_CODES = {"UK": "GB", "Turkey": "TR", "Russia": "RU", "Ivory Coast": "CI", "Congo-Kinshasa": "CD", "Czech Republic": "CZ"}
_SIZES = (30, 100)

Names = Mapping[str, Sequence[str]]
"""By country."""


def evaluate_profiles(folder: Path, seed: int) -> dict[str, Any]:
    names = names_by_country(folder)
    random = Random(seed)
    seen, unseen = _split(names, random)
    countries = {
        country: _told(country, seen, unseen, random) for country in sorted(names) if len(names[country]) >= _LEAST_NAMES
    }
    return {"names": _mean(countries), "by_country": countries, "hours": _hours(folder, random)}


def estimated_letters(folder: Path, seed: int) -> Mapping[str, Letters]:
    """By country, from all names: what letters.tsv of the package holds."""
    names, random = names_by_country(folder), Random(seed)
    return {
        country: estimated(own, _others(country, names, random)) for country, own in names.items() if len(own) >= _LEAST_NAMES
    }


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


def _others(country: str, names: Names, random: Random) -> Sequence[str]:
    return [name for other, own in names.items() if other != country for name in random.sample(own, min(len(own), _OF_EACH))]


def _told(country: str, seen: Names, unseen: Names, random: Random) -> dict[str, Any]:
    letters = estimated(seen[country], _others(country, seen, random))
    own = [score(name, letters) for name in unseen[country]]
    others = [score(name, letters) for name in _others(country, unseen, random)]
    return {
        "names": len(own),
        "own_fit": _share(own, letters.like),
        "others_fit": _share(others, letters.like),
        "own_not_unlike": _share(own, letters.unlike),
        "others_not_unlike": _share(others, letters.unlike),
    }


def _share(scores: Sequence[float], least: float) -> float:
    return round(sum(each > least for each in scores) / len(scores), 4)


def _mean(countries: Mapping[str, Mapping[str, float]]) -> dict[str, Any]:
    columns = ("own_fit", "others_fit", "own_not_unlike", "others_not_unlike")
    means = {column: round(sum(each[column] for each in countries.values()) / len(countries), 4) for column in columns}
    return {"countries": len(countries)} | means


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
