"""`bowerbird backup`: a consistent copy of a store, also while its crawl is running."""

from __future__ import annotations

import asyncio
from datetime import datetime
from pathlib import Path
from typing import Annotated

import typer

from bowerbird.cli.screens.copying import shown
from bowerbird.cli.screens.output import JsonFlag, Output
from bowerbird.cli.which import PlaceArgument, find_place
from bowerbird.clock import RealClock
from bowerbird.db.backup import back_up


def command(
    place: PlaceArgument = None,
    target: Annotated[
        Path | None, typer.Argument(metavar="[OUTFILE]", help="Where to; default: beside it, with the time in its name.")
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """Copy a store into one SQLite file, as of one moment, while the crawl goes on.

    The copy is checked before it gets its name. It is a store like any other: `bowerbird status COPY` reads it.
    """
    found, clock, output = find_place(place), RealClock(), Output(as_json=as_json)
    target = target or backup_name(found.store, clock.now())
    copied = asyncio.run(back_up(found.store, target, clock, shown(output)))
    output.line(f"Copied {found.shown} to {target}: {copied.rows:,} rows, {copied.size / 1e6:,.1f} MB, checked.")
    output.line(f"Make a store of it with: bowerbird restore {target} NEW.db")
    output.result({"backup": target, "rows": copied.rows, "bytes": copied.size})


def backup_name(store: str, now: datetime) -> Path:
    """A name beside the store, or in this folder for a database on a server."""
    path = Path("bowerbird.db") if "://" in store else Path(store)
    return path.with_name(f"{path.stem}-{now:%Y%m%d-%H%M%S}.backup.db")
