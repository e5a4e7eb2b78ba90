"""`bowerbird compare`: how far two stores, two crawls or two sources hold the same."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from itertools import combinations
from pathlib import Path
from typing import Annotated, Any

import msgspec
import typer

from bowerbird.cli.screens.output import JsonFlag, Output
from bowerbird.cli.which import NamedStore, find_store, read_store
from bowerbird.clock import RealClock
from bowerbird.errors import UserError
from bowerbird.export.rows.files import RowFile, open_rows
from bowerbird.export.rows.shapes import Column, Shape
from bowerbird.reports.studies.collections import Collection, Part, find_part, hashed, posts_of, read_collection
from bowerbird.reports.studies.compared import Alike, Alone, Comparison, compare, day_of

_SHOWN_DAYS = 31
_LONE = Shape("lone posts", (Column("only_in"), Column("id"), Column("author_id"), Column("day")))


class Compared:
    """One thing to compare: a whole store, or a part of one."""

    def __init__(self, name: str, place: NamedStore, *, is_part: bool) -> None:
        self.name = name
        self._place = place
        self._is_part = is_part

    async def read(self) -> Collection:
        async with read_store(self._place, RealClock()) as database:
            async with database.reading() as tx:
                part = await find_part(tx, self.name) if self._is_part else Part()
            return await read_collection(database, part)

    async def write_lone(self, file: RowFile, others: frozenset[int]) -> None:
        """Every post that none of the others has."""
        async with read_store(self._place, RealClock()) as database:
            async with database.reading() as tx:
                part = await find_part(tx, self.name) if self._is_part else Part()
            async for rows in posts_of(database, part):
                file.write(_lone(row, self.name) for row in rows if hashed(row["id"]) not in others)


def command(
    what: Annotated[
        list[str], typer.Argument(metavar="A B …", help="Crawl files or databases; with --in: crawls, or CRAWL/SOURCE.")
    ],
    within: Annotated[
        str | None, typer.Option("--in", metavar="FILE|DATABASE", help="The store in which these crawls and sources are.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Write the posts that only one of two has to a new .csv or .jsonl file.")
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """Say how many posts and authors two collections share, by day, and what each has alone. Changes nothing.

    The index of Jaccard is the share of all posts (or authors) that both have. Of more than two every pair is compared.
    """
    output = Output(as_json=as_json)
    sides = _sides(what, within)
    if out is not None and len(sides) > 2:
        raise UserError("--out tells what one of two has alone", "name two", code="needs_option")
    collections = asyncio.run(_read(sides))
    pairs = {(one, two): compare(collections[one], collections[two]) for one, two in combinations(collections, 2)}
    if len(pairs) == 1:
        ((one, two), found), *_ = pairs.items()
        _show(output, one, two, found)
    else:
        _show_pairs(output, pairs)
    if out is not None:
        asyncio.run(_write(out, sides, collections))
        output.line(f"What only one of them has is in {out}.")
    told = [{"first": one, "second": two, **_values(found)} for (one, two), found in pairs.items()]
    output.result({"in": within, "out": out, "pairs": told})


def _sides(what: Sequence[str], within: str | None) -> list[Compared]:
    if len(set(what)) < 2:
        raise UserError(
            "name two different things to compare: two crawl files or databases, or two crawls of one with --in",
            code="needs_option",
        )
    place = find_store(within) if within is not None else None
    return [Compared(each, place or find_store(each), is_part=place is not None) for each in dict.fromkeys(what)]


async def _read(sides: Sequence[Compared]) -> dict[str, Collection]:
    return {side.name: await side.read() for side in sides}


async def _write(out: Path, sides: Sequence[Compared], collections: dict[str, Collection]) -> None:
    with open_rows(out, _LONE) as file:
        for side in sides:
            others = [each.ids for name, each in collections.items() if name != side.name]
            await side.write_lone(file, frozenset(number for ids in others for number in ids.tolist()))


def _lone(row: Any, name: str) -> tuple[Any, ...]:
    day = day_of(row["day"])
    return name, row["id"], row["author"], None if day is None else day.isoformat()


def _show(output: Output, one: str, two: str, found: Comparison) -> None:
    rows = [("posts", *_cells(found.posts)), ("authors", *_cells(found.authors))]
    output.table("", ("", f"only {one}", f"only {two}", "both", "Jaccard"), rows)
    if found.posts.first_only:
        output.line(f"Of the posts that only {one} has, {_particular(found.first_alone)}.")
    if found.posts.second_only:
        output.line(f"Of the posts that only {two} has, {_particular(found.second_alone)}.")
    output.line()
    days = found.days[-_SHOWN_DAYS:]
    shown = [(day.day or "undated", *_cells(day.posts), *_cells(day.authors)[2:]) for day in days]
    output.table("", ("day", f"only {one}", f"only {two}", "both", "Jaccard", "authors in both", "Jaccard of authors"), shown)
    if len(days) < len(found.days):
        output.line(f"… and {len(found.days) - len(days):,} earlier days; --json has all.")


def _particular(alone: Alone) -> str:
    return f"{alone.reposts:,} are reposts and {alone.gone:,} are gone since"


def _show_pairs(output: Output, pairs: dict[tuple[str, str], Comparison]) -> None:
    rows = [(one, two, *_cells(found.posts), *_cells(found.authors)[2:]) for (one, two), found in pairs.items()]
    columns = ("first", "second", "only first", "only second", "both", "Jaccard", "authors in both", "Jaccard of authors")
    output.table("", columns, rows)


def _cells(alike: Alike) -> tuple[str, ...]:
    share = "" if alike.jaccard is None else f"{alike.jaccard:.3f}"
    return f"{alike.first_only:,}", f"{alike.second_only:,}", f"{alike.both:,}", share


def _values(found: Comparison) -> dict[str, Any]:
    values: dict[str, Any] = msgspec.to_builtins(found)
    for told, alike in ((values["posts"], found.posts), (values["authors"], found.authors)):
        told["jaccard"] = alike.jaccard
    for told, day in zip(values["days"], found.days, strict=True):
        told["posts"]["jaccard"], told["authors"]["jaccard"] = day.posts.jaccard, day.authors.jaccard
    return values
