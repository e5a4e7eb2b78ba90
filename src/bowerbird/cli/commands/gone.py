"""`bowerbird gone`: what services no longer show."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from enum import StrEnum
from heapq import nlargest
from operator import attrgetter
from pathlib import Path
from typing import Annotated, Any

import typer

from bowerbird.cli.render import Heading, Table, render, row_file
from bowerbird.cli.screens.output import JsonFlag
from bowerbird.cli.which import StoreArgument, find_store, read_store
from bowerbird.clock import RealClock
from bowerbird.errors import UserError
from bowerbird.ports import Database
from bowerbird.reports.deletions import COLUMNS, KINDS, TIMES, AbsentUser, Deletion, read_deletions

TITLES = {
    "users": ("account was or is unavailable", "accounts were or are unavailable"),
    "relations": ("relation ended", "relations ended"),
    "posts": ("post was deleted or never existed", "posts were deleted or never existed"),
}


class What(StrEnum):
    USERS = "users"
    RELATIONS = "relations"
    POSTS = "posts"


def command(
    place: StoreArgument = None,
    what: Annotated[
        What | None,
        typer.Option("--what", help="Only users, relations or posts; default: all three."),
    ] = None,
    top: Annotated[int, typer.Option("--top", min=0, help="How many of each to show, the latest first.")] = 20,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Write every line of --what to a new .csv, .jsonl or .txt (ids) file.")
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """Show accounts that were unavailable, relations that ended and posts that were deleted. Changes nothing."""
    store = find_store(place)
    if out is not None and what is None:
        raise UserError("--out needs --what.", "Choose users, relations or posts.", code="needs_option")

    async def read() -> dict[str, dict[str, Any]]:
        async with read_store(store, RealClock()) as database:
            return {kind: await _read(database, kind, top, out) for kind in ([what.value] if what else KINDS)}

    parts = asyncio.run(read())
    render({"store": store.shown, "out": out, **parts}, _screen(parts, out), as_json=as_json)


async def _read(database: Database, kind: str, top: int, out: Path | None) -> dict[str, Any]:
    """Count all, of users each account once, and keep the latest."""
    count, absent, latest, last_id = 0, set[str](), list[Deletion](), ""
    time = attrgetter(TIMES[kind])
    with row_file(out, {name: name for name in KINDS[kind].__struct_fields__}) as write:
        async for line in read_deletions(database, kind):
            write(line)
            latest.append(line)
            if len(latest) > 2 * top + 100:
                latest = nlargest(top, latest, key=time)
            if isinstance(line, AbsentUser):
                count, last_id = count + (line.id != last_id), line.id
                if line.until is None:
                    absent.add(line.id)
            else:
                count += 1
    values = {"count": count, "lines": nlargest(top, latest, key=time)}
    return values | ({"absent_now": len(absent)} if kind == "users" else {})


def _screen(parts: dict[str, dict[str, Any]], out: Path | None) -> Iterator[str | Table]:
    for kind, part in parts.items():
        back = part["count"] - part.get("absent_now", part["count"])
        again = f", {back:,} of them available again" if back else ""
        yield Heading(f"{part['count']:,} {TITLES[kind][part['count'] != 1]}{again}")
        if part["lines"]:
            yield Table(part["lines"], COLUMNS[kind])
        yield ""
    if out is not None:
        yield f"All lines are in {out}."
