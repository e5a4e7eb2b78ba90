"""The command line: `bowerbird COMMAND …`.

Convention for a command: one file `bowerbird/cli/commands/<group>/<name>.py`, listed in `GROUPS` below, that exposes either
`app`, a `typer.Typer` with sub-commands, or `command`, one function whose parameters Typer reads. The file is imported only when
its command runs, so it may import what it needs at its top. It raises `UserError` for what the user can change (exit code 2),
`typer.Exit(code)` for any other verdict, prints through `cli.screens.output.Output`, and takes `as_json: JsonFlag = False`
where a machine might read. `main` is the edge: the only place where errors become messages.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Sequence
from functools import cache
from importlib import import_module
from types import ModuleType
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from bowerbird import __version__
from bowerbird.errors import BowerbirdError, Failure, Unreachable, UserError

EVERYDAY = {
    "timeline": "Write an account's posts to a file or a pipe.",
    "timelines": "Write the posts of many accounts.",
    "followers": "Write who follows an account.",
    "following": "Write whom an account follows.",
    "users": "Write the profiles of accounts.",
    "search": "Write posts with words or a hashtag.",
    "searches": "Write posts for many queries.",
    "hydrate": "Write posts of which the ids are known.",
    "thread": "Write the conversation around a post.",
    "reposts": "Write who passed a post on.",
    "stream": "Write posts as they come.",
    "trends": "Write what is popular now.",
    "counts": "Write how many posts there are for a query.",
}
"""One-line commands, all in `cli/everyday/`."""
GROUPS = {
    "One line, one file": EVERYDAY,
    "A crawl of weeks or months": {
        "init": "Write a crawl file to start from.",
        "flow": "List, draw, check and copy crawl flows.",
        "credentials": "Keep the keys to the networks in an encrypted vault.",
        "doctor": "Check the set-up and say what is wrong.",
        "plan": "Say what a crawl will take and bring, before anything is called.",
        "crawl": "Run a crawl, or go on with it where it stopped.",
        "serve": "Show a store in a browser; hand the calls of a crawl out to workers that have no database.",
        "people": "Say who may use the dashboard, and what each may do there.",
        "worker": "Work on a crawl that others have begun, with its database or through a coordinator.",
        "status": "Say how a crawl stands: items, tasks, limits, errors.",
        "pause": "Let a running crawl finish what is in flight and wait.",
        "resume": "Let a paused crawl go on.",
        "stop": "Let a running crawl finish what is in flight and end.",
    },
    "What a store tells": {
        "keywords": "Show the keywords of an event, and why each came and went; pin, block, propose and grade them.",
        "community": "Describe a community, see who belongs to it and why, and say what you know better.",
        "completeness": "Say what was captured, what is known to be missing, and why.",
        "history": "Show how an account or a post changed.",
        "gone": "List absent accounts, ended relations and deleted posts.",
        "query": "Ask a store or an export with SQL; it only reads.",
        "compare": "Say what two stores, crawls or streams share, and what each has alone.",
        "overlap": "Say what search alone would have missed beside a stream.",
        "cascade": "Say who passed posts on to whom.",
        "places": "Say who and what belongs to the places of a crawl, and how much they overlap.",
        "audit": "Ask for posts of random members again, and say how many were lost.",
        "judge": "Label a random sample of judged accounts, and learn how good the judge is.",
        "sample": "Say what a sampling crawl tells about all accounts, and who is in its sample.",
    },
    "Out of a store": {
        "export": "Write posts, accounts, follows and more to files: CSV, JSON lines, XLSX, Parquet, graphs.",
        "dehydrate": "Write the ids of the stored posts.",
        "plot": "Draw what a store holds: volumes, rhythms, growth, distributions, completeness.",
        "card": "Write the dataset card: what was asked, how, what came of it, what is missing.",
        "forget": "Forget people or posts for good, on request.",
    },
    "Looking after a store": {
        "backup": "Copy a store while its crawl goes on.",
        "restore": "Make a store of a backup.",
        "modules": "Show the periodic jobs of a crawl and what they did; run one by hand.",
        "remap": "Read stored payloads again with today's parsers.",
        "scrub": "Rewrite a store so that nothing deleted is left in its files.",
    },
    "Trying out and measuring": {
        "demo": "See bowerbird at work against a simulated service, in under a minute.",
        "simulate": "Serve a simulated microblog over HTTP.",
        "evaluate": "Measure what bowerbird promises.",
    },
}
"""Commands with their summaries, as `bowerbird --help` shows them."""
FOLDERS = dict(zip(list(GROUPS)[1:], ("crawling", "reading", "publishing", "tending", "trying"), strict=True))
"""Where the files of each group are, below `cli/commands/`."""
FLAT = frozenset({"completeness", "gone"})
"""Commands that were moved to `cli/commands/` already."""
COMMANDS = {name: summary for group in GROUPS.values() for name, summary in group.items()}

_JSON = "--json"
_OBJECTS = 10_000
"""So many more objects there may be before somebody looks for those that only each other hold. Pages are made of many small ones
without circles: to look after every 700, as is usual, takes a tenth of a command's time."""
REPORT_AT = "Please report it with what you ran and the output of `bowerbird --debug …` (secrets are never part of it)."


