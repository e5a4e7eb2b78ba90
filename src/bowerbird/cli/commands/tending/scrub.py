"""`bowerbird scrub`: a store whose files hold nothing that was deleted."""

from __future__ import annotations

import asyncio
from typing import Annotated

import typer
from msgspec import Struct

from bowerbird.cli.screens.amounts import numbers
from bowerbird.cli.screens.copying import shown
from bowerbird.cli.screens.output import JsonFlag, Output
from bowerbird.cli.which import NamedStore, StoreArgument, find_store, opened_store
from bowerbird.clock import RealClock, to_micros
from bowerbird.crawl.process.workers.running import living
from bowerbird.db.files.rewriting import rewrite
from bowerbird.errors import UserError
from bowerbird.ports import Clock
from bowerbird.reports.status.health import read_size
from bowerbird.store.absences.forgetting import Forgotten, Said, forget_as_in
from bowerbird.store.intake.quarantine import forget_old


class _Scrubbed(Struct, frozen=True):
    """What was done: bytes before and after, and what another store knew to be deleted."""

    before: int
    after: int
    forgotten: Forgotten


def command(
    place: StoreArgument = None,
    like: Annotated[
        str | None,
        typer.Option("--like", metavar="STORE", help="Also delete here what this store knows to be deleted: for older backups."),
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """Rewrite a store, or a backup, so that nothing that was deleted is left in its files. No crawl may run on it meanwhile.

    Content leaves the tables when its deletion is learned; this removes the last copies that databases leave in unused places.
    """
    output, found = Output(as_json=as_json), find_store(place)
    done = asyncio.run(_scrub(found, find_store(like) if like else None, shown(output)))
    forgotten = done.forgotten
    if like:
        output.line(
            f"{numbers.many(forgotten.users, 'account')} and {numbers.many(forgotten.posts, 'post')} deleted since were emptied."
        )
    output.line(f"{found.shown} was rewritten: {done.before / 1e6:,.1f} MB before, {done.after / 1e6:,.1f} MB now.")
    sizes = {"bytes_before": done.before, "bytes": done.after}
    output.result({"store": found.shown, **sizes, "users": forgotten.users, "posts": forgotten.posts})


async def _scrub(place: NamedStore, like: NamedStore | None, said: Said) -> _Scrubbed:
    clock, forgotten = RealClock(), Forgotten()
    async with opened_store(place, clock) as database:
        async with database.reading() as tx:
            workers = await living(tx, None, clock.now())
            before = await read_size(tx, database)
        if workers:
            raise UserError(
                f"the crawl {workers[0].crawl} is running on {place.shown}: process {workers[0].pid} on {workers[0].host}.",
                f"Stop it first with `bowerbird stop {place.file or place.shown}`",
                code="already_running",
            )
        if like is not None:
            async with opened_store(like, clock) as known:
                forgotten = await forget_as_in(known, database, clock, said)
        async with database.transaction() as tx:
            await forget_old(tx, to_micros(clock.now()))
    await rewrite(place.store, clock)
    return _Scrubbed(before, await _size(place, clock), forgotten)


async def _size(place: NamedStore, clock: Clock) -> int:
    async with opened_store(place, clock) as database, database.reading() as tx:
        return await read_size(tx, database)
