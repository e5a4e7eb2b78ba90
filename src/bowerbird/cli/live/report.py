"""The last words of a run: what came of it, where it is, and how to go on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from bowerbird.cli.live import words
from bowerbird.cli.live.glimpse import Glimpse, as_values
from bowerbird.cli.live.run import Run
from bowerbird.cli.money import spent_lines
from bowerbird.cli.output import Output

_STYLES = {"finished": "green", "failed": "red"}
_MOST_SEEDS = 5
NOTHING_LEFT = "nothing is left to ask"
"""What the loop says when a crawl has come to its own end."""


def show_report(output: Output, run: Run, file: str) -> None:
    """The summary of a run for people."""
    last, ending = run.last, run.ending
    output.line(f"{ending.state.capitalize()}: {ending.reason or 'as asked'}.", style=_STYLES.get(ending.state, "yellow"))
    output.line(f"  this run   {_amounts(last, is_whole=False)} in {words.span(last.elapsed)}")
    if last.whole != last.run:
        output.line(f"  in all     {_amounts(last, is_whole=True)}")
    for line in spent_lines(last.purses, last.now):
        output.line(f"  spent      {line}")
    for line in _troubles(run):
        output.line(f"  {line}")
    output.line(f"  store      {last.store}")
    output.line(f"  look       bowerbird status {file}")
    if ending.reason != NOTHING_LEFT:
        output.line(f"  go on      bowerbird crawl {file}")


def report_values(run: Run) -> dict[str, Any]:
    """The summary for machines."""
    values = {name: value for name, value in as_values(run.last).items() if name not in ("doing", "left")}
    ending = {"state": run.ending.state, "reason": run.ending.reason, "was_interrupted": run.was_interrupted}
    seeds = {"seeds_not_found": run.unfound, "seeds_closed": run.closed, "seeds_left_alone": run.left_alone}
    return values | ending | seeds


def _amounts(last: Glimpse, *, is_whole: bool) -> str:
    size = last.whole if is_whole else last.run
    parts = [words.many(size.posts, "post"), words.many(size.users, "profile")]
    relations = size.items - size.posts - size.users
    parts += [words.many(relations, "relation")] if relations else []
    return ", ".join(parts) + f" with {words.many(size.calls, 'call')}"


def _troubles(run: Run) -> list[str]:
    last = run.last
    faults = {name: count for name, count in last.by_outcome.items() if name != "ok"}
    lines = [f"because    {last.trouble}"] if run.ending.state == "failed" and last.trouble else []
    if faults:
        lines.append("answers    " + ", ".join(f"{count:,} {name.replace('_', ' ')}" for name, count in sorted(faults.items())))
    if last.given_up:
        lines.append(f"given up   {words.many(last.given_up, 'task')} after many tries; `bowerbird status` says why")
    if run.unfound:
        lines.append(f"seeds      {_unfound(run.unfound)}")
    lines += [f"seeds      {_closed(reason, run.closed)}" for reason in dict.fromkeys(run.closed.values())]
    if run.left_alone:
        lines.append(f"seeds      {_left_alone(run.left_alone, run.first_left_alone)}")
    return lines


def _unfound(seeds: Sequence[str]) -> str:
    more = f" and {len(seeds) - _MOST_SEEDS:,} more; `bowerbird gone` lists them" if len(seeds) > _MOST_SEEDS else ""
    verb = "was" if len(seeds) == 1 else "were"
    return f"{words.many(len(seeds), 'seed')} {verb} not found: {', '.join(seeds[:_MOST_SEEDS])}{more}"


def _closed(reason: str, closed: Mapping[str, str]) -> str:
    seeds = [seed for seed, why in closed.items() if why == reason]
    more = f" and {len(seeds) - _MOST_SEEDS:,} more; `bowerbird gone` lists them" if len(seeds) > _MOST_SEEDS else ""
    verb = "is" if len(seeds) == 1 else "are"
    return f"{words.many(len(seeds), 'seed')} {verb} {reason.replace('_', ' ')}: {', '.join(seeds[:_MOST_SEEDS])}{more}"


def _left_alone(count: int, first: Sequence[str]) -> str:
    more = f" and {count - len(first):,} more" if count > len(first) else ""
    return f"{words.many(count, 'seed')} asked not to be collected: {', '.join(first)}{more}"
