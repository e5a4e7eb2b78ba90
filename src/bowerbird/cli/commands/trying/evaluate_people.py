"""The commands `bowerbird evaluate language` and `bowerbird evaluate profiles`."""

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
    ] = Path("../shared/data"),
    tweets: Annotated[int, typer.Option(min=10, max=100_000, help="Single tweets of each language.")] = 1_000,
    sets: Annotated[int, typer.Option(min=10, max=100_000, help="Sets of posts of each size.")] = 500,
    weights: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Only estimate the weights of all hints from all sources, and write them.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Another seed draws other tweets and sets.")] = 1,
    as_json: JsonFlag = False,
) -> None:
    """Measure language identification and the distinction of European and Brazilian Portuguese. Takes some minutes.

    Weights are estimated on one source of posts and measured on another, in every direction; pt-PT is the worst of them.
    Exit code 1 if a library identifies single tweets better, or if pt-PT misses a precision of 0.974 or a recall of 0.90.
    """
    from bowerbird.clock import RealClock
    from bowerbird.evaluate.language.evaluation import estimate_weights, evaluate_language
    from bowerbird.evaluate.language.fitting import format_weights

    output = Output(as_json=as_json)
    if weights is not None:
        weights.write_text(format_weights(estimate_weights(data, seed)), encoding="utf-8")
        output.line(f"Wrote {weights}.")
        output.result({"weights": str(weights)})
        return
    figures = evaluate_language(
        data,
        tweets_per_language=tweets,
        sets=sets,
        seed=seed,
        stopwatch=RealClock().stopwatch,
        progress=output.progress,
    )
    _print_languages(output, figures)
    output.result(figures)
    raise typer.Exit(0 if figures["is_good"] else 1)


def _print_languages(output: Output, figures: dict[str, Any]) -> None:
    shown = ("accuracy", "macro_f1", "macro_f1_iberian", "labelled", "accuracy_of_labelled", "calibration_error")
    methods = [(name, *(each.get(column, "") for column in shown)) for name, each in figures["languages"]["methods"].items()]
    output.table("Language of single tweets", ("", *(column.replace("_", " ") for column in shown)), methods)
    sets = figures["languages"]["sets"]
    output.table("Language of sets of tweets", ("posts", "right"), [(size, each["right"]) for size, each in sets.items()])

    columns = ("precision", "recall", "true_negative_rate", "accuracy")
    left_out = [(f"the others to {name}", each) for name, each in figures["left_out"].items()]
    rows = [
        (name, *(each["sets"]["30-100"][column] for column in columns))
        for name, each in (*figures["directions"].items(), *left_out)
    ]
    rows += [
        (f"{source}, {name}", *(each.get("sets", each)["30-100"][column] for column in columns))
        for source, methods in figures["methods"].items()
        for name, each in methods.items()
    ]
    rows.append(("worst direction", *(figures["pt-PT"][column] for column in columns)))
    rows.append(("TwitterEcho, published", *(figures["published"]["30-100"][column] for column in columns)))
    titles = ("weights, measured on", *(column.replace("_", " ") for column in columns))
    output.table("European Portuguese in sets of 30 to 100 posts", titles, rows)
    output.line("Labels are noisy:")
    for line in figures["noisy_labels"]:
        output.line(f"  {line}")


def profiles(
    data: Annotated[Path, typer.Option("--data", metavar="DIR", help="Folder with names-by-country.")],
    names: Annotated[
        Path | None, typer.Option("--names", metavar="FILE", help="Only build the packaged table of names, and write it to FILE.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Another seed draws other names.")] = 1,
    as_json: JsonFlag = False,
) -> None:
    """How much do names tell of where people are from? Takes a minute."""
    from bowerbird.evaluate.profiles import evaluate_profiles, packaged_table
    from bowerbird.evaluate.profiles.names_table import pack_table

    output = Output(as_json=as_json)
    if names is not None:
        names.write_bytes(pack_table(packaged_table(data)))
        output.line(f"Wrote {names}.")
        output.result({"names": str(names)})
        return
    figures = evaluate_profiles(data, seed)
    output.table("names, the mean of all countries", ("figure", "value"), figures["names"].items())
    output.result(figures)
