"""`bowerbird worker`: work on a crawl that others have begun, with its database or through a coordinator."""

from __future__ import annotations

import asyncio
import os
import socket
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Any

import typer
from msgspec import structs
from typer.core import TyperGroup

from bowerbird.app import Outside, Participation, open_crawl
from bowerbird.cli.checks.consent import check_consent
from bowerbird.cli.commands.crawling.credentials import VaultOption, open_vault
from bowerbird.cli.commands.crawling.serve import StoreOption
from bowerbird.cli.fleet.listing import who_works
from bowerbird.cli.fleet.offering import Offering
from bowerbird.cli.fleet.plans import named_plan, planned_in
from bowerbird.cli.fleet.token_commands import tokens
from bowerbird.cli.fleet.working import work_for
from bowerbird.cli.live.report import report_values
from bowerbird.cli.live.run import Run, run_shown
from bowerbird.cli.live.view import View
from bowerbird.cli.live.views import chosen_view
from bowerbird.cli.screens.output import JsonFlag, Output
from bowerbird.cli.which import CrawlOption, StoreArgument, find_store
from bowerbird.clock import RealClock
from bowerbird.crawl.life.plan_versions import OUTDATED
from bowerbird.crawl.process.restarts import AWAY, keep_running
from bowerbird.errors import Busy, DiskFull, UserError
from bowerbird.model import CrawlState
from bowerbird.remote.worker.link import Address
from bowerbird.settings import Settings, load_settings
from bowerbird.transport import HttpTransport

FAILED = 3
INTERRUPTED = 130
_CALLS = 8
_COMMANDS = ("run", "list", "tokens")


