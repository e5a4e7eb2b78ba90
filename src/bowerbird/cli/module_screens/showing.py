"""How `bowerbird modules` looks: lists, histories and the counts of one run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

import msgspec

from bowerbird.cli.screens.amounts import numbers
from bowerbird.cli.screens.output import Output
from bowerbird.flows.language.spelling import spell
from bowerbird.modules.running.rows import RunRow
from bowerbird.modules.running.runner import Ran
from bowerbird.reports.modules import Average, ModuleState, average
from bowerbird.reports.place_names import ProposedName

_MOST_COUNTS = 6


def show_states(output: Output, found: Sequence[ModuleState], now: datetime) -> None:
    on = [each for each in found if each.is_on]
    several = len({each.crawl for each in found}) > 1
    if on:
        rows = [
            [*([each.crawl] if several else []), each.name, spell(each.every), *_last(each, now), _next(each, now)] for each in on
        ]
        head = [*(["crawl"] if several else []), "module", "every", "last run", "took", "counts", "next"]
        output.table("", head, rows)
    else:
        output.line("No module runs by itself: name one in the crawl file, such as [modules.growth].")
    for each in (each for each in on if each.failures and each.last is not None):
        output.line(
            f"{each.name} failed {numbers.many(each.failures, 'time')} in a row: {each.last and each.last.error}", style="red"
        )
    off = {each.name: each.about for each in found if not each.is_on}
    if off:
        output.line()
        output.table("There are also, each with [modules.NAME] in the crawl file:", ["  module", "what it does"],
                     [(f"  {name}", about) for name, about in off.items()])  # fmt: skip


def _last(each: ModuleState, now: datetime) -> tuple[str, str, str]:
    if each.last is None:
        return "never", "", ""
    return numbers.at(each.last.started_at, now), _took(each.last), counts_words(each.last.counts, _MOST_COUNTS)


def _took(run: RunRow) -> str:
    if run.took is None:
        return "never ended" if run.is_lost else "running"
    return numbers.span(run.took)


def _next(each: ModuleState, now: datetime) -> str:
    if each.next is None:
        return "when the crawl starts"
    return "now" if each.next <= now else f"in {numbers.span(each.next - now)}"


def counts_words(counts: Mapping[str, Any], most: int) -> str:
    """The first counts in words; what is no number, or zero, is left out of a line."""
    told = [f"{value:,} {name.replace('_', ' ')}" for name, value in counts.items() if isinstance(value, int | float) and value]
    return ", ".join(told[:most]) + (" …" if len(told) > most else "")


def show_runs(output: Output, name: str, found: Sequence[RunRow], now: datetime) -> None:
    if not found:
        output.line(f"{name} never ran.")
        return
    rows = [
        (
            numbers.at(run.started_at, now),
            _took(run),
            "by hand" if run.is_by_hand else "",
            run.error or counts_words(run.counts, 9),
        )
        for run in found
    ]
    output.table("", ["run", "took", "", "what came of it"], rows)
    mean = average(found)
    if mean is not None and mean.runs > 1:
        output.line(f"On average over {mean.runs} runs: {numbers.span(mean.took)}, {counts_words(mean.counts, 9)}")


def show_ran(output: Output, name: str, ran: Ran) -> None:
    if ran.error:
        output.line(f"{name} failed after {numbers.span(ran.took)}: {ran.error}", style="red")
        return
    output.line(f"{name} took {numbers.span(ran.took)}.")
    plain = [(key.replace("_", " "), f"{value:,}") for key, value in ran.counts.items() if isinstance(value, int | float)]
    if plain:
        output.table("", ["", ""], plain)
    for key, value in ran.counts.items():
        if isinstance(value, list) and value and isinstance(value[0], Mapping):
            output.line()
            output.table(key.replace("_", " "), list(value[0]), [list(row.values()) for row in value])


def show_names(output: Output, found: Sequence[ProposedName]) -> None:
    if not found:
        output.line("No name of a place is proposed; the module place_names does that.")
        return
    rows = [(each.name, f"{each.members:,}", f"{each.others:,}", each.said, each.who or "") for each in found]
    output.table("", ["name", "members", "others", "", "by"], rows)
    if any(each.said == "proposed" for each in found):
        output.line("Decide with: bowerbird modules confirm NAME, or refuse NAME")
    for said, key in (("confirmed", "own"), ("refused", "other")):
        names = [each.name for each in found if each.said == said]
        if names:
            # JSON texts are TOML texts.
            listed = ", ".join(msgspec.json.encode(name).decode() for name in names)
            output.line(f"For [places] of the community: {key} = [{listed}]")


def run_values(run: RunRow) -> dict[str, Any]:
    values: dict[str, Any] = msgspec.to_builtins(run)
    return {**values, "took": run.took}


def average_values(mean: Average | None) -> dict[str, Any] | None:
    return None if mean is None else {"runs": mean.runs, "took": mean.took, "counts": dict(mean.counts)}


def state_values(each: ModuleState) -> dict[str, Any]:
    return {
        "crawl": each.crawl,
        "module": each.name,
        "about": each.about,
        "on": each.is_on,
        "every": each.every,
        "last": None if each.last is None else run_values(each.last),
        "next": each.next,
        "failures": each.failures,
    }
