"""`bowerbird worker tokens`: who may work through a coordinator."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Annotated, TypeVar

import typer

from bowerbird.cli.screens.output import JsonFlag, Output
from bowerbird.cli.which import find_store, opened_store
from bowerbird.clock import RealClock
from bowerbird.ports import Transaction
from bowerbird.remote import tokens as rows

T = TypeVar("T")

tokens = typer.Typer(add_completion=False, no_args_is_help=True)

NameArgument = Annotated[str, typer.Argument(metavar="NAME", help="What the worker is called.")]
StoreOption = Annotated[
    str | None,
    typer.Option("--store", metavar="FILE|DATABASE", help="A crawl file or its database; default: crawl.toml, or the one .db."),
]


@tokens.command()
def add(name: NameArgument, store: StoreOption = None, as_json: JsonFlag = False) -> None:
    """Make a token for a worker. It is shown once: only its hash is kept."""
    clock, output = RealClock(), Output(as_json=as_json)
    token = _done(store, clock, lambda tx: rows.add(tx, name, clock.now()))
    output.line(f"The token of the worker {name}, which is shown only now:")
    output.line(token)
    output.line("Put it into a file that only the worker reads: bowerbird worker --coordinator URL --token-file FILE")
    output.result({"name": name, "token": token})


@tokens.command("list")
def list_(store: StoreOption = None, as_json: JsonFlag = False) -> None:
    """List the workers that have a token, and when each was last seen."""
    output = Output(as_json=as_json)
    found = _done(store, RealClock(), rows.listed)
    told = [{"name": each.name, "created": each.created_at, "seen": each.seen_at, "revoked": each.revoked_at} for each in found]
    output.table("", ("name", "created", "last seen", "revoked"), [[_time(value) for value in row.values()] for row in told])
    if not told:
        output.line("No worker has a token yet; make one with: bowerbird worker tokens add NAME")
    output.result({"tokens": told})


@tokens.command()
def revoke(name: NameArgument, store: StoreOption = None, as_json: JsonFlag = False) -> None:
    """Take a worker's token away: within seconds its coordinator no longer knows it."""
    clock, output = RealClock(), Output(as_json=as_json)
    _done(store, clock, lambda tx: rows.revoke(tx, name, clock.now()))
    output.line(f"The token of {name} is revoked.")
    output.result({"revoked": name})


def _done(store: str | None, clock: RealClock, work: Callable[[Transaction], Awaitable[T]]) -> T:
    async def main() -> T:
        async with opened_store(find_store(store), clock) as database, database.transaction() as tx:
            return await work(tx)

    return asyncio.run(main())


def _time(value: object) -> object:
    return f"{value:%Y-%m-%d %H:%M}" if hasattr(value, "year") else value
