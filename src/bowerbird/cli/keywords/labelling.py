"""Read labels of keywords from a file, or ask the user for them."""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterator
from pathlib import Path

import typer

from bowerbird.cli.asking import answered
from bowerbird.clock import RealClock
from bowerbird.errors import UserError
from bowerbird.keywords.grading import WORDS, parse_category
from bowerbird.keywords.keyword_set import parse_keyword
from bowerbird.keywords.rows import Label, save_labels
from bowerbird.ports import Database
from bowerbird.reports.keywords.grading import read_unlabelled


def labels_in(file: Path, tagger: str) -> list[Label]:
    """Return the labels of a CSV file with the columns term, label and optionally tagger; raises `UserError` with the line."""
    try:
        with file.open(encoding="utf-8", newline="") as lines:
            return list(_labels(csv.DictReader(lines), file, tagger))
    except FileNotFoundError:
        raise UserError(
            f"File not found: {file}. --labels takes a CSV file with the columns term and label.", code="file_not_found"
        ) from None
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"Cannot read the labels in {file}: {error}") from None


def _labels(reader: csv.DictReader[str], file: Path, tagger: str) -> Iterator[Label]:
    if not {"term", "label"} <= set(reader.fieldnames or ()):
        raise UserError(f"{file} needs a header with the columns term and label, and tagger if several people labelled.")
    for row in reader:
        try:
            yield parse_keyword(row["term"] or ""), row.get("tagger") or tagger, _label(row["label"] or "")
        except UserError as error:
            raise UserError(f"{file}, line {reader.line_num}: {error}") from None


async def ask(database: Database, crawl: int, tagger: str) -> None:
    """Ask for a label of each keyword that this tagger has not labelled, in a terminal; save each answer at once."""
    if not sys.stdin.isatty():
        return
    async with database.reading() as tx:
        terms = await read_unlabelled(tx, crawl, tagger)
    for number, term in enumerate(terms, 1):
        label = _asked(f"{number} of {len(terms)}  {term}  [r]elated [p]ossibly [n]ot [u]nknown [q]uit")
        if label is None:
            return
        await keep(database, crawl, [(term, tagger, label)])


def _asked(question: str) -> str | None:
    """Ask until the answer is a label; return None if the user quits."""
    while True:
        said = answered(question, default="u").strip()
        if said.lower() in ("q", "quit"):
            return None
        try:
            return _label(said)
        except UserError as error:
            typer.echo(str(error), err=True)


def _label(written: str) -> str:
    """Return the label as stored."""
    return WORDS[parse_category(written)][0]


async def keep(database: Database, crawl: int, labels: list[Label]) -> None:
    async with database.transaction() as tx:
        await save_labels(tx, crawl, labels, RealClock().now())
