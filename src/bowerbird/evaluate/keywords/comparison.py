"""Compares keyword methods on recorded events, and checks ours against the targets.

Every event is replayed alone and in a crowded stream, with other events at the same time. Labels
are used for scoring only. With leave-one-out, the options of a method are chosen for each event
on the other events, by mean F1 over both kinds of streams.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

from msgspec import Struct
from msgspec.structs import asdict, replace

from bowerbird.errors import UserError
from bowerbird.evaluate.keywords.published_rkwa import (
    PUBLISHED,
    PUBLISHED_KEYWORDS,
    grade_rkwa,
    summarise_rkwa,
)
from bowerbird.evaluate.keywords.replay import (
    choose_best_keywords,
    measure,
    replay,
    summarise,
)
from bowerbird.evaluate.keywords.streams import (
    FRAMES,
    OTHER_EVENTS,
    Conditions,
    Data,
    Recording,
    Stream,
    build_stream,
    read_data,
)
from bowerbird.keywords import burst
from bowerbird.keywords.methods import METHODS, make_method

OURS = "burst"
OTHERS = ("baseline", "skwa", "rkwa", "naive")
READINGS = ("prose", "pseudocode")
"""The two descriptions of RKwA in the paper."""
KINDS = ("alone", "crowded")
TARGETS: Mapping[str, float] = {"f1": 0.80, "precision": 0.85, "calibrated_share": 0.80}
"""Least values for events that are alone, at the conditions of `Conditions()`."""
MARGIN = 0.15
"""Least difference of F1 from the best of `OTHERS`."""
LARGEST_GAP = 0.05
CROWDED_TARGETS: Mapping[str, float] = {"f1": 0.65, "precision": 0.70}
GRID: Mapping[str, Mapping[str, Any]] = {
    "20 unrelated posts per event post": {"ratio": 20},
    "200 unrelated posts per event post": {"ratio": 200},
    "unrelated posts in the event's language": {"language": "own"},
    "background of 5 %": {"share": 0.05},
    "background of 1 %": {"share": 0.01},
    "no searches": {"probes": 0},
}
"""Other conditions, each of which differs from the default in one point."""

Say = Callable[[str], None]
Figures = Mapping[str, Any]
Options = Mapping[str, Any]


def evaluate_keywords(
    folder: Path,
    conditions: Conditions | None = None,
    *,
    events: Sequence[str] = (),
    methods: Sequence[str] = (),
    is_leaving_one_out: bool = False,
    with_grid: bool = False,
    say: Say = print,
) -> dict[str, Any]:
    """Compare methods on recorded events, alone and crowded.

    Raises `UserError` if the data is missing or an event or method is unknown."""
    chosen_methods = methods or tuple(METHODS)
    for name in chosen_methods:
        make_method(name)
    conditions = conditions or Conditions()
    data = read_data(folder)
    recordings = _choose_recordings(data, events)
    options: dict[str, Sequence[Options]] = {
        name: burst.GRID if is_leaving_one_out and name == OURS else [{}] for name in chosen_methods
    }
    report = compare(data, recordings, conditions, options, say)
    is_headline = conditions == Conditions() and not events and OURS in chosen_methods
    report["targets"] = check_targets(report) if is_headline else {}
    report["is_good"] = all(target["is_met"] for target in report["targets"].values())
    if with_grid:
        report["grid"] = {}
        for name, changes in GRID.items():
            say(name)
            other = compare(data, recordings, replace(conditions, **changes), options, say)
            report["grid"][name] = {
                "conditions": other["conditions"],
                "methods": {
                    method: {kind: figures[kind]["mean"] for kind in ("alone", "crowded")}
                    for method, figures in other["methods"].items()
                },
            }
    return report


def _choose_recordings(data: Data, events: Sequence[str]) -> list[Recording]:
    if unknown := [name for name in events if name not in data.recordings]:
        known = ", ".join(data.recordings)
        raise UserError(
            f"Unknown event {unknown[0]!r}.", f"Choose one of {known}.", code="unknown_name"
        )
    return [data.recordings[name] for name in events or data.recordings]


def compare(
    data: Data,
    recordings: Sequence[Recording],
    conditions: Conditions,
    options: Mapping[str, Sequence[Options]],
    say: Say,
) -> dict[str, Any]:
    """Replay every event to every method, alone and crowded, and report the figures.

    `options` contains the methods and the sets of options from which each may choose."""
    facts: dict[str, dict[str, Any]] = {each.name: {"seeds": each.seeds} for each in recordings}
    results: dict[str, dict[str, EventResult]] = {kind: {} for kind in KINDS}
    for kind in KINDS:
        surroundings = replace(conditions, is_crowded=kind == "crowded")
        for recording in recordings:
            event = recording.name
            stream = build_stream(data, recording, surroundings)
            facts[event][kind] = stream.facts
            results[kind][event] = result = replay_event(stream, options, conditions.probes)
            shown = (f"{name} {sets[0]['f1']:.3f}" for name, sets in result.methods.items())
            say(f"{event}, {kind}: F1 {', '.join(shown)}")

    methods: dict[str, dict[str, Any]] = {}
    training = list_training_events(recordings)
    for name, sets in options.items():
        scores = [
            {
                event: fmean(results[kind][event].methods[name][number]["f1"] for kind in KINDS)
                for event in facts
            }
            for number in range(len(sets))
        ]
        chosen = choose_leave_one_out(scores, training)
        methods[name] = {}
        for kind in KINDS:
            by_event = {
                event: result.methods[name][chosen[event]]
                for event, result in results[kind].items()
            }
            methods[name][kind] = {"mean": summarise(by_event), "by_event": by_event}
        if len(sets) > 1:
            methods[name]["options"] = {event: sets[number] for event, number in chosen.items()}
    for name in ("best_keywords", "best_hashtags"):
        methods[name] = {}
        for kind in KINDS:
            by_event = {event: result.best[name] for event, result in results[kind].items()}
            methods[name][kind] = {"mean": summarise(by_event), "by_event": by_event}

    report: dict[str, Any] = {
        **_headline(methods, "alone"),
        "crowded": _headline(methods, "crowded"),
        "conditions": {
            **{name: value for name, value in asdict(conditions).items() if name != "is_crowded"},
            "frames": FRAMES,
            "other_events": OTHER_EVENTS,
        },
        "events": facts,
        "methods": methods,
    }
    if "skwa" in options:
        report["published_rkwa"] = {
            "published": {**PUBLISHED, "keywords": PUBLISHED_KEYWORDS},
            **{
                kind: {
                    reading: summarise_rkwa({e: each.rkwa[reading] for e, each in found.items()})
                    for reading in READINGS
                }
                for kind, found in results.items()
            },
        }
    return report


class EventResult(Struct, frozen=True, kw_only=True):
    """The figures of one event in one stream."""

    methods: Mapping[str, Sequence[Figures]]
    """By method, for each set of options."""
    best: Mapping[str, Figures]
    """Of the keywords that labels choose."""
    rkwa: Mapping[str, Figures]
    """Of RKwA by the procedure of its authors, by reading of the paper; empty without SKwA."""


def replay_event(
    stream: Stream, options: Mapping[str, Sequence[Options]], probes: int
) -> EventResult:
    """Replay a stream to every method with every set of its options."""
    replays = {
        name: [replay(stream, make_method(name, each), probes=probes) for each in sets]
        for name, sets in options.items()
    }
    skwa = replays.get("skwa")
    return EventResult(
        methods={
            name: [measure(stream, one) for one in several] for name, several in replays.items()
        },
        best={
            "best_keywords": choose_best_keywords(stream)[1],
            "best_hashtags": choose_best_keywords(stream, hashtags_only=True)[1],
        },
        rkwa={each: grade_rkwa(stream, skwa[0], each) for each in READINGS} if skwa else {},
    )


def list_training_events(recordings: Sequence[Recording]) -> dict[str, list[str]]:
    """Return for each event the events on which its options may be chosen.

    Recordings of the same time are left out too: they may show the same event."""
    return {
        each.name: [other.name for other in recordings if not other.overlaps(each)]
        for each in recordings
    }


def choose_leave_one_out(
    scores: Sequence[Mapping[str, float]], training: Mapping[str, Collection[str]]
) -> dict[str, int]:
    """Return for each event the number of the options with the best mean score elsewhere.

    `scores` contains the score of each event for each set of options. The first set wins ties,
    and is taken where there is no other event."""
    return {
        event: max(
            range(len(scores)),
            key=lambda number: fmean([scores[number][other] for other in others] or [0.0]),
        )
        for event, others in training.items()
    }


def _headline(methods: Mapping[str, Mapping[str, Any]], kind: str) -> dict[str, Any]:
    """Return the figures of our method beside the best other one; None for what was not run."""
    others = {name: methods[name][kind]["mean"]["f1"] for name in OTHERS if name in methods}
    best = max(others, key=lambda name: others[name], default=None)
    mean = methods[OURS][kind]["mean"] if OURS in methods else {}
    gaps = None
    if OURS in methods and "skwa" in methods:
        ours, skwa = (methods[name][kind]["by_event"] for name in (OURS, "skwa"))
        gaps = [skwa[event]["f1"] - ours[event]["f1"] for event in ours]
    return {
        "f1": mean.get("f1"),
        "precision": mean.get("precision"),
        "recall": mean.get("recall"),
        "best_other_f1": others[best] if best else None,
        "best_other": best,
        "worst_gap": round(max(gaps), 4) if gaps else None,
        "calibrated_share": mean.get("calibrated_share"),
    }


def check_targets(report: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Compare the figures of our method with the targets."""
    crowded = report["crowded"]
    checked = {name: (report[name], least) for name, least in TARGETS.items()}
    if report["best_other_f1"] is not None:
        margin = round(report["f1"] - report["best_other_f1"], 4)
        checked["f1 above the best other method"] = (margin, MARGIN)
    checked |= {
        f"crowded {name}": (crowded[name], least) for name, least in CROWDED_TARGETS.items()
    }
    targets: dict[str, dict[str, Any]] = {
        name: {"value": value, "least": least, "is_met": value is not None and value >= least}
        for name, (value, least) in checked.items()
    }
    if (gap := report["worst_gap"]) is not None:
        targets["worst_gap"] = {"value": gap, "most": LARGEST_GAP, "is_met": gap <= LARGEST_GAP}
    return targets