def module_of(name: str) -> str:
    """The file of a command."""
    if name in EVERYDAY:
        return "bowerbird.cli.everyday.commands"
    if name in FLAT:
        return f"bowerbird.cli.commands.{name}"
    (folder,) = (FOLDERS[title] for title, commands in GROUPS.items() if name in commands)
    return f"bowerbird.cli.commands.{folder}.{name}"


def collect_garbage() -> None:
    """Looks for garbage from now on where `main` does not yet, but not among what is there: a command has loaded its code."""
    if not gc.isenabled():
        gc.freeze()
        gc.set_threshold(_OBJECTS)
        gc.enable()


def load(name: str) -> Any:
    """The command of that name, from its own file."""
    return _made_of(import_module(module_of(name)), name)


@cache
def _made_of(module: ModuleType, name: str) -> Any:
    root = typer.Typer(add_completion=False, rich_markup_mode=None)
    if name in EVERYDAY:
        root.command(name)(module.COMMANDS[name])
    elif hasattr(module, "app"):
        root.add_typer(module.app, name=name, help=COMMANDS[name])
    else:
        root.command(name)(module.command)
    # With a callback Typer makes a group even of one command.
    root.callback()(lambda: None)
    return typer.main.get_group(root).commands[name]


class _LazyGroup(TyperGroup):
    """Shows the summaries of the table; loads a command's file only to run it."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        name, command, rest = super().resolve_command(ctx, args)
        command = load(name) if name in COMMANDS else command
        if name not in EVERYDAY:
            collect_garbage()
        return name, command, rest

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """By what people want to do: forty names in one list help nobody."""
        for title, commands in GROUPS.items():
            with formatter.section(title):
                formatter.write_dl(list(commands.items()))


app = typer.Typer(
    cls=_LazyGroup,
    help="Collect from microblogs: plan, remember, survive.",
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _show_version(is_wanted: bool) -> None:
    if is_wanted:
        typer.echo(f"bowerbird {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    context: typer.Context,
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback when something unexpected happens.")] = False,
    log_level: Annotated[
        str | None, typer.Option("--log-level", metavar="LEVEL", help="debug, info, warning or error; also BOWERBIRD_LOG_LEVEL.")
    ] = None,
    version: Annotated[
        bool, typer.Option("--version", help="Say which version this is.", is_eager=True, callback=_show_version)
    ] = False,
) -> None:
    from bowerbird.cli.logs import set_up_logs
    from bowerbird.settings import load_settings

    set_up_logs(load_settings(log_level=log_level).log_level, as_json=bool(context.obj))


def _register(name: str, summary: str) -> None:
    @app.command(name, help=summary, short_help=summary)
    def placeholder() -> None:  # pragma: no cover - replaced by `load` before it could run
        raise NotImplementedError(name)


for _name, _summary in COMMANDS.items():
    _register(_name, _summary)


@cache
def _program() -> Any:
    """All commands as they are run: Typer would put sixty together anew for each command line of a process."""
    return typer.main.get_command(app)


def invoke(arguments: Sequence[str]) -> None:
    """Run one command line. Raise what the command raises; `SystemExit` with the code where it says how it ended."""
    _program()(args=list(arguments), prog_name="bowerbird", obj=_JSON in arguments)


def run(arguments: Sequence[str]) -> int:
    """Run one command line and return its exit code: 0 done, 1 failed, 2 the user can correct it, 3 the database does not
    answer, 130 interrupted."""
    try:
        invoke(arguments)
    except SystemExit as exit_:
        return exit_.code if isinstance(exit_.code, int) else int(exit_.code is not None)
    except KeyboardInterrupt:
        return 130
    except Exception as error:
        return _report(error, is_debugging="--debug" in arguments, as_json=_JSON in arguments)
    return 0


def _report(error: Exception, *, is_debugging: bool, as_json: bool) -> int:
    """Print an error, as text or as one JSON object, and return the exit code."""
    from bowerbird.cli.screens.output import json_line, printable

    # An error may quote what a server sent.
    if is_debugging:
        import traceback

        typer.echo(printable("".join(traceback.format_exception(error))), err=True)
    if isinstance(error, BowerbirdError):
        failure = error.failure
    else:
        failure = Failure("unexpected", f"Unexpected {type(error).__name__}: {error}", REPORT_AT)
    if as_json:
        fields = {name: printable(getattr(failure, name)) for name in failure.__struct_fields__}
        typer.echo(json_line({"error": fields}), err=True)
    else:
        typer.echo(f"bowerbird: {printable(failure)}", err=True)
    if isinstance(error, Unreachable):
        # Not 2: a service manager restarts the process.
        return 3
    return 2 if isinstance(error, UserError) else 1


def main() -> None:
    # While code is loaded, hardly anything becomes garbage.
    gc.disable()
    code = run(sys.argv[1:])
    # All of it goes with the process: who looked for circles now would look at every object there is, several times.
    gc.freeze()
    sys.exit(code)
