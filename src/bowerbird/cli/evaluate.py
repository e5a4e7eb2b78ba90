"""`bowerbird evaluate`: measures what bowerbird promises; the last line is one JSON object with the figures."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from bowerbird.cli.output import JsonFlag, Output

app = typer.Typer(add_completion=False, no_args_is_help=True)


@app.callback()
def _root() -> None:
    """Measure what bowerbird promises."""


@app.command()
def quota(
    hours: Annotated[float, typer.Option(min=0.5, max=10_000, help="Virtual hours to run.")] = 48.0,
    credentials: Annotated[int, typer.Option(min=1, max=1_000, help="How many credentials to pool.")] = 10,
    seed: Annotated[int, typer.Option(help="Another seed is another course of delays and losses.")] = 1,
    as_json: JsonFlag = False,
) -> None:
    """How much of what the limits allow is used, and is any call refused? Takes a few minutes."""
    from bowerbird.evaluate.quota import evaluate_quota

    output = Output(as_json=as_json)
    figures = evaluate_quota(hours=hours, seed=seed, credentials=credentials, say=output.line)
    output.table("", ("figure", "value"), figures.items())
    output.result(figures)


@app.command()
def crash(
    kills: Annotated[int, typer.Option(min=1, max=100_000, help="Kills of crawls on SQLite.")] = 200,
    postgres_kills: Annotated[int, typer.Option(min=0, max=100_000, help="Kills of crawls on PostgreSQL.")] = 50,
    seed: Annotated[int, typer.Option(help="Another seed kills at other moments.")] = 1,
    keep: Annotated[Path | None, typer.Option(help="Folder for the rounds in which something was wrong.")] = None,
    as_json: JsonFlag = False,
) -> None:
    """Does `kill -9` lose, double or overdraw anything? Takes about ten minutes. Exit code 1 if it does."""
    from bowerbird.evaluate.crash import Manner, evaluate_crash

    output = Output(as_json=as_json)
    figures = evaluate_crash(kills, postgres_kills, Manner(seed=seed, keep=keep, say=output.line))
    output.table("", ("figure", "value"), ((name, value) for name, value in figures.items() if not isinstance(value, dict)))
    output.result(figures)
    raise typer.Exit(0 if figures["is_clean"] else 1)


@app.command()
def recordings(
    folder: Annotated[
        Path, typer.Argument(metavar="DIR", help="Folder with recorded exchanges: *.json cassettes, *.jsonl events.")
    ],
    as_json: JsonFlag = False,
) -> None:
    """Are recorded answers of real servers understood, and which of their fields are not read? Exit code 1 if a call is not."""
    from bowerbird.evaluate.recordings import evaluate_recordings

    output = Output(as_json=as_json)
    figures = evaluate_recordings(folder)
    output.table("", ("figure", "value"), ((name, value) for name, value in figures.items() if isinstance(value, int)))
    output.table("fields that nobody reads", ("field", "sent"), list(figures["unknown_fields"].items())[:20])
    for line in (*figures["unmapped_calls"], *figures["quarantined_calls"]):
        output.line(line)
    output.result(figures)
    raise typer.Exit(1 if figures["unmapped"] else 0)
