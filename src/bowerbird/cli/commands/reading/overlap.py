"""`bowerbird overlap`: what search alone would have missed, and what the streams alone would have."""

from __future__ import annotations

import asyncio
from typing import Annotated

import msgspec
import typer

from bowerbird.cli.screens.amounts import numbers
from bowerbird.cli.screens.output import JsonFlag, Output
from bowerbird.cli.which import NamedStore, StoreArgument, find_store, meant_crawl, read_store
from bowerbird.clock import RealClock
from bowerbird.errors import UserError
from bowerbird.reports.reader import Reader
from bowerbird.reports.studies.overlap import Overlap, Shared, read_overlap


def command(
    place: StoreArgument = None,
    crawl: Annotated[str | None, typer.Option("--crawl", help="Which crawl, where a database holds several.")] = None,
    as_json: JsonFlag = False,
) -> None:
    """Say which posts were found by search only, by streams only, or by both, day by day. Changes nothing."""
    output = Output(as_json=as_json)
    overlap = asyncio.run(_read(find_store(place), crawl))
    _show(output, overlap)
    output.result(msgspec.to_builtins(overlap))


async def _read(place: NamedStore, crawl: str | None) -> Overlap:
    async with read_store(place, RealClock()) as database:
        names = [each.name for each in await Reader(database).crawls()]
        chosen = await meant_crawl(database, place, crawl) or (names[0] if len(names) == 1 else None)
        if chosen is None:
            raise UserError(
                f"say which crawl is meant with --crawl; {place.shown} holds: {', '.join(names) or 'none'}", code="ambiguous"
            )
        async with database.reading() as tx:
            return await read_overlap(tx, chosen)


def _show(output: Output, overlap: Overlap) -> None:
    if not overlap.sources:
        output.line(f"{overlap.crawl} has listed nothing yet by search: only flows that search remember who listed what.")
        return
    kinds = {source.is_stream for source in overlap.sources}
    rows = [
        (f"  {each.name}", each.service, "stream" if each.is_stream else "search", f"{each.posts:,}", f"{each.found_first:,}")
        for each in overlap.sources
    ]
    output.table("", ("  source", "service", "kind", "posts", "found first"), rows)
    if len(kinds) == 1:
        output.line("Only one kind of source ran: add [[streams]] beside the searches to compare them.")
        return
    _show_days(output, overlap)


def _show_days(output: Output, overlap: Overlap) -> None:
    output.line()
    rows = [(f"  {day.day}", *_counts(day)) for day in overlap.days] + [("  in all", *_counts(overlap.total))]
    output.table("", ("  day", "search only", "stream only", "both", "earlier", "later"), rows)
    total = overlap.total
    reposts, gone = numbers.many(total.stream_only_reposts, "repost"), f"{total.stream_only_gone:,} deleted since"
    output.line(f"  Search alone would have missed {numbers.many(total.stream_only, 'post')} ({reposts}, {gone}),")
    output.line(f"  streams alone {numbers.many(total.search_only, 'post')}.")
    if overlap.both_since is not None:
        output.line(f"  Earlier: written before {overlap.both_since:%Y-%m-%d %H:%M} UTC, since when both have run.")
    if overlap.both_until is not None:
        output.line(f"  Later: written after {overlap.both_until:%Y-%m-%d %H:%M} UTC, up to when both have answered.")


def _counts(shared: Shared) -> tuple[str, ...]:
    counts = (shared.search_only, shared.stream_only, shared.both, shared.earlier, shared.later)
    return tuple(f"{count:,}" for count in counts)
