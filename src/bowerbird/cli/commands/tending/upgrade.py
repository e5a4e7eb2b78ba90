"""`bowerbird upgrade`: brings the store of an older bowerbird up to date."""

from __future__ import annotations

import asyncio

from bowerbird.cli.screens.copying import shown
from bowerbird.cli.screens.output import JsonFlag, Output
from bowerbird.cli.which import NamedStore, StoreArgument, find_store, opened_as_is
from bowerbird.clock import RealClock
from bowerbird.crawl.process.workers.running import living
from bowerbird.db.versions import newest
from bowerbird.errors import UserError
from bowerbird.store.payloads.repacking import Said, repack


def command(place: StoreArgument = None, as_json: JsonFlag = False) -> None:
    """Bring the store of an older bowerbird up to date, so that every command can read it. Nothing is called and nothing lost.

    Crawls that run on it must be stopped first. A store that is up to date is left as it is.
    """
    output, found = Output(as_json=as_json), find_store(place)
    before = asyncio.run(_upgrade(found, shown(output)))
    if before >= newest():
        output.line(f"{found.shown} is of version {before} already: nothing to do.")
    else:
        output.line(f"{found.shown} was of version {before} and is of version {newest()} now.")
    output.result({"store": found.shown, "from": before, "to": max(before, newest())})


async def _upgrade(place: NamedStore, said: Said) -> int:
    clock = RealClock()
    async with opened_as_is(place, clock) as (database, version):
        if version < newest():
            async with database.reading() as tx:
                workers = await living(tx, None, clock.now())
            if workers:
                raise UserError(
                    f"the crawl {workers[0].crawl} is running on {place.shown}: process {workers[0].pid} on {workers[0].host}. "
                    f"Stop it first with `bowerbird stop {place.file or place.shown}`"
                )
        # Also where there is nothing to do: a store of a newer bowerbird is refused there.
        await database.migrate()
        await repack(database, clock, said)
        return version
