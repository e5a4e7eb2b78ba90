"""The options of one-line commands, each written once; a command says which groups of them it takes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from inspect import Parameter, Signature
from pathlib import Path
from typing import Annotated, Any

import typer

from bowerbird.cli.everyday.where import NAMED
from bowerbird.cli.everyday.wishes import time_span
from bowerbird.reports.blocks.moments import end_moment, moment

Options = Mapping[str, tuple[Any, Any]]
"""By name: the annotated type that Typer reads, and the default."""

SOURCE: Options = {
    "file": (
        Annotated[
            str | None,
            typer.Option("--input", "-i", metavar="FILE", help="Inputs from a file: one a line, or a CSV; - is standard input."),
        ],
        None,
    ),
    "column": (
        Annotated[str | None, typer.Option("--column", metavar="NAME", help="The CSV's column; all others are carried through.")],
        None,
    ),
    "skips_bad": (Annotated[bool, typer.Option("--skip-bad", help="Leave out inputs that cannot be understood.")], False),
}
NETWORK: Options = {
    "on": (
        Annotated[
            str | None,
            typer.Option("--on", metavar="NETWORK", help=f"{NAMED}, a Mastodon server, or an address."),
        ],
        None,
    ),
    "provider": (
        Annotated[str | None, typer.Option("--provider", metavar="API", help="Which API an address of --on speaks.")],
        None,
    ),
    "vault": (
        Annotated[Path | None, typer.Option("--vault", metavar="FILE", help="The vault file; also BOWERBIRD_VAULT.")],
        None,
    ),
    "budget": (
        Annotated[float | None, typer.Option("--budget", min=0.001, metavar="DOLLARS", help="What may be spent, on X.")],
        None,
    ),
}

CONSENT: Options = {
    "override": (
        Annotated[
            list[str] | None,
            typer.Option(
                "--override", metavar="SIGN", help="Collect also who gives this sign of not wishing it; needs --reason."
            ),
        ],
        None,
    ),
    "reason": (Annotated[str, typer.Option("--reason", metavar="TEXT", help="Why signs are overridden, for the record.")], ""),
    "opt_out": (
        Annotated[Path | None, typer.Option("--opt-out", metavar="FILE", help="A list of people who are left out.")],
        None,
    ),
}


def limit(means: str) -> Options:
    return {"limit": (Annotated[int | None, typer.Option("--limit", "-n", min=1, help=means)], None)}


LIMIT = limit("Rows for each input.")
LIMIT_INPUTS = limit("Only the first inputs.")
LIMIT_ALL = limit("End after so many posts.")
_SINCE = typer.Option("--since", parser=moment, metavar="DAY", help="From this day or moment on, in UTC.")
_UNTIL = typer.Option("--until", parser=end_moment, metavar="DAY", help="To the end of this day, in UTC.")
_FOR = typer.Option("--for", parser=time_span, metavar="TIME", help="End after this time: 10m, 2h.")
_OUT = typer.Option("--out", "-o", metavar="FILE", help="A new file; else standard output.")
TIMES: Options = {
    "since": (Annotated[datetime | None, _SINCE], None),
    "until": (Annotated[datetime | None, _UNTIL], None),
}
LANGUAGE: Options = {
    "languages": (
        Annotated[list[str] | None, typer.Option("--lang", metavar="CODE", help="Only this language; may be given again.")],
        None,
    )
}
SPAN: Options = {"span": (Annotated[timedelta | None, _FOR], None)}
GRANULARITY: Options = {
    "granularity": (Annotated[str, typer.Option("--by", metavar="STEP", help="minute, hour or day.")], "day"),
}
RAW: Options = {"raw": (Annotated[bool, typer.Option("--raw", help="With the item as the network sent it, in a column.")], False)}
OUTPUT: Options = {
    "out": (Annotated[Path | None, _OUT], None),
    "format": (
        Annotated[
            str | None,
            typer.Option("--format", "-f", help="jsonl, csv, parquet or xlsx, where the name does not tell."),
        ],
        None,
    ),
    "appends": (Annotated[bool, typer.Option("--append", help="Add the rows to a file that is there.")], False),
    "store": (
        Annotated[Path | None, typer.Option("--store", metavar="FILE", help="Keep what is collected in this store.")],
        None,
    ),
    "fresh": (Annotated[bool, typer.Option("--fresh", help="Begin anew, also where the command was interrupted.")], False),
    "is_quiet": (Annotated[bool, typer.Option("--quiet", "-q", help="Show no progress, only the end.")], False),
    "as_json": (Annotated[bool, typer.Option("--json", help="Print one JSON object as the last line, for machines.")], False),
}


def one_input(name: str, help: str) -> Options:  # noqa: A002 - Typer's own word
    return {"inputs": (Annotated[str | None, typer.Argument(metavar=name, help=help, show_default=False)], None)}


def inputs(name: str, help: str) -> Options:  # noqa: A002 - Typer's own word
    return {"inputs": (Annotated[list[str] | None, typer.Argument(metavar=f"[{name}]…", help=help, show_default=False)], None)}


def with_options(run: Callable[[Mapping[str, Any]], None], doc: str, *groups: Options) -> Callable[..., None]:
    """A function that Typer reads as a command with these options, and that gives all of them to `run`."""
    options = {name: each for group in groups for name, each in group.items()}

    def command(**values: Any) -> None:
        run(values)

    parameters = [
        Parameter(name, Parameter.POSITIONAL_OR_KEYWORD, default=default, annotation=kind)
        for name, (kind, default) in options.items()
    ]
    command.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {name: kind for name, (kind, _) in options.items()}
    command.__doc__ = doc
    return command
