"""`bowerbird evaluate keywords`: how much of an event adaptive keywords collect."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from bowerbird.cli.screens.output import JsonFlag, Output


def keywords(
    data: Annotated[
        Path,
        typer.Option(
            metavar="DIR",
            help="Folder with events-crisislex-t6, events-crisisnlp, language-tweets-15, "
            "portuguese-br-tweets and portuguese-varieties.",
        ),
    ] = Path("../shared/data"),
    ratio: Annotated[int, typer.Option(min=1, max=1_000, help="Unrelated posts for each post of the event.")] = 40,
    share: Annotated[
        float,
        typer.Option(min=0.0, max=1.0, help="Part of the stream that the background shows; 0: none, as on X."),
    ] = 0.25,
    language: Annotated[str, typer.Option(metavar="own|mixed", help="Languages of the unrelated posts.")] = "mixed",
    events: Annotated[
        list[str] | None,
        typer.Option("--events", metavar="NAME", help="Only this event; may be repeated."),
    ] = None,
    methods: Annotated[
        list[str] | None,
        typer.Option("--method", metavar="NAME", help="Only this method; may be repeated."),
    ] = None,
    no_probes: Annotated[bool, typer.Option("--no-probes", help="Grant no searches.")] = False,
    leave_one_out: Annotated[
        bool,
        typer.Option("--leave-one-out", help="Choose the options of burst for each event on the others."),
    ] = False,
    whole_grid: Annotated[bool, typer.Option("--all", help="Also other ratios, shares and languages, one by one.")] = False,
    as_json: JsonFlag = False,
) -> None:
    """Compare keyword methods on recorded events in streams of unrelated posts. Takes some minutes. Exit code 1 below target.

    Each event is replayed alone and with other events at the same time. Labels are used for scoring only.
    """
    from bowerbird.errors import UserError
    from bowerbird.evaluate.keywords import Conditions, evaluate_keywords

    if language not in {"mixed", "own"}:
        raise UserError(f"Invalid language {language!r}.", "Use mixed or own.")
    output = Output(as_json=as_json)
    report = evaluate_keywords(
        data,
        Conditions(ratio=ratio, share=share, language=language, probes=0 if no_probes else 20),
        events=events or (),
        methods=methods or (),
        is_leaving_one_out=leave_one_out,
        with_grid=whole_grid,
        say=output.progress,
    )
    for kind, title in (("alone", "Events alone"), ("crowded", "With other events")):
        output.table(title, *_tabulate(report, kind))
    output.table(
        "Targets",
        ("figure", "value", "wanted", "met"),
        [(name, each["value"], each.get("least", each.get("most")), each["is_met"]) for name, each in report["targets"].items()],
    )
    output.result(report)
    raise typer.Exit(0 if report["is_good"] else 1)


def _tabulate(report: dict[str, Any], kind: str) -> tuple[tuple[str, ...], list[tuple[Any, ...]]]:
    columns = ("method", "f1", "precision", "recall", "worst event", "its f1", "calibrated")
    rows = []
    for name, figures in report["methods"].items():
        mean = figures[kind]["mean"]
        shown = [f"{mean[column]:.3f}" for column in ("f1", "precision", "recall")]
        worst = mean["worst"]
        rows.append((name, *shown, worst["event"], f"{worst['f1']:.3f}", mean.get("calibrated_share")))
    return columns, rows
