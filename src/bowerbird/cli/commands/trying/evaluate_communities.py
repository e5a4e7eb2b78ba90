"""`bowerbird evaluate nationality` and `evaluate community`: who belongs, and how a community is collected, measured."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import typer

from bowerbird.cli.screens.output import JsonFlag, Output


def nationality(
    accounts: Annotated[int, typer.Option(min=500, max=200_000, help="Accounts of each world.")] = 30_000,
    candidates: Annotated[int, typer.Option(min=50, max=100_000, help="Accounts that are judged in each world.")] = 2_000,
    seed: Annotated[
        list[int] | None, typer.Option("--seed", help="A world; may be repeated.", show_default="three that nothing was tried on")
    ] = None,
    data: Annotated[
        Path | None,
        typer.Option("--data", metavar="DIR", help="Folder with real profiles.", show_default="../shared/data, if it exists"),
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """How well are members told from others, by profiles alone and by everything? Takes some minutes. Exit code 1 if a target is
    missed."""
    from bowerbird.errors import UserError
    from bowerbird.evaluate.nationality import HELD_OUT, STAGES, evaluate_nationality
    from bowerbird.settings import load_settings

    if data is not None and not data.is_dir():
        raise UserError(f"No folder {data}.", "Name the folder with real profiles, or leave --data out.", code="file_not_found")
    output = Output(as_json=as_json)
    figures = evaluate_nationality(
        load_settings().cache_folder,
        data=data or Path("../shared/data"),
        accounts=accounts,
        candidates=candidates,
        seeds=tuple(seed or HELD_OUT),
        say=output.progress,
    )
    columns = ("decided", "precision_yes", "precision_no", "recall", "brier")
    heads = ("", *(column.replace("_", " of ", 1) for column in columns))
    rows: list[tuple[object, ...]] = [
        (f"{rule}, {stage}", *(figures["worlds"][rule][stage][column] for column in columns))
        for rule in ("echo", "ours")
        for stage in STAGES
    ]
    rows.append(("TwitterEcho, published", *(figures["published"].get(column) for column in columns)))
    output.table("simulated worlds", heads, rows)
    bins = [(f"{each['from']:g} to {each['to']:g}", *(each[name] for name in ("accounts", "probability", "members")))
            for each in figures["reliability"]]  # fmt: skip
    output.table("reliability in the worlds", ("probability", "accounts", "mean", "members"), bins)
    if figures["sources"]:
        rows = [
            (f"{name}, {rule}", *(each[rule][column] for column in columns))
            for name, each in figures["sources"].items()
            for rule in ("echo", "ours")
        ]
        output.table("real profiles", heads, rows)
    else:
        output.line("No evaluation data: only worlds were evaluated. Name the folder with --data.")
    output.result(figures)
    raise typer.Exit(0 if figures["is_good"] else 1)


def community(
    accounts: Annotated[int, typer.Option(min=500, max=200_000, help="Of the world; a fifth belongs.")] = 60_000,
    seeds: Annotated[int, typer.Option(min=5, max=100_000, help="Members that are known at the beginning.")] = 2_052,
    days: Annotated[float, typer.Option(min=0.05, max=400, help="Virtual days to run.")] = 14.0,
    seed: Annotated[int, typer.Option(help="Another seed is another world.")] = 1,
    only: Annotated[list[str] | None, typer.Option("--only", metavar="NAME", help="echo or ours; may be repeated.")] = None,
    keep: Annotated[
        Path | None, typer.Option(help="Folder for the figures of each order: what is there already is not run again.")
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """How well is a community collected with the same calls, by TwitterEcho's order and by ours? Takes an hour and more."""
    from bowerbird.evaluate.community import Wish, evaluate_community

    output = Output(as_json=as_json)
    wish = Wish(accounts=accounts, seeds=seeds, days=days, seed=seed, only=tuple(only or ()), keep=keep)
    with TemporaryDirectory() as folder:
        figures = evaluate_community(wish, Path(folder), say=output.progress)
    names = [name for name in ("echo", "ours") if name in figures]
    told = ("added_in_24_hours", "members", "precision", "recall", "belong_of_mentioned", "undecided")
    rows = [(column.replace("_", " "), *(figures[name][column] for name in names)) for column in told]
    for whose in ("found", "all"):
        for column in ("posts", "per_user"):
            label = f"captured of {whose} members' posts, {column.replace('_', ' ')}"
            rows.append((label, *(figures[name][f"captured_of_{whose}"][column] for name in names)))
    output.table("", ("", *names), rows)
    output.result(figures)
