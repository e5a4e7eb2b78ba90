"""`bowerbird completeness`: what was captured, what is known to be missing, and why."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from bowerbird.cli.render import Heading, Table, render, row_file
from bowerbird.cli.screens.amounts import post_counts
from bowerbird.cli.screens.output import JsonFlag
from bowerbird.cli.which import CrawlOption, StoreArgument, find_store, meant_crawl, read_store
from bowerbird.clock import RealClock
from bowerbird.model import PostFate
from bowerbird.reports.completeness import (
    ENTRY_COLUMNS,
    FILE_COLUMNS,
    TOTAL_COLUMNS,
    VIEWS,
    PostSums,
    View,
    read_completeness,
    read_sums,
    total_rows,
)
from bowerbird.reports.counting.counts import Count
from bowerbird.reports.crawls import read_numbers
from bowerbird.reports.status.left_out import NotAsked, read_left_out


class By(StrEnum):
    USER = "user"
    QUERY = "query"
    STREAM = "stream"
    ID = "id"
    DAY = "day"


def command(
    place: StoreArgument = None,
    by: Annotated[
        By | None,
        typer.Option(
            "--by",
            help="Show lines by account (user), query, stream, list of ids or day; default: sums.",
        ),
    ] = None,
    top: Annotated[int, typer.Option("--top", min=0, help="Number of lines: the most missing, or the last days.")] = 20,
    crawl: CrawlOption = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Write every line of --by (default: user) to a new .csv or .jsonl file.")
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """Show what was captured, what is known to be missing, and why. Changes nothing.

    A range such as 3 to 8 includes the true value in most cases. Without an upper end the number is unknown.
    """
    store = find_store(place)
    views: Sequence[str] = (by.value,) if by is not None else ("user",) if out is not None else VIEWS

    async def read() -> tuple[str | None, list[NotAsked], dict[str, View], PostSums]:
        async with read_store(store, RealClock()) as database:
            chosen = await meant_crawl(database, store, crawl)
            async with database.reading() as tx:
                chosen = chosen if len(await read_numbers(tx)) > 1 else None
                left_out = await read_left_out(tx, chosen)
            with row_file(out, FILE_COLUMNS) as write:
                report = await read_completeness(database, views, chosen, top, write)
            return chosen, left_out, report, await read_sums(database, chosen)

    chosen, left_out, report, posts = asyncio.run(read())
    if "day" in report:
        report["day"].lines = report["day"].lines[-top:] if top else []
    captured = {view: each.totals["posts"].captured for view, each in report.items() if "posts" in each.totals}
    counts = {"stored": posts.stored, "kept": posts.captured, "deleted": posts.deleted, "opted_out": posts.opted_out}
    others = {view: posts.captured - captured[view] for view in ("user", "query", "id") if view in captured and chosen is None}
    values = {
        "store": store.shown,
        "crawl": chosen,
        "out": out,
        "left_out": left_out,
        "posts": {**counts, "undated": posts.undated, "captured": captured, "others": others},
        **report,
    }
    render(values, _screen(values, report, is_by_line=by is not None), as_json=as_json)


def _screen(values: dict[str, Any], report: dict[str, View], *, is_by_line: bool) -> Iterator[str | Table]:
    if values["crawl"] is not None:
        yield f"Only the crawl {values['crawl']}; days count the posts that it brought first."
    for each in values["left_out"]:
        waiting = f"; {each.targets:,} targets wait for it" if each.targets else ""
        yield f"Not requested: {each.facet} of {each.service}: {each.why}{waiting}. {each.advice}"
    if rows := total_rows(report):
        yield Table(rows, TOTAL_COLUMNS)
    if unused := [view for view, each in report.items() if not each.totals]:
        yield f"Nothing was requested by {', '.join(unused)}."
    for view, each in report.items():
        if is_by_line and each.lines:
            yield ""
            yield Heading(f"by {view}")
            apart = {name: name for name in ("crawl", "service") if len({getattr(line, name) for line in each.lines}) > 1}
            yield Table(each.lines, {view: lambda line: f"@{line.name}" if line.name else line.subject, **apart, **ENTRY_COLUMNS})
    yield ""
    yield Heading("posts in all")
    posts = values["posts"]
    yield f"  {post_counts.told({fate: Count(posts[fate]) for fate in PostFate})}"
    for view, others in posts["others"].items():
        counted = f"{posts['captured'][view]:,} are counted by {view}, {others:,} are not"
        yield f"  of the {posts['kept']:,} with their content, {counted}"
    if values["out"]:
        yield f"All lines are in {values['out']}."
