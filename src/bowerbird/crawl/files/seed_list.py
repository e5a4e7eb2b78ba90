"""The seeds of a crawl file: written there, in a text file, or in a column of a CSV; read lazily, for they may be millions."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

from bowerbird.crawl.files.language.tables import Table
from bowerbird.crawl.files.language.words import listed, meant
from bowerbird.errors import UserError

SEED_KEYS = ("list", "file", "column")


class SeedList(Struct, frozen=True):
    """Where the seeds are written; iterating reads them, each once and in order."""

    written: tuple[str, ...] = ()
    file: str = ""
    column: str = ""

    def __iter__(self) -> Iterator[str]:
        known: set[str] = set()
        for seed in self._all():
            if seed and seed not in known:
                known.add(seed)
                yield seed

    def _all(self) -> Iterator[str]:
        yield from (seed.strip() for seed in self.written)
        if self.file:
            yield from _column(Path(self.file), self.column) if self.column else _lines(Path(self.file))


def seed_list(table: Table, folder: Path) -> SeedList:
    """The `seeds` of a crawl file: a list, or a table that names a file."""
    if not isinstance(table.values.get("seeds"), dict):
        written = table.texts("seeds")
        if not written:
            raise table.wrong("seeds", 'seeds are missing; write for example: seeds = ["@Gargron"] or seeds.file = "users.txt"')
        return SeedList(written)
    inner = table.table("seeds")
    inner.only(SEED_KEYS, "[seeds]")
    seeds = SeedList(inner.texts("list"), _file(inner, folder), inner.text("column"))
    if not seeds.written and not seeds.file:
        raise table.wrong("seeds", 'seeds are missing; write for example: file = "users.txt"')
    _check_column(inner, seeds)
    return seeds


def _file(table: Table, folder: Path) -> str:
    if not table.text("file"):
        return ""
    path = folder / Path(table.text("file")).expanduser()
    if not path.is_file():
        raise table.wrong("file", f"the seeds file {str(path)!r} does not exist; paths start from the folder of the crawl file")
    return str(path)


def _check_column(table: Table, seeds: SeedList) -> None:
    if seeds.column and not seeds.file:
        raise table.wrong("column", 'column needs a file; add for example: file = "users.csv"')
    if seeds.file.endswith(".csv") and not seeds.column:
        raise table.wrong(
            "file", f"say which column of the CSV holds the seeds, such as column = {_header(Path(seeds.file))[0]!r}"
        )
    if seeds.column and seeds.column not in (header := _header(Path(seeds.file))):
        hint = f"{meant(seeds.column, header)}; it has: {listed(header)}"
        raise table.wrong("column", f"the CSV has no column {seeds.column!r}{hint}")


def _header(path: Path) -> list[str]:
    with path.open(encoding="utf-8-sig", newline="") as file:
        return next(csv.reader(file), []) or [""]


def _column(path: Path, column: str) -> Iterator[str]:
    with path.open(encoding="utf-8-sig", newline="") as file:
        for row in csv.DictReader(file):
            yield (row.get(column) or "").strip()


def _lines(path: Path) -> Iterator[str]:
    """One seed per line; `# ` opens a comment line, while `#word` is a hashtag."""
    try:
        with path.open(encoding="utf-8-sig") as file:
            for line in file:
                if not line.startswith("# ") and line.strip() != "#":
                    yield line.strip()
    except UnicodeDecodeError as error:
        raise UserError(f"The seeds file {path} is not UTF-8 text ({error.reason}); save it as UTF-8 and try again.") from None
