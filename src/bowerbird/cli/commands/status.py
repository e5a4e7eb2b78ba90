"""`bowerbird status`: says how a crawl stands, while it runs and afterwards."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
from msgspec import structs

from bowerbird.cli.next.again import vaults_of
from bowerbird.cli.next.reading import steps_of
from bowerbird.cli.screens.money import month_values, spent_values
from bowerbird.cli.screens.output import JsonFlag, Output
from bowerbird.cli.screens.sample_page import figure_values
from bowerbird.cli.screens.status_page import Standing, show_standing
from bowerbird.cli.which import Place, PlaceArgument, crawl_of_file, find_place, read_place
from bowerbird.clock import RealClock
from bowerbird.crawl.life import registry
from bowerbird.crawl.life.not_asked import read_left_out
from bowerbird.crawl.process.running import Member, living
from bowerbird.export.sample import read_samples
from bowerbird.limits.purses import is_purse, purses
from bowerbird.limits.rows import read_all
from bowerbird.ports import Clock
from bowerbird.reports.health import Refusal, read_standing
from bowerbird.reports.reader import Reader
from bowerbird.reports.streams import read_gaps, read_streams


def command(place: PlaceArgument = None, as_json: JsonFlag = False) -> None:
    """Say how a crawl stands: its state and processes, what is stored, what waits, limits, errors. Changes nothing.

    Counts of large tables are estimates and carry a ~.
    """
    output = Output(as_json=as_json)
    found = find_place(place)
    standing = asyncio.run(read_status(found, RealClock()))
    show_standing(output, found, standing)
    output.result(status_values(found, standing))


async def read_status(place: Place, clock: Clock) -> Standing:
    """Everything that the database of a place tells."""
    async with read_place(place, clock) as database:
        async with database.reading() as tx:
            crew = await living(tx, None, clock.now())
        summary = await Reader(database).summary(errors=5)
        more = await read_standing(database)
        async with database.reading() as tx:
            more = structs.replace(more, refusals=_still_there(more.refusals, await vaults_of(tx)))
            streams, gaps = await read_streams(tx), await read_gaps(tx)
            left_alone = await registry.left_alone(tx)
            left_out = tuple(await read_left_out(tx))
            found = purses(await read_all(tx), clock.now())
        samples = tuple(await read_samples(database, await crawl_of_file(database, place)))
        steps = await steps_of(database, place, clock.now())
        return Standing(
            now=clock.now(),
            crew=tuple(crew),
            summary=summary,
            more=more,
            streams=streams,
            gaps=gaps,
            purses=found,
            samples=samples,
            left_alone=left_alone,
            steps=steps,
            left_out=left_out,
        )


def _still_there(refusals: tuple[Refusal, ...], vaults: list[str]) -> tuple[Refusal, ...]:
    """The refused credentials that somebody may want to renew: not those that are no longer in the vault."""
    if not refusals:
        return ()
    from bowerbird.cli.keys.vaults import names_taken

    names = names_taken(vaults)
    return refusals if names is None else tuple(each for each in refusals if each.credential in names)


def status_values(place: Place, standing: Standing) -> dict[str, Any]:
    """The same for machines."""
    summary: dict[str, Any] = msgspec.to_builtins(standing.summary)
    for crawl in summary["crawls"]:
        crawl["flow"] = msgspec.json.decode(crawl["flow"])["name"]
        crawl |= spent_values(standing.purses, crawl["name"])
        crawl |= standing.steps[crawl["name"]].values()
        crawl["seeds_left_alone"] = standing.left_alone.get(crawl["crawl"], 0)
    summary["ledgers"] = [each for each in summary["ledgers"] if not is_purse(each["bucket"])]
    summary["months"] = month_values(standing.purses)
    more: dict[str, Any] = msgspec.to_builtins(standing.more)
    crew: list[Member] = msgspec.to_builtins(standing.crew)
    heard = {"streams": msgspec.to_builtins(standing.streams), "gaps": msgspec.to_builtins(standing.gaps)}
    samples = [figure_values(sample) for sample in standing.samples]
    heard["left_out"] = msgspec.to_builtins(standing.left_out)
    return {"store": place.shown, "at": standing.now, "processes": crew, **summary, **more, **heard, "samples": samples}
