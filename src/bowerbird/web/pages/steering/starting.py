"""Crawls started from here: each as a process of its own, with what it says in a file that the page shows."""

from __future__ import annotations

import asyncio
from pathlib import Path

from msgspec import Struct, structs
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from bowerbird.crawl.life.controls import ControlState, check_unchanged
from bowerbird.crawl.process.workers.running import living, running_already
from bowerbird.db.addresses import in_vault
from bowerbird.db.moment import one_moment
from bowerbird.errors import Failure, UserError
from bowerbird.flows.files.crawl_file import CrawlPlan, read_crawl_file
from bowerbird.model.money import in_dollars
from bowerbird.ports import Database
from bowerbird.reports.consent import Wish, may_spend, read_agreed, wish_of
from bowerbird.reports.rerun import UNKNOWN, RerunCommand, read_rerun_commands
from bowerbird.reports.status.steered import read_steered
from bowerbird.steering.files import NAME
from bowerbird.vocabulary import vocabulary
from bowerbird.web.errors import NotFound
from bowerbird.web.formats import in_path
from bowerbird.web.pages.steering.desk import Desk, text
from bowerbird.web.security import Form, Role

_NO_FILE = Failure("file_not_found", "its crawl file is not on this machine", "start it where the file is")


class Start(Struct, frozen=True, kw_only=True):
    """What starting a crawl would run, and what must be agreed to first."""

    name: str
    command: RerunCommand
    plan: CrawlPlan | None = None
    problem: Failure | None = None
    wish: Wish | None = None
    """What nobody has agreed to yet that it may spend."""
    may: str = ""
    is_ours: bool = False
    """Whether its file was made here."""

    @property
    def dollars(self) -> str:
        """What must be typed to agree: the most that it may spend in a month."""
        return "" if self.wish is None else in_dollars(self.wish.a_month).removeprefix("$").replace(",", "")

    @property
    def words(self) -> list[str]:
        """Of the command line. Quiet: a crawl of months would fill a file with how it stands, which pages show."""
        return self.command.words("--quiet")


async def start_of(desk: Desk, name: str) -> Start:
    """How a crawl would be started: with the file that was made here, or the one that it was run with last."""
    return await _started(desk, name, await _read_last(desk.site.database, name))


async def _read_last(database: Database, name: str) -> tuple[RerunCommand, Wish | None]:
    """How a crawl was run last, and what it may spend by now."""
    async with database.reading() as tx:
        return (await read_rerun_commands(tx)).get(name, RerunCommand()), await read_agreed(tx, name)


async def _started(desk: Desk, name: str, last: tuple[RerunCommand, Wish | None]) -> Start:
    (command, agreed), is_ours = last, name in desk.made()
    # By name: the same seeds under another name are another crawl here, and no file that was renamed.
    if is_ours:
        command = RerunCommand(file=str(desk.files.path(name)), name=name, skips_bad=True)
    return await asyncio.to_thread(_start, desk, Start(name=name, command=command, is_ours=is_ours), agreed)


def _start(desk: Desk, start: Start, agreed: Wish | None) -> Start:
    command = start.command
    if command.file == UNKNOWN or not Path(command.file).is_file():
        return structs.replace(start, problem=_NO_FILE)
    try:
        plan = read_crawl_file(Path(command.file), vocabulary(), command.seeds, command.name, may_lack_seeds=True)
    except UserError as error:
        return structs.replace(start, problem=error.failure)
    wish = wish_of(plan)
    start = structs.replace(start, plan=plan, problem=_elsewhere(desk, plan))
    is_agreed = wish is None or (agreed is not None and wish.is_within(agreed))
    return start if is_agreed else structs.replace(start, wish=wish, may=may_spend(plan))


def _elsewhere(desk: Desk, plan: CrawlPlan) -> Failure | None:
    """Why a file is not for this store; None: it is."""
    if in_vault(plan.store) is not None or "://" in plan.store or "://" in desk.site.store:
        return None
    is_here = Path(plan.store).resolve() == Path(desk.site.store).resolve()
    return None if is_here else Failure("other_store", "its crawl file names another store now")


def routes(desk: Desk) -> list[BaseRoute]:
    site = desk.site

    async def page(request: Request) -> Response:
        async with one_moment(site.database) as still:
            crawls = {one.crawl.name: one for one in await read_steered(still, site.clock.now())}
            name = desk.known(request.path_params["name"], crawls)
            last = await _read_last(still, name)
        each = crawls.get(name)
        return desk.page(
            request, "start.html", name, start=await _started(desk, name, last), log=_log(desk, name),
            is_running=each is not None and each.is_running, is_starting=desk.processes.is_running(name), each=each,
            control=ControlState(None, None) if each is None else ControlState(each.crawl.state, each.crawl.wanted),
        )  # fmt: skip

    async def start(request: Request, form: Form) -> Response:
        name = await desk.named(text(form, "crawl"))
        found = await start_of(desk, name)
        agreed = agreement(found, text(form, "dollars"))
        follows = bool(form.get("apply")) or found.is_ours

        async def do() -> int:
            await _check(desk, name, ControlState.told(text(form, "state"), text(form, "wanted")))
            return run(desk, found, (*agreed, *(("--apply",) if follows else ())))

        number = await site.act(request, "start", name, do)
        return desk.back(f"/steering/crawls/{in_path(name)}", f"{name} is started as process {number}.")

    async def log(argument: str) -> str:
        return site.fragment("steering/log.html", log=_log(desk, argument), code=desk.processes.code(argument))

    site.live.add("log", log)
    return [
        Route("/steering/crawls/{name}", page),
        Route("/steering/start", site.acting(Role.STEER, start), methods=["POST"]),
    ]


def agreement(found: Start, typed: str) -> tuple[str, ...]:
    """The words that agree to what a crawl may spend; raises `UserError` where that was not typed."""
    if found.problem:
        why = found.problem
        raise UserError(f"{found.name} cannot be started: {why.problem}", why.advice, code=why.code)
    if found.wish is None:
        return ()
    try:
        is_agreed = round(float(typed.removeprefix("$").replace(",", "")) * 1000) == found.wish.a_month
    except ValueError:
        is_agreed = False
    if not is_agreed:
        raise UserError(f"{found.name} costs money: {found.may}.", f"Agree by typing {found.dollars}", code="needs_agreement")
    return ("--yes",)


def run(desk: Desk, found: Start, more: tuple[str, ...] = ()) -> int:
    """Starts the process of a crawl; answers its number."""
    words = [*found.words, *more]
    return desk.processes.crawl(found.name, words, desk.files.path(_file_name(found.name), ".log"))


async def _check(desk: Desk, name: str, seen: ControlState) -> None:
    now = desk.site.clock.now()
    async with desk.site.database.reading() as tx:
        members = await living(tx, name, now)
        if members:
            raise running_already(name, members[0], now)
        if seen.state:
            await check_unchanged(tx, name, None, seen)


def _file_name(name: str) -> str:
    """What the log of a crawl is called: crawls of the command line have freer names than files made here."""
    if NAME.fullmatch(name):
        return name
    plain = "".join(mark if mark.isascii() and mark.isalnum() else "-" for mark in name.lower()).strip("-")[:38]
    if not NAME.fullmatch(plain):
        raise NotFound(f"no process of {name!r:.60} was started here", code="unknown_crawl")
    return plain


def _log(desk: Desk, name: str) -> str:
    try:
        return desk.files.log(_file_name(name))
    except UserError:
        return ""
