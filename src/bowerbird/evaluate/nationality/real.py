"""Decisions about real profiles and authors, by our rule and by TwitterEcho's.

The sources, from the folder of evaluation data:

- `italian`: 1,481 Italian accounts, and 1,337 fake followers that were bought, for the community of Italy.
- `italian_hard`: the same with the handle as the name, and no language.
- `not_portuguese`: all of these for the community of Portugal: each `yes` is wrong.
- `recorded`: profiles in recorded calls of X, for Portugal. They have no labels; none of them says to be Portuguese.
- `portuguese_authors`, `brazilian_authors`: politicians and parties of Portugal and deputies of Brazil, of whom the handle
  and posts are known, for the communities of Portugal and of Brazil.

The weights come from a specification that was measured on the Italian profiles and on some of the Portuguese politicians.
Those of places and names were estimated again, on the Italian profiles with an even id and in simulated worlds. The prior is
estimated from the accounts of the source, without labels.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct, structs

from bowerbird.community.classifier import CommunityClassifier
from bowerbird.community.countries import example
from bowerbird.community.membership import decide, estimate_prior
from bowerbird.evaluate.nationality.figures import Case, figures_of
from bowerbird.model import User
from bowerbird.model.subjects.community import CALIBRATED, ECHO

_ITALIAN, _FAKE = Path("profiles-italian") / "users_E13_italian.csv", Path("profiles-italian") / "users_INT_fake.csv"
_AUTHORS = Path("portuguese-politicians") / "posts.tsv"
_RECORDED = "recordings-x"
_MOST_POSTS = 100


class Labelled(Struct, frozen=True):
    """A real account, and whether it is a member."""

    user: User
    is_member: bool
    posts: Sequence[str] = ()


def evaluate_sources(folder: Path, cache: Path) -> dict[str, Any]:
    """Return the figures of each source that the folder has, by rule."""
    sources: dict[str, tuple[str, list[Labelled]]] = {}
    if (folder / _ITALIAN).is_file() and (folder / _FAKE).is_file():
        italian = [*_read_profiles(folder / _ITALIAN, True), *_read_profiles(folder / _FAKE, False)]
        hard = [structs.replace(each, user=_without_name(each.user)) for each in italian]
        others = [structs.replace(each, is_member=False) for each in italian]
        sources |= {"italian": ("IT", italian), "italian_hard": ("IT", hard), "not_portuguese": ("PT", others)}
    if (folder / _RECORDED).is_dir():
        sources["recorded"] = ("PT", _read_recorded(folder / _RECORDED))
    if (folder / _AUTHORS).is_file():
        sources["portuguese_authors"] = ("PT", _read_authors(folder / _AUTHORS, "pt-PT"))
        sources["brazilian_authors"] = ("BR", _read_authors(folder / _AUTHORS, "pt-BR"))
    return {name: _source_figures(country, accounts, cache) for name, (country, accounts) in sources.items() if accounts}


def _source_figures(country: str, accounts: Sequence[Labelled], cache: Path) -> dict[str, Any]:
    figures: dict[str, Any] = {"country": country, "accounts": len(accounts)}
    for name, rule in (("ours", CALIBRATED), ("echo", ECHO)):
        community = structs.replace(example(country), rule=rule)
        classifier = CommunityClassifier(community, cache)
        verdicts = [classifier.verdict(each.user, each.posts, {}) for each in accounts]
        if rule == CALIBRATED:
            prior = estimate_prior([each.log_odds for each in verdicts])
            figures["prior"] = round(prior, 4)
            verdicts = [decide(each.signs, community, prior) for each in verdicts]
        cases = [Case(verdict, each.is_member) for verdict, each in zip(verdicts, accounts, strict=True)]
        figures[name] = figures_of(cases)
    return figures


def _read_profiles(file: Path, is_member: bool) -> Iterator[Labelled]:
    with file.open(encoding="utf-8", errors="replace", newline="") as lines:
        for row in csv.DictReader(lines):
            values = {name: None if value in ("", "NULL") else value for name, value in row.items()}
            yield Labelled(
                User(
                    id=f"x:{row['id']}",
                    key=row["id"],
                    handle=values["screen_name"],
                    name=values["name"],
                    description=values["description"],
                    location=values["location"],
                    language=values["lang"],
                    time_zone=values["time_zone"],
                ),
                is_member,
            )


def _without_name(user: User) -> User:
    return structs.replace(user, name=user.handle, language=None)


def _read_recorded(folder: Path) -> list[Labelled]:
    """The profiles in the bodies of recorded answers; each account once."""
    users: dict[str, User] = {}
    for file in sorted(folder.glob("*.json")):
        for interaction in msgspec.json.decode(file.read_bytes())["interactions"]:
            try:
                body = msgspec.json.decode(interaction["response"]["body"]["string"])
            except (msgspec.DecodeError, KeyError, TypeError):
                continue
            for each in _objects(body):
                handle = each.get("screen_name") or each.get("username")
                if handle and "name" in each and ({"location", "description"} & each.keys()):
                    name, description, location = (each.get(field) for field in ("name", "description", "location"))
                    user = User(f"x:{handle}", handle, handle, name, description, location)
                    users.setdefault(handle, user)
    return [Labelled(user, False) for user in users.values()]


def _objects(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict):
        yield value
        for inner in value.values():
            yield from _objects(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _objects(inner)


def _read_authors(file: Path, variety: str) -> list[Labelled]:
    posts: dict[str, list[str]] = {}
    varieties: dict[str, str] = {}
    with file.open(encoding="utf-8") as lines:
        next(lines)
        for line in lines:
            written_in, author, text = line.rstrip("\n").split("\t")
            posts.setdefault(author, []).append(text)
            varieties[author] = written_in
    return [
        Labelled(
            User(id=f"x:{author}", key=author, handle=author.removeprefix("@"), name=author.removeprefix("@")),
            varieties[author] == variety,
            texts[:_MOST_POSTS],
        )
        for author, texts in posts.items()
    ]
