"""How often is the place that people write into their profiles understood?

Real strings, labelled one by one by the resolver's author (an AI model; nobody checked it) before they were resolved, with more
than one right answer where a string allows it. The strings stay where they are, the labels (labels.tsv) name them by a hash.
Some were then used to improve the resolver (`seen`), the others only to measure it. The labels that came with the strings are
machine-made: agreement with them is reported, and is no accuracy. Of a group of Italians the share found in Italy is reported.
"""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Callable, Iterator
from hashlib import sha256
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

from bowerbird.analysis.places.gazetteer import Level, fold
from bowerbird.analysis.places.resolver import Candidate, Resolver, open_resolver
from bowerbird.errors import UserError
from bowerbird.settings import load_settings

_LOCATIONS = Path("profile-locations") / "locations.tsv"
_ITALIANS = Path("profiles-italian") / "users_E13_italian.csv"
_NONE = "-"


class Label(NamedTuple):
    """What the labeller says a string means; several answers may be right."""

    is_seen: bool
    countries: frozenset[str]
    cities: frozenset[str]


def evaluate_places(
    folder: Path, *, stopwatch: Callable[[], float], say: Callable[[str], None], most: int | None = None
) -> dict[str, Any]:
    """The figures; the folder holds `profile-locations` and `profiles-italian`; `most`: so many texts besides the labelled."""
    if not (folder / _LOCATIONS).is_file():
        raise UserError(f"{folder} has no {_LOCATIONS}", "name the folder that holds the evaluation data", code="file_not_found")
    say("opening the index of places (the first time on a machine it is built)")
    resolver = open_resolver(load_settings().cache_folder)
    rows = list(_rows(folder / _LOCATIONS))
    texts = _chosen(sorted({row["raw_location"] for row in rows}), most)
    rows = [row for row in rows if row["raw_location"] in texts]
    say(f"resolving {len(texts):,} different texts")
    began = stopwatch()
    best = {text: resolver.best(text) for text in texts}
    seconds = stopwatch() - began
    unseen, seen = (_accuracy(best, is_seen=is_seen) for is_seen in (False, True))
    return {
        "country": unseen["country"],
        "city": unseen["city"],
        "unseen": unseen,
        "seen": seen,
        "machine_labels": _agreement(rows, best),
        "italians": _italians(folder / _ITALIANS, resolver),
        "resolved_share": round(sum(each is not None for each in best.values()) / len(best), 4),
        "texts_per_second": round(len(texts) / seconds),
    }


def _chosen(texts: list[str], most: int | None) -> dict[str, None]:
    """All texts, or those with a label and an even sample of the others."""
    if most is None:
        return dict.fromkeys(texts)
    known = labels()
    return dict.fromkeys([*(text for text in texts if name_of(text) in known), *texts[:: max(1, len(texts) // most)]])


def name_of(text: str) -> str:
    """How labels.tsv calls a string."""
    return sha256(text.encode()).hexdigest()[:16]


def labels() -> dict[str, Label]:
    """By name: what the labelled strings mean."""
    lines = (files(__name__) / "labels.tsv").read_text("utf-8").splitlines()
    parted = (line.split("\t") for line in lines if not line.startswith("#"))
    return {name: Label(use == "seen", frozenset(where.split("/")), _cities(city)) for name, use, where, city in parted}


def _cities(written: str) -> frozenset[str]:
    return frozenset(each if each in (_NONE, "?") else fold(each) for each in written.split("/"))


def _rows(path: Path) -> Iterator[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE):
            if (row["raw_location"] or "").strip():
                yield row


def _accuracy(best: dict[str, Candidate | None], *, is_seen: bool) -> dict[str, Any]:
    """Share of labelled strings whose country and city (or that there is none) are understood."""
    known = {name: label for name, label in labels().items() if label.is_seen is is_seen}
    found = [(known[name], candidate) for text, candidate in best.items() if (name := name_of(text)) in known]
    if not found:
        return {"strings": 0, "country": None, "city": None}
    country = [_country(candidate) in label.countries for label, candidate in found]
    city = [_is_city(candidate, label) for label, candidate in found]
    placed = [right for right, (label, _) in zip(country, found, strict=True) if _NONE not in label.countries]
    return {
        "strings": len(found),
        "country": round(sum(country) / len(found), 4),
        "city": round(sum(city) / len(found), 4),
        "country_where_there_is_one": round(sum(placed) / len(placed), 4),
    }


def _country(candidate: Candidate | None) -> str:
    return candidate.entry.country if candidate else _NONE


def _is_city(candidate: Candidate | None, label: Label) -> bool:
    """`?` in a label stands for any city: a point was written, and the nearest town is right."""
    is_found = candidate is not None and candidate.entry.level is Level.CITY
    name = fold(candidate.entry.name) if candidate is not None and is_found else _NONE
    return name in label.cities or (is_found and "?" in label.cities)


def _agreement(rows: list[dict[str, str]], best: dict[str, Candidate | None]) -> dict[str, Any]:
    """With labels that a machine made: how often both name a country, and the same."""
    import pycountry

    codes = {getattr(each, "common_name", each.name): each.alpha_2 for each in pycountry.countries}
    told = [(codes[row["silver_country"]], best[row["raw_location"]]) for row in rows if row["silver_country"] in codes]
    both = [(code, candidate.entry.country) for code, candidate in told if candidate is not None]
    same = sum(code == country for code, country in both)
    return {"profiles": len(told), "resolved": len(both), "country_agrees": round(same / len(both), 4) if both else None}


def _italians(path: Path, resolver: Resolver) -> dict[str, Any] | None:
    if not path.is_file():
        return None
    with path.open(encoding="utf-8", errors="replace", newline="") as file:
        texts = [(row["location"] or "").strip() for row in csv.DictReader(file)]
    countries = Counter(_country(resolver.best(text)) for text in texts if text and text != "NULL")
    resolved = sum(countries.values()) - countries[_NONE]
    return {
        "with_location": sum(countries.values()),
        "resolved": resolved,
        "in_italy": countries["IT"],
        "italy_of_resolved": round(countries["IT"] / resolved, 4) if resolved else None,
    }
