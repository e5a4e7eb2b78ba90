"""`bowerbird completeness`: what was captured, what is known to be missing, and why."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import msgspec
import typer

from bowerbird.cli.screens.amounts.not_asked import show_left_out
from bowerbird.cli.screens.amounts.sums import show_sums, sums_values
from bowerbird.cli.screens.completeness_files import CompletenessFile, flat
from bowerbird.cli.screens.output import JsonFlag, Output
from bowerbird.cli.which import CrawlOption, NamedStore, StoreArgument, find_store, meant_crawl, read_store
from bowerbird.clock import RealClock
from bowerbird.errors import UserError
from bowerbird.ports import Database
from bowerbird.reports.completeness import (
    VIEWS,
    Cause,
    Entry,
    PostSums,
    Total,
    ViewSums,
    completeness_lines,
    read_sums,
    read_views,
)
from bowerbird.reports.completeness.entries import CAUSE_WORDS
from bowerbird.reports.completeness.facets import facet_of
from bowerbird.reports.reader import Reader
from bowerbird.reports.status.left_out import NotAsked, read_left_out

_CAUSES = tuple(Cause)
_SUBJECTS = {
    "user": ("account", "accounts"),
    "query": ("query", "queries"),
    "stream": ("stream", "streams"),
    "id": ("list of ids", "lists of ids"),
    "day": ("day", "days"),
}
_LIST_ITEMS = ("followers", "following")


class By(StrEnum):
    USER = "user"
    QUERY = "query"
    STREAM = "stream"
    ID = "id"
    DAY = "day"


def command(
    place: StoreArgument = None,
    by: Annotated[
        By | None, typer.Option("--by", help="One line per account (user), query, stream, list of ids or day; default: all sums.")
    ] = None,
    top: Annotated[
        int, typer.Option("--top", min=0, help="How many lines to show: those that lack most, or the last days.")
    ] = 20,
    crawl: CrawlOption = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Write every line of --by (default: user) to a new .csv or .jsonl file.")
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """Say what was captured, what is known to be missing, why, and how sure that is. Changes nothing.

    A range such as 3 to 8 holds the truth in most cases; without an upper end nobody can say how much it is.
    """
    output, found = Output(as_json=as_json), find_store(place)
    views = (by.value,) if by is not None else ("user",) if out is not None else VIEWS
    if out is not None and out.exists():
        raise UserError(
            f"{out} exists already", "choose another name, or move it away: nothing is overwritten", code="already_exists"
        )

    async def read() -> tuple[str | None, list[NotAsked], dict[str, ViewSums], PostSums]:
        async with read_store(found, RealClock()) as database:
            chosen = await _chosen(database, found, crawl)
            async with database.reading() as tx:
                left_out = await read_left_out(tx, chosen)
            lines = await _read(database, views, chosen, top, out)
            sums = lines["day"].posts if "day" in lines else await read_sums(database, chosen)
            return chosen, left_out, lines, sums

    chosen, left_out, lines, sums = asyncio.run(read())
    captured = {view: each.captured for view, each in lines.items() if each.captured is not None}
    if chosen is not None:
        output.line(
            f"Of the crawl {chosen} alone, of several in {found.shown}; a day counts the posts that it was first to bring."
        )
    show_left_out(output, left_out)
    for view, each in lines.items():
        if each.totals:
            _show(output, view, each.totals, each.lines() if by is not None else [])
    if barren := [view for view, each in lines.items() if not each.totals]:
        output.line(f"{', '.join(f'by {view}' for view in barren)}: nothing of this kind was asked for")
        output.line()
    show_sums(output, sums, captured, chosen)
    if out is not None:
        output.line(f"Every line is in {out}.")
    told = {"store": found.shown, "crawl": chosen, "out": out, "left_out": msgspec.to_builtins(left_out)}
    told["posts"] = sums_values(sums, captured, chosen)
    output.result(told | {view: _values(each) for view, each in lines.items()})


async def _chosen(database: Database, place: NamedStore, crawl: str | None) -> str | None:
    """The crawl that is meant, by option or crawl file; None for all there are."""
    chosen = await meant_crawl(database, place, crawl)
    return chosen if len(await Reader(database).crawls()) > 1 else None


async def _read(database: Database, views: Sequence[str], crawl: str | None, top: int, out: Path | None) -> dict[str, ViewSums]:
    """The sums of every view; the lines of the only one also into a file."""
    if out is None:
        return await read_views(database, facet_of, views, crawl, top)
    (view,) = views
    sums, file = ViewSums(view, top), CompletenessFile(out)
    try:
        async for entry in completeness_lines(database, facet_of, view, crawl):
            sums.add(entry)
            file.write(entry)
    finally:
        file.close()
    return {view: sums}


def _show(output: Output, view: str, totals: dict[str, Total], entries: list[Entry]) -> None:
    output.line(f"by {view}", style="bold")
    for items, total in totals.items():
        _show_total(output, view, items, total)
    if entries:
        apart = [name for name in ("crawl", "service") if len({getattr(entry, name) for entry in entries}) > 1]
        columns = ("  " + view, *apart, "items", "captured", "missing", "why")
        output.table("", columns, [_row(entry, apart) for entry in entries])
    output.line()


def _show_total(output: Output, view: str, items: str, total: Total) -> None:
    subjects = f"{total.entries:,} {_SUBJECTS[view][total.entries != 1]}"
    gone = "ended" if items in _LIST_ITEMS else "deleted"
    output.line(
        f"  {items} of {subjects}{_unbounded(total)}: captured {total.captured:,}"
        + (f", {total.deleted:,} {gone} since" if total.deleted else "")
    )
    output.line(f"    known missing {_range(total.low, total.likely, total.high)}" + _because(total.causes))


def _unbounded(total: Total) -> str:
    if not total.unbounded:
        return ""
    which = "" if total.unbounded == total.entries else f"{total.unbounded:,} of them "
    return f", {which}without an upper bound"


def _row(entry: Entry, apart: Sequence[str]) -> tuple[str, ...]:
    named = f"@{entry.name}" if entry.name else entry.subject
    missing = _range(entry.low, entry.likely, entry.high)
    why = "; ".join(dict.fromkeys(part.why for part in entry.missing))
    return (f"  {named}", *(getattr(entry, name) for name in apart), entry.items, f"{entry.captured:,}", missing, why)


def _range(low: int, likely: int, high: int | None) -> str:
    if high is None:
        return f"at least {low:,}" + (f", most likely {likely:,} or more" if likely > low else "")
    return f"{likely:,}" if low == high else f"{likely:,} ({low:,} to {high:,})"


def _because(causes: dict[str, int]) -> str:
    named = [f"{causes[cause]:,} {CAUSE_WORDS[cause]}" for cause in _CAUSES if causes.get(cause)]
    return f": {', '.join(named)}" if named else ""


def _values(sums: ViewSums) -> dict[str, Any]:
    return {"totals": msgspec.to_builtins(sums.totals), "lines": [flat(entry) for entry in sums.lines()]}
