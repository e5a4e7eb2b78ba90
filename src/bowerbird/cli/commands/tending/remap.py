"""`bowerbird remap`: stored payloads, read again with today's parsers."""

from __future__ import annotations

import asyncio
from datetime import datetime, timedelta

from bowerbird import __version__
from bowerbird.cli.exports.pace import Pace
from bowerbird.cli.screens.amounts import numbers
from bowerbird.cli.screens.output import JsonFlag, Output
from bowerbird.cli.which import NamedStore, StoreArgument, find_store, opened_store
from bowerbird.clock import RealClock
from bowerbird.crawl.process.patience import patiently
from bowerbird.ports import Clock, Database
from bowerbird.providers import remap as read_again
from bowerbird.store.remapping.remapper import Remapper
from bowerbird.store.remapping.runs import Run, begin

_REST = timedelta(milliseconds=10)
"""Between two batches: whoever waits for the database comes first."""


def command(place: StoreArgument = None, as_json: JsonFlag = False) -> None:
    """Read the stored payloads of accounts and posts again with today's parsers, and store what they say now. Nobody is called.

    It works beside running crawls, and goes on after an interruption when it is called again. Counters, times, references and
    what was deleted stay as they are; the history of accounts and posts gets no line.
    """
    output, found = Output(as_json=as_json), find_store(place)
    run = asyncio.run(_remap(found, output))
    changed = f"{numbers.many(run.changed, 'item')} changed" if run.changed else "nothing changed"
    output.line(f"{numbers.many(run.items, 'payload')} read again with the parsers of bowerbird {__version__}; {changed}.")
    if run.fields:
        output.table("", ["field", "changed"], [(name, f"{count:,}") for name, count in run.fields.most_common()])
    if run.unread:
        output.line(f"{run.unread:,} say nothing of their item that may be kept: they were left as they are.")
    figures = {"items": run.items, "changed": run.changed, "unread": run.unread}
    output.result({"store": found.shown, "version": __version__, **figures, "fields": dict(sorted(run.fields.items()))})


async def _remap(place: NamedStore, output: Output) -> Run:
    clock = RealClock()
    async with opened_store(place, clock) as database:
        await database.create_tables()
        run, is_resumed = await begin(database, __version__, clock.now())
        if is_resumed:
            output.progress(f"Going on where it was: {run.items:,} payloads are read, {run.part:.0%}.")
        return await _to_the_end(database, clock, run, output)


async def _to_the_end(database: Database, clock: Clock, run: Run, output: Output) -> Run:
    remapper, pace, before = Remapper(database, clock, read_again), Pace(clock, output), run.items

    def blocked(why: str, now: datetime) -> None:
        output.progress(f"The database is busy ({why}); it is tried again.")

    while not run.is_ended:
        number = run.remap
        run = await patiently(lambda: remapper.step(number), clock, blocked)  # noqa: B023 - called before the next round
        pace.tell(run.items - before, run.part)
        await clock.sleep_until(clock.now() + _REST)
    pace.end()
    return run
