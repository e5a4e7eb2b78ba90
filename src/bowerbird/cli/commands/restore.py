"""`bowerbird restore`: a store made of a backup."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Annotated

import typer

from bowerbird.cli.screens.copying import shown
from bowerbird.cli.screens.output import JsonFlag, Output
from bowerbird.clock import RealClock
from bowerbird.db.addresses import public
from bowerbird.db.backup import restore


def command(
    backup: Annotated[Path, typer.Argument(metavar="BACKUP", help="A file that `bowerbird backup` made.")],
    store: Annotated[str, typer.Argument(metavar="STORE", help="A new SQLite file, or postgresql://… of an empty database.")],
    as_json: JsonFlag = False,
) -> None:
    """Make a store of a backup: a new file, or an empty PostgreSQL database. Nothing is ever overwritten."""
    output = Output(as_json=as_json)
    copied = asyncio.run(restore(backup, store, RealClock(), shown(output)))
    output.line(f"Restored {copied.rows:,} rows of {backup} into {public(store)}.")
    output.line("Go on with: bowerbird crawl FILE, where the file's `store` names it.")
    output.result({"backup": backup, "store": public(store), "rows": copied.rows})