class _Group(TyperGroup):
    """`bowerbird worker CRAWL` is `bowerbird worker run CRAWL`: what is no other command names a crawl, or is an option."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        asks_for_help = any(each in ("-h", "--help") for each in args)
        is_named = bool(args) and args[0] in _COMMANDS
        return super().parse_args(ctx, args if is_named or not args or asks_for_help else ["run", *args])


app = typer.Typer(cls=_Group, add_completion=False, no_args_is_help=True)
app.add_typer(tokens, name="tokens", help="The tokens with which workers show who they are to a coordinator.")


@app.callback()
def _root() -> None:
    """Work on a crawl that others have begun: with its database, or through a coordinator, which needs none."""


@app.command()
def run(
    crawl: Annotated[str | None, typer.Argument(metavar="[CRAWL]", help="Which crawl, where there are several.")] = None,
    store: StoreOption = None,
    coordinator: Annotated[
        str | None, typer.Option("--coordinator", metavar="URL", help="Where `bowerbird serve` runs: no database is needed then.")
    ] = None,
    token: Annotated[
        str | None,
        typer.Option("--token", help="What tells the coordinator who asks; also BOWERBIRD_WORKER_TOKEN, not to be seen by `ps`."),
    ] = None,
    token_file: Annotated[Path | None, typer.Option("--token-file", metavar="FILE", help="A file that holds the token.")] = None,
    ca: Annotated[
        Path | None, typer.Option("--ca", metavar="FILE", help="Certificates to trust, instead of the system's.")
    ] = None,
    plain: Annotated[bool, typer.Option("--plain", help="Go to another machine without TLS.")] = False,
    name: Annotated[
        str | None, typer.Option("--name", metavar="NAME", help="What to call this worker; through a coordinator its token says.")
    ] = None,
    calls: Annotated[int, typer.Option("--at-once", min=1, max=256, help="Calls in flight at once.")] = _CALLS,
    facets: Annotated[
        list[str] | None, typer.Option("--facet", metavar="FACET", help="Ask for this alone; may be given several times.")
    ] = None,
    credentials: Annotated[
        list[str] | None,
        typer.Option("--credential", metavar="NAME", help="Offer this one of the vault alone; may be given several times."),
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Show no progress, only the end.")] = False,
    vault: VaultOption = None,
    as_json: JsonFlag = False,
) -> None:
    """Work on a crawl that others have begun: `bowerbird worker --store URL CRAWL`, or `bowerbird worker --coordinator URL`.

    With the database it follows the plan that is kept there and needs no crawl file. Through a coordinator it needs no database
    either: it makes the calls, with the secrets of its own vault, which never leave it. Exit codes: 0 finished or stopped as
    asked, 2 something you can change, 3 failed, 130 after Ctrl-C.
    """
    if (store is None) == (coordinator is None):
        raise UserError("say for whom to work: --store DATABASE, or --coordinator URL with a token", code="needs_option")
    settings, output = load_settings(vault=vault), Output(as_json=as_json)
    opened = Offering(open_vault(settings), tuple(credentials or ()))
    if coordinator is None:
        if facets:
            raise UserError("--facet is for workers of a coordinator: with the database all facets of the crawl are asked")
        view = chosen_view(as_json=as_json, is_quiet=quiet)
        outside_of = (settings, opened, name or f"{socket.gethostname()}-{os.getpid()}")
        ran = asyncio.run(_beside(crawl, str(store), outside_of, calls, view))
        output.line(f"This worker has {ran.ending.state}: {ran.ending.reason}.")
        output.result(report_values(ran))
        raise typer.Exit(INTERRUPTED if ran.was_interrupted else FAILED if ran.ending.state == CrawlState.FAILED else 0)
    if crawl is not None:
        raise UserError("a coordinator serves one crawl", "leave its name out", code="conflicting_options")
    address = Address(base=coordinator, token=_token(token, token_file, settings), authority=ca, may_be_plain=plain)
    said = Output(as_json=as_json) if not quiet else Output(as_json=True)
    ended = asyncio.run(work_for(address, opened, RealClock(), said, (calls, frozenset(facets or ()))))
    ending = ended.ending
    output.line(f"This worker has {ending.state}: {ending.reason}.")
    output.result({"state": ending.state, "reason": ending.reason})
    raise typer.Exit(INTERRUPTED if ended.was_interrupted else FAILED if ending.state == CrawlState.FAILED else 0)


@app.command("list")
def list_(place: StoreArgument = None, crawl: CrawlOption = None, as_json: JsonFlag = False) -> None:
    """Say who works on a crawl: name, machine, version, since when, last sign of life, calls, and what is wanted of each."""
    rows = asyncio.run(who_works(find_store(place), crawl))
    output = Output(as_json=as_json)
    columns = ("worker", "name", "crawl", "host", "through", "version", "since", "seen", "calls", "wanted")
    output.table("", columns, [[row[column] for column in columns] for row in rows])
    if not rows:
        output.line("Nobody works on it.")
    output.result({"workers": rows})


def _token(given: str | None, file: Path | None, settings: Settings) -> str:
    if given:
        return given
    if file is not None:
        try:
            return file.read_text(encoding="utf-8").strip()
        except OSError as error:
            raise UserError(f"cannot read the token in {file}: {error.strerror}", code="credential_unreadable") from None
    if settings.worker_token:
        return settings.worker_token
    raise UserError(
        "a coordinator asks for a token: --token-file FILE, --token TOKEN or BOWERBIRD_WORKER_TOKEN",
        "whoever has the database makes one with `bowerbird worker tokens add NAME`",
        code="needs_credential",
    )


async def _beside(crawl: str | None, store: str, who: tuple[Settings, Offering, str], calls: int, view: View) -> Run:
    """Works with the database, beside whoever else does; follows the plan when it is changed."""
    settings, vault, label = who
    clock = RealClock()
    plan = await named_plan(crawl, store, vault.whole, clock)
    if not plan.is_joined:
        raise UserError(
            "a worker follows the plan in the database", "name the crawl; with its file, `bowerbird crawl FILE --join`"
        )
    transport = HttpTransport(clock, load_settings(contact=plan.contact or settings.contact).user_agent)
    participation = Participation(label=label, applies=False)
    outside = Outside(clock=clock, transport=transport, vault=vault, participation=participation)

    async def worked() -> Run:
        nonlocal plan
        while True:
            plan = structs.replace(plan, concurrency=calls)
            await check_consent(plan, outside, is_given=False, say=view.say)
            async with open_crawl(plan, outside) as opened:
                for note in opened.notes:
                    view.say(note)
                ran = await run_shown(opened, outside, view)
            if ran.ending.reason.code != OUTDATED.code or ran.was_interrupted:
                return ran
            plan = await planned_in(plan.store, plan.name, clock)

    async def away(error: Exception, wait: timedelta) -> bool:
        if is_away := isinstance(error, Busy | DiskFull):
            view.say(f"{error} This worker comes back in {wait.total_seconds():.0f} s.")
        return is_away

    try:
        return await keep_running(worked, clock, away, AWAY)
    finally:
        await transport.close()
