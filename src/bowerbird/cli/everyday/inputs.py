"""What a command is asked about: written on its line, one a line in a text, or in a column of a CSV file; also from a pipe."""

from __future__ import annotations

import csv
import os
import sys
from collections.abc import Iterator, Mapping
from hashlib import sha256
from itertools import chain, islice
from pathlib import Path
from tempfile import mkstemp

from msgspec import Struct

from bowerbird.cli.everyday.wishes import Wish
from bowerbird.errors import UserError
from bowerbird.flows.files.sections.seed_list import SeedList, delimiter
from bowerbird.flows.language.spelling import listed, meant

PIPE = "-"
INPUT = "input"
"""The column that says for which of several inputs a row was found."""
_TABLES = (".csv", ".tsv")
_OF_MANY = {"timeline": "timelines", "search": "searches"}
"""Commands that take one input, with those that ask the same about many."""


class Inputs(Struct, frozen=True, kw_only=True):
    """The inputs of a command."""

    seeds: SeedList
    carried: tuple[str, ...] = ()
    """Columns of the input that every row bears."""
    identity: str = ""
    """Of a pipe, what came through it; of a file, where it is."""
    spool: Path | None = None
    """Where what came through a pipe is kept until the command has finished."""

    def rows(self) -> Iterator[tuple[str, Mapping[str, str]]]:
        """Every input as often as it was written, with the columns beside it."""
        yield from ((text.strip(), {INPUT: text.strip()}) for text in self.seeds.written)
        if self.seeds.file and self.seeds.column:
            yield from ((row[self.seeds.column].strip(), row) for row in _rows(Path(self.seeds.file)))
        elif self.seeds.file:
            yield from ((text, {INPUT: text}) for text in SeedList((), self.seeds.file))


def read_inputs(wish: Wish, folder: Path, default: str = "") -> Inputs:
    """The inputs of a command line; raises `UserError` that says what to write where there are none, or none that can be read."""
    written = tuple(text for text in wish.inputs if text != PIPE)
    source = wish.file or (PIPE if PIPE in wish.inputs else None)
    for text in written:
        _check_written(text)
    if source is None:
        if wish.column is not None:
            raise UserError("--column names a column of a file", "add the file with -i FILE", code="needs_option")
        if not written and not default:
            table = f"give `bowerbird {_OF_MANY[wish.command]}` a file" if wish.command in _OF_MANY else "a file"
            raise UserError(
                f"`bowerbird {wish.command}` needs something to ask about",
                f"write it, or {table} with -i FILE",
                code="needs_option",
            )
        return Inputs(seeds=SeedList(written or (default,)), carried=(INPUT,) if len(written) > 1 else ())
    file = _spooled(folder) if source == PIPE else Path(source).expanduser()
    columns = _columns(file, source, wish.column)
    identity = file.name if source == PIPE else str(file.resolve())
    seeds = SeedList(written, str(file), wish.column or "")
    return Inputs(seeds=seeds, carried=columns, identity=identity, spool=file if source == PIPE else None)


def cut(inputs: Inputs, limit: int | None) -> Inputs:
    """The first inputs only."""
    if limit is None:
        return inputs
    first = tuple(islice(inputs.seeds, limit))
    return Inputs(seeds=SeedList(first), carried=(), identity=inputs.identity, spool=inputs.spool)


def _check_written(text: str) -> None:
    path = Path(text)
    if path.suffix.lower() in (".txt", ".csv", ".jsonl") and path.is_file():
        raise UserError(f"{text} is a file", f"write -i {text} to read what is in it", code="needs_option")
    if not text.strip():
        raise UserError("an empty text cannot be asked about", "write a handle, an id, an address or a word", code="needs_option")


def _columns(file: Path, source: str, column: str | None) -> tuple[str, ...]:
    """The columns of a table, which are carried through; a text has the one that says what was written."""
    shown = "standard input" if source == PIPE else str(file)
    if not file.is_file():
        raise UserError(f"the input {shown} does not exist", f"paths start from {Path.cwd()}", code="file_not_found")
    if column is None:
        if file.suffix.lower() in _TABLES:
            raise UserError(
                f"say which column of {shown} is meant, such as --column {_header(file, shown)[0]!r}", code="ambiguous"
            )
        return (INPUT,)
    header = _header(file, shown)
    if column not in header:
        raise UserError(
            f"{shown} has no column {column!r}{meant(column, header)}", f"it has: {listed(header)}", code="unknown_name"
        )
    return tuple(header)


def _header(file: Path, shown: str) -> list[str]:
    try:
        with file.open(encoding="utf-8-sig", newline="") as opened:
            header = next(csv.reader(opened, delimiter=delimiter(opened)), None)
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise UserError(f"{shown} cannot be read as a table: {error}", "save it as CSV in UTF-8", code="file_damaged") from None
    if not header:
        raise UserError(f"{shown} is empty", "its first line must name the columns", code="missing_value")
    if doubled := sorted({name for name in header if header.count(name) > 1}):
        raise UserError(f"{shown} has two columns called {doubled[0]!r}", "give each its own name", code="already_exists")
    return header


def _rows(file: Path) -> Iterator[dict[str, str]]:
    with file.open(encoding="utf-8-sig", errors="replace", newline="") as opened:
        for row in csv.DictReader(opened, delimiter=delimiter(opened), restkey="", restval=""):
            yield {name: value for name, value in row.items() if isinstance(value, str)}


def _spooled(folder: Path) -> Path:
    """What comes through the pipe, in a file named after it."""
    if sys.stdin.isatty():
        raise UserError(
            "nothing is piped in", "write for example `cat ids.txt | bowerbird hydrate - --on bluesky`", code="needs_option"
        )
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    # Of its own name: other commands may read their pipes meanwhile.
    number, name = mkstemp(prefix="pipe-", suffix=".part", dir=folder)
    digest, part = sha256(), Path(name)
    with os.fdopen(number, "wb") as file:
        first = sys.stdin.buffer.read(1)
        for piece in chain((first,), iter(lambda: sys.stdin.buffer.read(1 << 20), b"")):
            digest.update(piece)
            file.write(piece)
    if not first:
        part.unlink()
        raise UserError("nothing came through the pipe: standard input is empty", code="needs_option")
    return part.rename(folder / f"pipe-{digest.hexdigest()[:16]}.txt")
