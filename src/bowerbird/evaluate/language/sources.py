"""The evaluation data: real posts of known language and variety, by source and, where it is known, by author."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path

from msgspec import Struct

from bowerbird.errors import UserError

Posts = Sequence[str]
_TWEETS = Path("language-tweets-15") / "tweets.tsv"
_BRAZILIAN_TWEETS = Path("portuguese-br-tweets") / "ToLD-BR.csv"
_NEWS = Path("portuguese-varieties")
_POLITICIANS = Path("portuguese-politicians") / "posts.tsv"

CODES = {
    "bos": "bs", "bul": "bg", "deu": "de", "eng": "en", "hrv": "hr", "hun": "hu", "pol": "pl", "por": "pt",
    "rus": "ru", "slk": "sk", "slv": "sl", "spa": "es", "sqi": "sq", "srp": "sr", "swe": "sv",
}  # fmt: skip

NOISE = (
    "tweets: nobody labelled the variety of the Portuguese ones; about one in a hundred is Brazilian (songs, reposts)",
    "tweets: languages are those of the collection; English and a few words of anything are found among all of them",
    "tweets: Bosnian, Croatian and Serbian ones are seldom told apart by anybody",
    "tweets: the Brazilian ones were collected for a study of insults; about one in a hundred is European",
    "news: labels are by origin; about one in twelve labelled Brazilian is European by its grammar and spelling",
    "politicians: by parliament, so nearly certain; but only 17 accounts are from Portugal, some of them parties",
)


class Source(Struct, frozen=True):
    """Posts of both varieties from one kind of place; an author without a name stands for many."""

    name: str
    european: Mapping[str, Posts]
    brazilian: Mapping[str, Posts]

    def all(self, variety: Mapping[str, Posts]) -> Posts:
        return list(chain.from_iterable(variety.values()))


def tweets_by_language(folder: Path) -> Mapping[str, Posts]:
    found: dict[str, list[str]] = {}
    for row in _rows(folder, _TWEETS):
        found.setdefault(CODES[row[0]], []).append(row[4])
    return found


def sources(folder: Path, portuguese: Posts) -> Sequence[Source]:
    """Tweets, news and politicians."""
    return (_tweets(folder, portuguese), _news(folder), _politicians(folder))


def _tweets(folder: Path, portuguese: Posts) -> Source:
    with _needed(folder, _BRAZILIAN_TWEETS).open(encoding="utf-8", newline="") as file:
        brazilian = [row["text"] for row in csv.DictReader(file)]
    return Source("tweets", {"": portuguese}, {"": brazilian})


def _news(folder: Path) -> Source:
    rows = [row for part in ("train", "dev") for row in _rows(folder, _NEWS / f"PT_{part}.tsv", has_header=False)]
    by_label = {label: [row[1].strip('"') for row in rows if row[2] == label] for label in ("PT-PT", "PT-BR")}
    return Source("news", {"": by_label["PT-PT"]}, {"": by_label["PT-BR"]})


def _politicians(folder: Path) -> Source:
    found: dict[str, dict[str, list[str]]] = {"pt-PT": {}, "pt-BR": {}}
    for variety, author, text in _rows(folder, _POLITICIANS):
        found[variety].setdefault(author, []).append(text)
    return Source("politicians", found["pt-PT"], found["pt-BR"])


def _rows(folder: Path, name: Path, *, has_header: bool = True) -> Iterator[list[str]]:
    with _needed(folder, name).open(encoding="utf-8", newline="\n") as file:
        for number, line in enumerate(file):
            if number or not has_header:
                yield line.rstrip("\r\n").split("\t")


def _needed(folder: Path, name: Path) -> Path:
    if not (folder / name).is_file():
        raise UserError(f"{folder} has no {name}; name the folder that holds the evaluation data")
    return folder / name
