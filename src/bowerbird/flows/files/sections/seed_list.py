"""The seeds of a crawl file: written there, in a text file, in a column of a CSV, or chosen from what is stored already.

[seeds]
query = "users where followers > 1000 and not protected"

Files are read lazily, for they may hold millions.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import NamedTuple, TextIO

from msgspec import Struct

from bowerbird.db.addresses import in_vault
from bowerbird.errors import UserError
from bowerbird.flows.language import condition
from bowerbird.flows.language.spelling import listed, meant
from bowerbird.flows.language.tables import Table
from bowerbird.model import Subject

SEED_KEYS = ("list", "file", "column", "query", "store")
CHOICES = {"users": Subject.USER, "authors": Subject.USER, "posts": Subject.POST}
"""What a query can choose; `authors` are those of the posts that fulfil it."""
STORED = {
    "users": {*condition.ABOUT_USER, "language"} - {"news", "changed"},
    "posts": {*condition.ABOUT_POST, "language"} - {"along", "new_post"},
}
"""What is known of a stored account or post."""
_QUERY = re.compile(r"\s*(\w+)(?:\s+where\s+(.+))?\s*", re.DOTALL)


class SeedQuery(Struct, frozen=True):
    """A choice among what a store holds, made anew at every start."""

    what: str
    where: str = ""
    """A condition; empty: all."""
    store: str = ""
    """Where to look; empty: the crawl's own store."""

    @property
    def subject(self) -> Subject:
        return CHOICES[self.what]

    @property
    def asks_judges(self) -> bool:
        return bool(self.where) and bool(_parsed(self.where).judges)

    def holds(self, facts: condition.Facts) -> bool:
        return not self.where or _parsed(self.where).holds(facts)


_parsed = cache(condition.parse)


class Seed(NamedTuple):
    """What a person wrote, and where: the file of seeds and the line there; empty for the crawl file and the command line."""

    text: str
    where: str = ""


class SeedList(Struct, frozen=True):
    """Where the seeds are written; iterating reads them, each once and in order."""

    written: tuple[str, ...] = ()
    file: str = ""
    column: str = ""
    query: SeedQuery | None = None
    """Cannot be read here: the store is asked when the crawl starts."""

    def __iter__(self) -> Iterator[str]:
        return (seed.text for seed in self.located())

    def located(self) -> Iterator[Seed]:
        """The same with the places where they are written."""
        known: set[str] = set()
        for seed in self._all():
            if seed.text and seed.text not in known:
                known.add(seed.text)
                yield seed

    def _all(self) -> Iterator[Seed]:
        yield from (Seed(text.strip()) for text in self.written)
        if self.file:
            lines = _column(Path(self.file), self.column) if self.column else _lines(Path(self.file))
            yield from (Seed(text, f"{self.file}:{line}") for line, text in lines)


def seed_list(table: Table, folder: Path, *, is_needed: bool = True) -> SeedList:
    """The `seeds` of a crawl file: a list, or a table that names a file; a crawl that listens may do without."""
    if not isinstance(table.values.get("seeds"), dict):
        written = table.texts("seeds")
        if not written and is_needed:
            raise table.wrong(
                "seeds",
                "seeds are missing",
                'write for example: seeds = ["@Gargron"], seeds = ["#flood"] or seeds.file = "users.txt"',
                code="no_seeds",
            )
        return SeedList(written)
    inner = table.table("seeds")
    inner.only(SEED_KEYS, "[seeds]")
    seeds = SeedList(inner.texts("list"), _file(inner, folder), inner.text("column"), _query(inner, folder))
    if not seeds.written and not seeds.file and seeds.query is None:
        raise table.wrong("seeds", "seeds are missing", 'write for example: file = "users.txt"', code="no_seeds")
    _check_column(inner, seeds)
    return seeds


