"""`bowerbird evaluate language` and `evaluate profiles`: what is told of people, measured on real posts and names."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from bowerbird.cli.screens.output import JsonFlag, Output


def language(
    data: Annotated[
        Path,
        typer.Option(
            "--data",
            metavar="DIR",
            help="Folder with language-tweets-15, portuguese-br-tweets, portuguese-varieties and portuguese-politicians.",
        ),
    ],
    bundles: Annotated[int, typer.Option(min=10, max=100_000, help="Sets of posts of each size.")] = 500,
    weights: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Only estimate the weights of all hints from all sources, and write them.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Another seed draws other sets.")] = 1,
    as_json: JsonFlag = False,
) -> None:
    """How well are languages, and European and Brazilian Portuguese, told? Takes some minutes. Exit code 1 if not well enough.

    Weights are estimated on one source of posts and measured on another, in every direction; pt-PT is the worst of them.
    """
    from bowerbird.clock import RealClock
    from bowerbird.evaluate.language import estimated_weights, evaluate_language, written_weights

    output = Output(as_json=as_json)
    if weights is not None:
        weights.write_text(written_weights(estimated_weights(data, seed)), encoding="utf-8")
        output.line(f"Wrote {weights}.")
        output.result({"weights": str(weights)})
        return
    stopwatch = RealClock().stopwatch
    figures = evaluate_language(data, bundles=bundles, seed=seed, stopwatch=stopwatch, say=output.progress)
    _told_languages(output, figures)
    output.result(figures)
    raise typer.Exit(0 if figures["is_good"] else 1)


def _told_languages(output: Output, figures: dict[str, Any]) -> None:
    columns = ("precision", "recall", "true_negative_rate", "accuracy")
    titles = ("", *(column.replace("_", " ") for column in columns))
    rows = [(name, *(each["bundles"]["30-100"][column] for column in columns)) for name, each in figures["directions"].items()]
    rows.append(("worst of these", *(figures["pt-PT"][column] for column in columns)))
    rows.append(("TwitterEcho, published", *(figures["published"]["30-100"][column] for column in columns)))
    output.table("European Portuguese in sets of 30 to 100 posts, estimated on one source, measured on another", titles, rows)
    told = [
        (f"{source}, {method.replace('_', ' ')}", *(each["bundles"]["30-100"][column] for column in columns))
        for source, methods in figures["methods"].items()
        for method, each in methods.items()
        if "bundles" in each
    ]
    output.table("the same sets, by method", titles, told)
    languages = ("tweets", "accuracy", "among_neighbours", "of_those_told", "told", "sets")
    rows = [(name, *(each[column] for column in languages)) for name, each in figures["languages"]["by_language"].items()]
    output.table("languages of tweets", ("", *(column.replace("_", " ") for column in languages)), rows)
    output.line("Labels are noisy:")
    for line in figures["noisy_labels"]:
        output.line(f"  {line}")


def profiles(
    data: Annotated[Path, typer.Option("--data", metavar="DIR", help="Folder with names-by-country and posting-times.")],
    names: Annotated[
        Path | None, typer.Option("--names", metavar="FILE", help="Only build the packaged table of names, and write it to FILE.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Another seed draws other names and posts.")] = 1,
    as_json: JsonFlag = False,
) -> None:
    """How much do names, and the hours of posts, tell of where people are from? Takes a minute."""
    from bowerbird.community.names import pack_table
    from bowerbird.evaluate.profiles import evaluate_profiles, packaged_table

    output = Output(as_json=as_json)
    if names is not None:
        names.write_bytes(pack_table(packaged_table(data)))
        output.line(f"Wrote {names}.")
        output.result({"names": str(names)})
        return
    figures = evaluate_profiles(data, seed)
    output.table("names, the mean of all countries", ("figure", "value"), figures["names"].items())
    rows = [(size, *each.values()) for size, each in figures["hours"].items()]
    output.table("time zones by the hours of posts", ("", "people", "truth among likely", "likely zones", "mean fit"), rows)
    output.result(figures)
