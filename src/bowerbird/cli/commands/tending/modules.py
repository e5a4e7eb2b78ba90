"""`bowerbird modules`: the periodic jobs of a crawl, what their last runs did, and one of them run by hand."""

from __future__ import annotations

import asyncio
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import msgspec
import typer
from msgspec import Struct

from bowerbird.app.modules_by_hand import surroundings_by_hand
from bowerbird.cli.commands.crawling.credentials import VaultOption, open_vault
from bowerbird.cli.module_screens import showing
from bowerbird.cli.screens.output import JsonFlag, Output
from bowerbird.cli.store_addresses import read_plan
from bowerbird.cli.which import (
    CrawlOption,
    NamedStore,
    StoreArgument,
    find_store,
    meant_crawl,
    one_crawl,
    opened_store,
    read_store,
)
from bowerbird.clock import RealClock
from bowerbird.errors import UserError
from bowerbird.flows.language.spelling import meant
from bowerbird.model.subjects.community import Community
from bowerbird.modules.running.found import KnownModules
from bowerbird.modules.running.runner import Ran
from bowerbird.modules.running.runners import runner_by_hand
from bowerbird.modules.running.trust import check_trust
from bowerbird.ports import Messenger
from bowerbird.reports.modules import average, read_history, read_module_states
from bowerbird.reports.place_names import read_names, say
from bowerbird.settings import load_settings
from bowerbird.starting.stored_lanes import stored_flow
from bowerbird.transport.messages import OutsideMessenger

FAILED = 3


class Action(StrEnum):
    """What is done besides listing."""

    LIST = "list"
    RUN = "run"
    RUNS = "runs"
    NAMES = "names"
    CONFIRM = "confirm"
    REFUSE = "refuse"


_OF_A_MODULE = (Action.RUN, Action.RUNS)
_OF_A_NAME = {Action.CONFIRM: "confirmed", Action.REFUSE: "refused"}
"""What a person says of a proposed name of a place."""


class _Asked(Struct, frozen=True, kw_only=True):
    """What a user wants."""

    place: NamedStore
    crawl: str | None
    name: str
    output: Output


def command(
    place: StoreArgument = None,
    action: Annotated[str | None, typer.Argument(metavar="[ACTION]", help=f"{', '.join(Action)}; default: list.")] = None,
    name: Annotated[
        str | None, typer.Argument(metavar="[NAME]", help="For run and runs: the module. For confirm and refuse: a name.")
    ] = None,
    crawl: CrawlOption = None,
    most: Annotated[int, typer.Option("--most", min=1, help="For runs: so many, the newest first.")] = 20,
    who: Annotated[str, typer.Option("--who", help="For confirm and refuse: who says so, for the record.")] = "user",
    vault: VaultOption = None,
    as_json: JsonFlag = False,
) -> None:
    """Show the modules of a crawl: what each does, its last run with counts and errors, and when it runs next.

    `runs NAME` shows the history of one. `run NAME` runs it now, also beside a running crawl; of the processes of a crawl only
    one runs a module at a time. A module that failed exits with 3.

    `names` lists the names of places that the module `place_names` proposes; `confirm NAME` and `refuse NAME` decide.
    """
    place, does, name = _words(place, action, name)
    asked = _Asked(place=find_store(place), crawl=crawl, name=name or "", output=Output(as_json=as_json))
    if does is Action.LIST:
        asked.output.result(asyncio.run(_list(asked)))
    elif does is Action.RUNS:
        asked.output.result(asyncio.run(_runs(asked, most)))
    elif does is Action.NAMES:
        asked.output.result(asyncio.run(_names(asked)))
    elif does in _OF_A_NAME:
        asked.output.result(asyncio.run(_say(asked, _OF_A_NAME[does], who)))
    else:
        messenger = OutsideMessenger(open_vault(load_settings(vault=vault)))
        ran, values = asyncio.run(_run(asked, messenger))
        asked.output.result(values)
        if ran.error:
            raise typer.Exit(FAILED)