def _query(table: Table, folder: Path) -> SeedQuery | None:
    text, store = table.text("query"), table.text("store")
    if not text:
        if store:
            raise table.wrong(
                "store", "store needs a query", 'add for example: query = "users where followers > 1000"', code="missing_value"
            )
        return None
    found = _QUERY.fullmatch(text)
    if found is None or found[1] not in CHOICES:
        hint = meant(found[1], CHOICES) if found else ""
        form = f"begin with one of {listed(CHOICES)}{hint}, then may come 'where' and a condition"
        raise table.wrong("query", f"the query {text!r:.60} must {form}")
    _check_condition(table, found[1], found[2] or "")
    return SeedQuery(found[1], found[2] or "", _store(table, folder))


def _check_condition(table: Table, what: str, where: str) -> None:
    known = STORED["users" if what == "users" else "posts"]
    try:
        asked = condition.parse(where).words if where else frozenset()
    except ValueError as error:
        raise table.wrong("query", str(error)) from None
    for word in sorted(asked - known):
        raise table.wrong(
            "query", f"{word} is not known of stored {what}{meant(word, known)}", f"known: {listed(known)}", code="unknown_name"
        )


def _store(table: Table, folder: Path) -> str:
    text = table.text("store")
    if not text or "://" in text or in_vault(text) is not None:
        return text
    path = folder / Path(text).expanduser()
    if not path.is_file():
        raise table.wrong(
            "store",
            f"the store {str(path)!r} does not exist",
            "paths start from the folder of the crawl file",
            code="file_not_found",
        )
    return str(path)


def _file(table: Table, folder: Path) -> str:
    if not table.text("file"):
        return ""
    path = folder / Path(table.text("file")).expanduser()
    if not path.is_file():
        raise table.wrong(
            "file",
            f"the seeds file {str(path)!r} does not exist",
            "paths start from the folder of the crawl file",
            code="file_not_found",
        )
    return str(path)


def _check_column(table: Table, seeds: SeedList) -> None:
    if seeds.column and not seeds.file:
        raise table.wrong("column", "column needs a file", 'add for example: file = "users.csv"', code="missing_value")
    if seeds.file.endswith(".csv") and not seeds.column:
        raise table.wrong(
            "file",
            f"say which column of the CSV holds the seeds, such as column = {_header(Path(seeds.file))[0]!r}",
            code="ambiguous",
        )
    if seeds.column and seeds.column not in (header := _header(Path(seeds.file))):
        problem = f"the CSV has no column {seeds.column!r}{meant(seeds.column, header)}"
        raise table.wrong("column", problem, f"it has: {listed(header)}", code="unknown_name")


def is_text(seed: str) -> bool:
    """Whether it could be read as UTF-8; what could not is carried along, to be named with its line like any bad seed."""
    return seed.isascii() or not any("\udc80" <= mark <= "\udcff" for mark in seed)


@contextmanager
def _opened(path: Path, newline: str | None = None) -> Iterator[TextIO]:
    try:
        with path.open(encoding="utf-8-sig", errors="surrogateescape", newline=newline) as file:
            yield file
    except OSError as error:
        raise UserError(
            f"the seeds file {path} cannot be read: {error.strerror}", "check its permissions", code="file_unreadable"
        ) from None
    except csv.Error as error:
        raise UserError(
            f"the seeds file {path} is not a table of comma-separated values: {error}", "mend it", code="file_damaged"
        ) from None


def delimiter(file: TextIO) -> str:
    """What parts the columns of a table, told by its first line: in many countries spreadsheets write semicolons."""
    first = file.readline()
    file.seek(0)
    return max(",;\t", key=first.count)


def _header(path: Path) -> list[str]:
    with _opened(path, newline="") as file:
        return next(csv.reader(file, delimiter=delimiter(file)), []) or [""]


def _column(path: Path, column: str) -> Iterator[tuple[int, str]]:
    with _opened(path, newline="") as file:
        rows = csv.DictReader(file, delimiter=delimiter(file))
        for row in rows:
            yield rows.line_num, (row.get(column) or "").strip()


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    """One seed per line, with its number; `# ` opens a comment line, while `#word` is a hashtag."""
    with _opened(path) as file:
        for number, line in enumerate(file, start=1):
            if not line.startswith("# ") and line.strip() != "#":
                yield number, line.strip()
