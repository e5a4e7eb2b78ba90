"""`bowerbird completeness`: what was captured, what is known to be missing, and why."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from enum import StrEnum
from heapq import nlargest, nsmallest
from pathlib import Path
from typing import Annotated, Any

import msgspec
import typer

from bowerbird.cli.ledger_files import LedgerFile, flat
from bowerbird.cli.live import words
from bowerbird.cli.output import JsonFlag, Output
from bowerbird.cli.place import PlaceArgument, find_place, opened_place
from bowerbird.clock import RealClock
from bowerbird.errors import UserError
from bowerbird.model import Facet
from bowerbird.ports import Database
from bowerbird.providers import PROVIDERS, provider
from bowerbird.store.completeness import VIEWS, Cause, Entry, Total, ledger

_CAUSES = tuple(Cause)


class By(StrEnum):
    USER = "user"
    QUERY = "query"
    STREAM = "stream"
    DAY = "day"


def command(
    place: PlaceArgument = None,
    by: Annotated[
        By | None, typer.Option("--by", help="One line per user, query, stream or day; default: the sums of all four.")
    ] = None,
    top: Annotated[
        int, typer.Option("--top", min=0, help="How many lines to show: those that lack most, or the last days.")
    ] = 20,
    out: Annotated[
        Path | None, typer.Option("--out", help="Write every line of --by (default: user) to a new .csv or .jsonl file.")
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """Say what was captured, what is known to be missing, why, and how sure that is. Changes nothing.

    A range such as 3 to 8 holds the truth in most cases; without an upper end nobody can say how much it is.
    """
    output, found = Output(as_json=as_json), find_place(place)
    views = (by.value,) if by is not None else ("user",) if out is not None else VIEWS
    if out is not None and out.exists():
        raise UserError(f"{out} exists already; choose another name, or move it away: nothing is overwritten")

    async def read() -> dict[str, tuple[Total, list[Entry]]]:
        async with opened_place(found, RealClock()) as database:
            return {view: await _read(database, view, top, out) for view in views}

    lines = asyncio.run(read())
    for view, (total, entries) in lines.items():
        _show(output, view, total, entries if by is not None else [])
    if out is not None:
        output.line(f"Every line is in {out}.")
    output.result({"store": found.shown, "out": out, **{view: _values(*each) for view, each in lines.items()}})


def facet_of(name: str, facet: str) -> Facet | None:
    """A facet of a network by name; None for what is no facet, such as a stream."""
    return provider(name).facets.get(facet) if name in PROVIDERS else None


async def _read(database: Database, view: str, top: int, out: Path | None) -> tuple[Total, list[Entry]]:
    total = Total()
    kept: list[Entry] = []
    file = LedgerFile(out) if out is not None else None
    try:
        async for entry in ledger(database, facet_of, view):
            total.add(entry)
            kept = _keep([*kept, entry], view, top) if len(kept) >= 2 * top + 100 else [*kept, entry]
            if file is not None:
                file.write(entry)
    finally:
        if file is not None:
            file.close()
    return total, _keep(kept, view, top)


def _keep(entries: Iterable[Entry], view: str, top: int) -> list[Entry]:
    """Those that lack most; of days the last ones."""
    if view == "day":
        return nsmallest(top, nlargest(top, entries, key=lambda entry: entry.subject), key=lambda entry: entry.subject)
    return nlargest(top, entries, key=lambda entry: (entry.likely, entry.high is None, entry.high or 0))


def _show(output: Output, view: str, total: Total, entries: list[Entry]) -> None:
    output.line(f"by {view}", style="bold")
    if not total.entries:
        output.line("  nothing of this kind was asked for")
        return
    bound = _unbounded(total)
    output.line(
        f"  {words.many(total.entries, 'line')}{bound}; captured {total.captured:,}"
        + (f", {total.deleted:,} deleted since" if total.deleted else "")
    )
    output.line(f"  known missing {_range(total.low, total.likely, total.high)}" + _because(total.causes))
    if entries:
        output.table("", ("  " + view, "items", "captured", "missing", "why"), [_row(view, entry) for entry in entries])
    output.line()


def _unbounded(total: Total) -> str:
    if not total.unbounded:
        return ""
    which = "" if total.unbounded == total.entries else f"{total.unbounded:,} of them "
    return f", {which}without an upper bound"


def _row(view: str, entry: Entry) -> tuple[str, ...]:
    named = f"@{entry.name}" if entry.name else entry.subject
    missing = _range(entry.low, entry.likely, entry.high)
    why = "; ".join(dict.fromkeys(f"{part.cause}: {part.why}" for part in entry.missing))
    return (f"  {named}", entry.items, f"{entry.captured:,}", missing, why)


def _range(low: int, likely: int, high: int | None) -> str:
    if high is None:
        return f"at least {low:,}"
    return f"{likely:,}" if low == high else f"{likely:,} ({low:,} to {high:,})"


def _because(causes: dict[str, int]) -> str:
    named = [f"{cause} {causes[cause]:,}" for cause in _CAUSES if causes.get(cause)]
    return f": {', '.join(named)}" if named else ""


def _values(total: Total, entries: list[Entry]) -> dict[str, Any]:
    totals: dict[str, Any] = msgspec.to_builtins(total)
    return {"total": totals, "lines": [flat(entry) for entry in entries]}
