"""`bowerbird evaluate keywords`: how much of an event adaptive keywords collect."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from bowerbird.cli.screens.output import JsonFlag, Output


def keywords(
    events: Annotated[
        Path | None, typer.Option("--events", metavar="DIR", help="Replay recorded events: one table each with id, text, label.")
    ] = None,
    frame: Annotated[int, typer.Option(min=1, max=1_440, help="Minutes of a frame of recorded events.")] = 30,
    cap: Annotated[
        int | None, typer.Option(min=1, help="Recorded posts that the stream sends at most in a frame.", show_default="all")
    ] = None,
    seeds: Annotated[
        list[str] | None, typer.Option("--seed", metavar="EVENT=TERM", help="A seed of a recorded event; may be repeated.")
    ] = None,
    background: Annotated[
        str,
        typer.Option(
            metavar="WHICH",
            help="What stands for the network's sample: network (the recording, 2 % of it the event), others, own.",
        ),
    ] = "network",
    hold_out: Annotated[
        bool, typer.Option("--hold-out", help="Also choose colift's parameters for each recorded event on the other ones.")
    ] = False,
    hours: Annotated[float, typer.Option(min=0.5, max=48, help="Length of the made-up stream.")] = 2.5,
    as_json: JsonFlag = False,
) -> None:
    """How much of an event do adaptive keywords collect, and how much else? Takes a few minutes. Exit code 1 if too little.

    Every method on a made-up stream with several events, chatter, spam and hijacked hashtags, or on recorded posts.
    """
    from datetime import timedelta

    from bowerbird.evaluate.keywords import METHODS, Recording, Size, evaluate_events, evaluate_keywords, seeds_by_event

    output = Output(as_json=as_json)
    if events is None:
        found = evaluate_keywords(Size(hours=hours), say=output.progress)
        rows, columns = found["without_cap"], ["recall", "precision", "f1", "kept", "removed", "keywords"]
    else:
        recording = Recording(
            frame=timedelta(minutes=frame),
            cap=cap,
            seeds=seeds_by_event(seeds or ()),
            background=background,
            holds_out=hold_out,
        )
        found = evaluate_events(events, recording, say=output.progress)
        rows, columns = {name: found[name]["mean"] for name in (*METHODS, "naive")}, ["recall", "precision", "f1", "keywords"]
    output.table(
        "", ("method", *columns), [(name, *(f"{each[column]:.4g}" for column in columns)) for name, each in rows.items()]
    )
    output.result(found)
    raise typer.Exit(0 if found["is_good"] else 1)
