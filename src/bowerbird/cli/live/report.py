"""The last words of a run: what came of it, where it is, and how to go on."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from bowerbird.cli.live import words
from bowerbird.cli.live.glimpse import Glimpse, as_values
from bowerbird.cli.live.run import Run
from bowerbird.cli.money import spent_lines
from bowerbird.cli.next.step import Step
from bowerbird.cli.output import Output
from bowerbird.crawl.worker import NOTHING_LEFT

_STYLES = {"finished": "green", "failed": "red"}
_MOST_SEEDS = 5


def show_report(output: Output, run: Run, step: Step, place: str) -> None:
    """The summary of a run for people; `place`: what `status` is told to look at it."""
    last, ending = run.last, run.ending
    output.line(_headline(run), style=_STYLES.get(ending.state, "yellow"))
    output.line(f"  this run   {_amounts(last, is_whole=False)} in {words.span(last.elapsed)}")
    if last.whole != last.run:
        output.line(f"  in all     {_amounts(last, is_whole=True)}")
    for line in spent_lines(last.purses, last.now):
        output.line(f"  spent      {line}")
    for line in _troubles(run):
        output.line(f"  {line}")
    output.line(f"  store      {last.store}")
    output.line(f"  look       {shlex.join(['bowerbird', 'status', place])}")
    for what, how in step.lines():
        output.line(f"  {what:<10} {how}")


def _headline(run: Run) -> str:
    """What is the case: nothing left, or ended as told although something waits."""
    reason, waiting = run.ending.reason or "as asked", run.last.waiting
    if run.ending.state != "finished" or reason.startswith(NOTHING_LEFT):
        return f"{run.ending.state.capitalize()}: {reason}."
    rest = f"; {words.many(waiting, 'question')} still {_wait(waiting)} to be asked" if waiting else ""
    return f"Ended as told: {reason}{rest}."


def _wait(count: int) -> str:
    return "waits" if count == 1 else "wait"


def report_values(run: Run) -> dict[str, Any]:
    """The summary for machines."""
    values = {name: value for name, value in as_values(run.last).items() if name not in ("doing", "left")}
    ending = {"state": run.ending.state, "reason": run.ending.reason, "was_interrupted": run.was_interrupted}
    seeds = {"seeds_not_found": run.unfound, "seeds_closed": run.closed, "seeds_left_alone": run.left_alone}
    return values | ending | seeds | {"posts_opted_out": run.opted_out.value}


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
    if run.ending.state != "failed" and not last.whole.items:
        lines.append("nothing    was found: every question was answered, and with nothing new")
    lines += [f"note       {note}" for note in run.notes]
    if faults:
        lines.append("answers    " + ", ".join(words.answers(count, name) for name, count in sorted(faults.items())))
    if last.given_up:
        lines.append(f"given up   {words.many(last.given_up, 'question')} after many tries; `bowerbird status` says why")
    if run.unfound:
        lines.append(f"seeds      {_unfound(run.unfound)}")
    lines += [f"seeds      {_closed(reason, run.closed)}" for reason in dict.fromkeys(run.closed.values())]
    if run.opted_out.value:
        about = "" if run.opted_out.is_exact else "about "
        kept = f"{about}{words.many(run.opted_out.value, 'stored post')}"
        lines.append(f"opt-outs   {kept} by id and time only: their authors asked not to be collected")
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