def _words(place: str | None, action: str | None, name: str | None) -> tuple[str | None, Action, str | None]:
    """Place, action and module as they are meant: the place may be left out before an action."""
    known = [each.value for each in Action]
    if place in known and name is None and not Path(place).exists():
        place, action, name = None, place, action
    if action is not None and action not in known:
        raise UserError(
            f"{action!r} is nothing that can be done with modules{meant(action, known)}",
            f"there are: {', '.join(known)}",
            code="unknown_name",
        )
    does = Action(action or Action.LIST)
    if does not in (Action.LIST, Action.NAMES) and name is None:
        what = "module" if does in _OF_A_MODULE else "name"
        raise UserError(f"say which {what} is meant: bowerbird modules {place or 'FILE'} {does} NAME", code="ambiguous")
    if does in (Action.LIST, Action.NAMES) and name is not None:
        raise UserError(
            f"{does} takes no name; the history of a module: bowerbird modules {place or 'FILE'} runs {name}", code="unsupported"
        )
    modules = KnownModules()
    if does in _OF_A_MODULE and name not in modules:
        raise UserError(
            f"there is no module {name!r}{meant(name or '', modules)}", f"there are: {', '.join(modules)}", code="unknown_module"
        )
    return place, does, name


async def _list(asked: _Asked) -> dict[str, Any]:
    async with read_store(asked.place, clock := RealClock()) as database:
        crawl = await meant_crawl(database, asked.place, asked.crawl)
        async with database.reading() as tx:
            found = await read_module_states(tx, KnownModules(), crawl)
    showing.show_states(asked.output, found, clock.now())
    return {"store": asked.place.shown, "modules": [showing.state_values(each) for each in found]}


async def _runs(asked: _Asked, most: int) -> dict[str, Any]:
    async with read_store(asked.place, clock := RealClock()) as database:
        crawl = (await one_crawl(database, asked.place, asked.crawl))[1]
        async with database.reading() as tx:
            found = await read_history(tx, crawl, asked.name, most)
    showing.show_runs(asked.output, asked.name, found, clock.now())
    values = {"crawl": crawl, "module": asked.name, "runs": [showing.run_values(each) for each in found]}
    return {**values, "average": showing.average_values(average(found))}


def _community(place: NamedStore) -> Community | None:
    """Whom the crawl is about, where its file is named and says it."""
    return None if place.file is None else read_plan(Path(place.file), may_lack_seeds=True).community


async def _names(asked: _Asked) -> dict[str, Any]:
    async with read_store(asked.place, RealClock()) as database:
        crawl = (await one_crawl(database, asked.place, asked.crawl))[1]
        async with database.reading() as tx:
            found = await read_names(tx, (await stored_flow(tx, crawl))[0])
    showing.show_names(asked.output, found)
    return {"crawl": crawl, "names": msgspec.to_builtins(found)}


async def _say(asked: _Asked, said: str, who: str) -> dict[str, Any]:
    clock = RealClock()
    async with opened_store(asked.place, clock) as database:
        crawl = (await one_crawl(database, asked.place, asked.crawl))[1]
        async with database.transaction() as tx:
            await say(tx, (await stored_flow(tx, crawl))[0], asked.name, said, who, clock.now())
    asked.output.line(f"{asked.name} is {said}.")
    return {"crawl": crawl, "name": asked.name, "said": said, "who": who}


async def _run(asked: _Asked, messenger: Messenger) -> tuple[Ran, dict[str, Any]]:
    clock = RealClock()
    async with opened_store(asked.place, clock) as database:
        crawl = (await one_crawl(database, asked.place, asked.crawl))[1]
        async with surroundings_by_hand(database, crawl, clock, messenger, _community(asked.place)) as (flow, around):
            check_trust(asked.name, flow, has_file=asked.place.file is not None)
            ran = await runner_by_hand(asked.name, flow, around).by_hand()
    showing.show_ran(asked.output, asked.name, ran)
    return ran, {"crawl": crawl, "module": asked.name, "counts": ran.counts, "error": ran.error, "took": ran.took}
