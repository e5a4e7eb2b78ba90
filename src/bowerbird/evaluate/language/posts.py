"""Recorded posts of known language and variety, by source and, where it is known, by author."""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from itertools import chain
from pathlib import Path

from msgspec import Struct

from bowerbird.errors import UserError

Posts = Sequence[str]

CODES = {
    "bos": "bs", "bul": "bg", "deu": "de", "eng": "en", "hrv": "hr", "hun": "hu", "pol": "pl", "por": "pt",
    "rus": "ru", "slk": "sk", "slv": "sl", "spa": "es", "sqi": "sq", "srp": "sr", "swe": "sv",
}  # fmt: skip

NOISE = (
    "tweets: the variety of the Portuguese ones is not labelled; about one in a hundred is Brazilian (songs, reposts)",
    "tweets: languages are those of the collection; English and a few words of anything are found among all of them",
    "tweets: Bosnian, Croatian and Serbian ones often cannot be distinguished by their words",
    "tweets: the Brazilian ones were collected for a study of insults; about one in a hundred is European",
    "news: labels are by origin; about one in twelve labelled Brazilian is European by its grammar and spelling",
    "politicians: by parliament, so nearly certain; but only 17 accounts are from Portugal, some of them parties",
)

_TWEETS = Path("language-tweets-15") / "tweets.tsv"
_BRAZILIAN_TWEETS = Path("portuguese-br-tweets") / "ToLD-BR.csv"
_NEWS = Path("portuguese-varieties")
_POLITICIANS = Path("portuguese-politicians") / "posts.tsv"


class Source(Struct, frozen=True):
    """Posts of both varieties by author; the author "" means many authors."""

    name: str
    european: Mapping[str, Posts]
    brazilian: Mapping[str, Posts]


def share_of(claims: Sequence[bool], empty: float = 0.0) -> float:
    """Return the share of true claims, rounded; `empty` without claims."""
    return round(sum(claims) / len(claims), 4) if claims else empty


def all_posts(authors: Mapping[str, Posts]) -> Posts:
    return list(chain.from_iterable(authors.values()))


def read_tweets(folder: Path) -> Mapping[str, Posts]:
    """Return the tweets of language-tweets-15 by language."""
    tweets: dict[str, list[str]] = {}
    for row in _read_rows(folder, _TWEETS):
        tweets.setdefault(CODES[row[0]], []).append(row[4])
    return tweets


def read_sources(folder: Path, portuguese: Posts) -> Sequence[Source]:
    """Return the three sources of Portuguese: tweets, news and politicians."""
    with _require_file(folder, _BRAZILIAN_TWEETS).open(encoding="utf-8", newline="") as file:
        brazilian = [row["text"] for row in csv.DictReader(file)]
    rows = [row for part in ("train", "dev") for row in _read_rows(folder, _NEWS / f"PT_{part}.tsv", header=False)]
    news = {label: [row[1].strip('"') for row in rows if row[2] == label] for label in ("PT-PT", "PT-BR")}
    politicians: dict[str, dict[str, list[str]]] = {"pt-PT": {}, "pt-BR": {}}
    for variety, author, text in _read_rows(folder, _POLITICIANS):
        politicians[variety].setdefault(author, []).append(text)
    return (
        Source("tweets", {"": portuguese}, {"": brazilian}),
        Source("news", {"": news["PT-PT"]}, {"": news["PT-BR"]}),
        Source("politicians", politicians["pt-PT"], politicians["pt-BR"]),
    )


def held_out(source: Source) -> Source:
    """Return the half of a source that was not looked at when the rules were chosen.

    Halves are by a hash of the text. Sources with authors stay whole: their sets are all posts of
    one author, and few authors have written enough.
    """
    if "" not in source.european:
        return source
    halves = [
        {"": [text for text in all_posts(authors) if sha256(text.encode()).digest()[0] % 2]}
        for authors in (source.european, source.brazilian)
    ]
    return Source(source.name, *halves)


_WORD = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*")
_SENTENCE_START = re.compile(r"(?:^|[.!?…:\n\"“«]\s*|\s\s)$")
_MASK = "—"


def mask_names(source: Source) -> Source:
    """Return the source without names of people, places and parties.

    A name is a word with a capital letter inside a sentence, and at its start a word that is seldom
    written without one.
    """
    names = _find_names([*all_posts(source.european), *all_posts(source.brazilian)])
    varieties = (
        {author: [_mask(post, names) for post in posts] for author, posts in authors.items()}
        for authors in (source.european, source.brazilian)
    )
    return Source(f"{source.name}_masked", *varieties)


def _find_names(posts: Iterable[str]) -> frozenset[str]:
    capital: Counter[str] = Counter()
    small: Counter[str] = Counter()
    for word in (match.group() for post in posts for match in _WORD.finditer(post)):
        (capital if word[0].isupper() else small)[word.lower()] += 1
    return frozenset(word for word, count in capital.items() if count > small[word])


def _mask(post: str, names: frozenset[str]) -> str:
    def replace(match: re.Match[str]) -> str:
        word = match.group()
        is_start = _SENTENCE_START.search(post, 0, match.start()) is not None
        is_name = word[0].isupper() and (not is_start or word.lower() in names)
        return _MASK if is_name else word

    # Posts in capital letters only do not mark names by them.
    return post if post.isupper() else _WORD.sub(replace, post)


def _read_rows(folder: Path, name: Path, *, header: bool = True) -> Iterator[list[str]]:
    with _require_file(folder, name).open(encoding="utf-8", newline="\n") as file:
        for number, line in enumerate(file):
            if number or not header:
                yield line.rstrip("\r\n").split("\t")


def _require_file(folder: Path, name: Path) -> Path:
    if not (folder / name).is_file():
        raise UserError(f"Evaluation data not found: {folder / name}.", "Name its folder with --data.", code="file_not_found")
    return folder / name
