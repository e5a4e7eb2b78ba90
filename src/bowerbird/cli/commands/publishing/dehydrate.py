"""`bowerbird dehydrate`: the ids of the stored posts, which may be passed on where their content may not."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Annotated

import typer

from bowerbird.cli.screens.amounts import numbers
from bowerbird.cli.screens.line_files import LineFile
from bowerbird.cli.screens.output import JsonFlag, Output
from bowerbird.cli.which import NamedStore, StoreArgument, find_store, read_store
from bowerbird.clock import RealClock
from bowerbird.errors import UserError
from bowerbird.model import Service
from bowerbird.ports import Database
from bowerbird.reports.browsing.post_ids import PostIds, read_post_ids
from bowerbird.reports.crawls import read_known_services

_REASONS = {
    "deleted": "deleted",
    "opted_out": "of accounts that asked not to be collected",
    "not_by_id": "that the service cannot be asked for by id",
    "unreal": "whose id cannot be real",
}


def command(
    place: StoreArgument = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="A new .txt (one id a line), .csv or .jsonl file; default: standard output."),
    ] = None,
    service: Annotated[
        str | None, typer.Option("--service", metavar="NAME", help="Whose ids, where the store knows several services.")
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """Write the ids of the stored posts, as `hydrate` reads them; deleted ones and those of accounts that opted out are left out.

    The way back: a crawl file with flow = "hydrate" and seeds.file = "ids.txt".
    """
    output, found = Output(as_json=as_json), find_store(place)
    if out is None and as_json:
        raise UserError("name a file with --out: standard output cannot hold both the ids and the JSON", code="needs_option")
    posts, name = asyncio.run(_write(found, service, out))
    count, left = posts.ids, {why: getattr(posts, why) for why in _REASONS}
    if out is not None:
        output.line(f"{numbers.many(count, 'id')} of posts on {name} {'is' if count == 1 else 'are'} in {out}.")
        if any(left.values()):
            reasons = ", ".join(f"{number:,} {_REASONS[why]}" for why, number in left.items() if number)
            output.line(f"{numbers.many(sum(left.values()), 'stored post')} left out: {reasons}.")
        output.line(_way_back(out))
    output.result({"store": found.shown, "service": name, "ids": count, "left_out": left, "out": out})


def _way_back(out: Path) -> str:
    """How the ids become posts again, as the crawl file must say it."""
    if out.suffix == ".jsonl":
        return "To hydrate them write them as .txt or .csv: seeds are not read from .jsonl."
    seeds = f'seeds.file = "{out}"' + (' and seeds.column = "id"' if out.suffix == ".csv" else "")
    return f'Hydrate them with a crawl file that says: flow = "hydrate", {seeds}'


async def _write(place: NamedStore, service: str | None, out: Path | None) -> tuple[PostIds, str]:
    async with read_store(place, RealClock()) as database:
        asked = await _service(database, service)
        file = LineFile(out, ("id",)) if out is not None else None
        counted = PostIds()
        async for ids in read_post_ids(database, asked, counted):
            if file is None:
                sys.stdout.write("".join(f"{each}\n" for each in ids))
            else:
                file.write_all({"id": each} for each in ids)
        if file is not None:
            file.close()
        return counted, asked.name


async def _service(database: Database, name: str | None) -> Service:
    async with database.reading() as tx:
        known = {each.service.name: each.service for each in await read_known_services(tx)}
    if name is None and len(known) == 1:
        return next(iter(known.values()))
    if name not in known:
        there = ", ".join(known) or "none"
        raise UserError(f"say with --service whose ids are meant: the store knows {there}", code="needs_option")
    return known[name]
