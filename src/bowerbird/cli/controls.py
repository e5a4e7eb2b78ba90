"""What `pause`, `resume` and `stop` share: say what is wanted, wait for the process to follow, tell what happened."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Annotated

import typer
from msgspec import Struct

from bowerbird.cli.hints import continue_line, read_continue_commands
from bowerbird.cli.screens.output import Output
from bowerbird.cli.which import NamedStore, find_store, likely_crawls, meant_crawl, opened_store
from bowerbird.clock import RealClock
from bowerbird.crawl.life import controls
from bowerbird.crawl.process.workers.running import Member, living
from bowerbird.errors import UserError
from bowerbird.model import CrawlState
from bowerbird.ports import Clock, Database
from bowerbird.reports.reader import Reader
from bowerbird.reports.status.summary import CrawlReport

_PATIENCE = timedelta(seconds=8)
_GLANCE = timedelta(milliseconds=200)
NOBODY = 1


FacetOption = Annotated[str | None, typer.Option("--facet", metavar="FACET", help="Only what is asked for this, by all workers.")]
WorkerOption = Annotated[
    str | None, typer.Option("--worker", metavar="NAME", help="Only the worker of this name; see `bowerbird worker list`.")
]


def part_of(facet: str | None, worker: str | None) -> controls.Part | None:
    """The part that is meant on the command line; None: the whole crawl."""
    if facet and worker:
        raise UserError("say --facet or --worker, not both: each is a wish of its own", code="conflicting_options")
    if facet:
        return controls.Part(controls.Kind.FACET, facet)
    return controls.Part(controls.Kind.WORKER, worker) if worker else None


class Control(Struct, frozen=True):
    """One wish: the state wanted, and its words."""

    wanted: CrawlState
    verb: str
    done: str
    part: controls.Part | None = None
    """None: it is about the whole crawl."""


class Outcome(Struct, frozen=True):
    """What came of a wish."""

    crawl: CrawlReport
    workers: tuple[Member, ...]
    """The processes it was addressed to."""
    is_followed: bool
    command: str | None = None
    """What continues the crawl; None if a process runs it, or it is complete."""


def control(wish: Control, place: str | None, name: str | None, output: Output) -> None:
    """Carries out a wish and says what happened; ends with exit code 1 where no process could hear it."""
    found = find_store(place)
    if wish.part is not None:
        shown, is_new = asyncio.run(_carry_out_in_part(wish, wish.part, found, name))
        heeded = "its processes heed it within seconds" if is_new else "that was so already, and nothing was done"
        output.line(f"{wish.part.shown} of {shown} {wish.done}; {heeded}.")
        output.result({"crawl": shown, wish.part.kind: wish.part.name, "wanted": wish.wanted, "is_new": is_new})
        return
    outcome = asyncio.run(_carry_out(wish, found, name))
    output.line(_told(wish, outcome, found))
    crawl = outcome.crawl
    output.result(
        {
            "crawl": crawl.name,
            "state": crawl.state,
            "wanted": crawl.wanted,
            "is_followed": outcome.is_followed,
            "processes": len(outcome.workers),
        }
    )
    # Stopping what does not run leaves nothing to wish for.
    if not outcome.workers and wish.wanted != CrawlState.STOPPED:
        raise typer.Exit(NOBODY)


async def _carry_out(wish: Control, place: NamedStore, name: str | None) -> Outcome:
    clock = RealClock()
    async with opened_store(place, clock) as database:
        crawl = _chosen(await Reader(database).crawls(), await meant_crawl(database, place, name), place)
        async with database.reading() as tx:
            workers = await living(tx, crawl.name, clock.now())
        if not workers:
            return Outcome(crawl, (), False, await _continue_command(database, place, crawl))
        async with database.transaction() as tx:
            await controls.ask_for(tx, crawl.name, None, wish.wanted, clock.now())
        crawl = await _followed(database, clock, crawl, wish.wanted)
        is_over = crawl.state not in (CrawlState.RUNNING, CrawlState.PAUSED)
        command = await _continue_command(database, place, crawl) if is_over else None
        return Outcome(crawl, tuple(workers), _has_followed(crawl, wish.wanted), command)


async def _carry_out_in_part(wish: Control, part: controls.Part, place: NamedStore, name: str | None) -> tuple[str, bool]:
    """Writes down what is wanted of a facet or a worker; answers the name of the crawl, and whether that is new."""
    clock = RealClock()
    async with opened_store(place, clock) as database:
        crawl = _chosen(await Reader(database).crawls(), await meant_crawl(database, place, name), place)
        async with database.transaction() as tx:
            before = await controls.control_state(tx, crawl.name, part)
            await controls.ask_for(tx, crawl.name, part, wish.wanted, clock.now())
    return crawl.name, before is None or before.wanted != wish.wanted


async def _continue_command(database: Database, place: NamedStore, crawl: CrawlReport) -> str | None:
    async with database.reading() as tx:
        return (await read_continue_commands(tx, place, [crawl])).get(crawl.name)


async def _followed(database: Database, clock: Clock, crawl: CrawlReport, wanted: str) -> CrawlReport:
    """The crawl once its process has done what was asked, or after a while."""
    give_up = clock.now() + _PATIENCE
    reader = Reader(database)
    while not _has_followed(crawl, wanted) and clock.now() < give_up:
        await clock.sleep_until(clock.now() + _GLANCE)
        crawl = await reader.crawl(crawl.name) or crawl
    return crawl


def _has_followed(crawl: CrawlReport, wanted: str) -> bool:
    # A crawl that ended by itself meanwhile is as stopped as can be.
    is_over = wanted == CrawlState.STOPPED and crawl.state in (CrawlState.FINISHED, CrawlState.FAILED)
    return crawl.wanted == wanted and (crawl.state == wanted or is_over)


def _chosen(crawls: tuple[CrawlReport, ...], name: str | None, place: NamedStore) -> CrawlReport:
    if name is not None:
        return next(crawl for crawl in crawls if crawl.name == name)
    likely = likely_crawls([crawl.name for crawl in crawls])
    if len(likely) != 1:
        there = ", ".join(likely) or "none"
        raise UserError(f"{place.shown} holds {len(likely)} crawls ({there})", "say which with --crawl NAME", code="ambiguous")
    return next(crawl for crawl in crawls if crawl.name == likely[0])


def _told(wish: Control, outcome: Outcome, place: NamedStore) -> str:
    crawl = outcome.crawl
    if not outcome.workers:
        return f"No process runs {crawl.name} (it is {_at_rest(crawl)}), so there is nothing to {wish.verb}.{_next(outcome)}"
    if not outcome.is_followed:
        return f"Asked {crawl.name} to {wish.verb}; its process finishes what is in flight first. Look with: bowerbird status"
    if wish.wanted == CrawlState.STOPPED:
        by_itself = "" if crawl.state == CrawlState.STOPPED else " by itself"
        return f"{crawl.name} has {crawl.state}{by_itself}.{_next(outcome)}"
    return f"{crawl.name} {wish.done}."


def _next(outcome: Outcome) -> str:
    return "" if outcome.command is None else f" {continue_line(outcome.command)}"


def _at_rest(crawl: CrawlReport) -> str:
    return "cut off, but nothing is lost" if crawl.state in (CrawlState.RUNNING, CrawlState.PAUSED) else crawl.state
