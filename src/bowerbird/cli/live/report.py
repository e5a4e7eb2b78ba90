"""The last words of a run: what came of it, where it is, and how to go on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from bowerbird.cli.hints import continue_line
from bowerbird.cli.live.run import Run
from bowerbird.cli.screens.amounts import numbers, post_counts
from bowerbird.cli.screens.amounts.money import spent_lines
from bowerbird.cli.screens.output import Output
from bowerbird.crawl.process.endings import EXHAUSTED, NOTHING_LEFT
from bowerbird.flows.flow import Size
from bowerbird.model import CrawlState
from bowerbird.model.command_lines import command_line
from bowerbird.reports.counting.posts import fate_values, total
from bowerbird.reports.status.glimpse import as_values

_STYLES = {CrawlState.FINISHED: "green", CrawlState.FAILED: "red"}
_MOST_SEEDS = 5


def show_report(output: Output, run: Run, command: str | None, place: str) -> None:
    """The summary of a run for people.

    `command`: what continues the crawl, None if it is complete; `place`: what `status` is told to look at it.
    """
    last, ending = run.last, run.ending
    output.line(_headline(run), style=_STYLES.get(ending.state, "yellow"))
    output.line(f"  this run   {_amounts(last.run)} in {numbers.span(last.elapsed)}")
    if last.whole != last.run:
        output.line(f"  in all     {_amounts(last.whole)}")
    output.line(f"  stored     {_stored(run)}")
    for line in spent_lines(last.purses, last.now):
        output.line(f"  spent      {line}")
    for line in _troubles(run):
        output.line(f"  {line}")
    output.line(f"  store      {last.store}")
    output.line(f"  look       {command_line('status', place)}")
    if command is not None:
        output.line(continue_line(command))


def _headline(run: Run) -> str:
    """What is the case: nothing left, or ended as told although something waits."""
    reason, waiting = str(run.ending.reason) or "as asked", run.last.waiting
    if run.ending.state != CrawlState.FINISHED or run.ending.reason.code in EXHAUSTED:
        return f"{run.ending.state.capitalize()}: {reason}."
    rest = f"; {numbers.many(waiting, 'question')} still {_wait(waiting)} to be asked" if waiting else ""
    return f"Ended as told: {reason}{rest}."


def _wait(count: int) -> str:
    return "waits" if count == 1 else "wait"


def report_values(run: Run) -> dict[str, Any]:
    """The summary for machines."""
    values = {name: value for name, value in as_values(run.last).items() if name not in ("doing", "left")}
    ending = {"state": run.ending.state, "reason": msgspec.to_builtins(run.ending.reason), "was_interrupted": run.was_interrupted}
    seeds = {
        "seeds_not_found": run.not_found,
        "seeds_closed": run.closed,
        "seeds_left_alone": run.left_alone,
        "seeds_left_alone_in_all": run.left_alone_in_all,
    }
    stored = fate_values(run.fates)
    return values | ending | seeds | {"posts_stored": stored, "posts_opted_out": stored["opted_out"]}


def _amounts(size: Size) -> str:
    return numbers.amounts(posts=size.posts, users=size.users, items=size.items, calls=size.calls)


def _troubles(run: Run) -> list[str]:
    last = run.last
    faults = {name: count for name, count in last.by_outcome.items() if name != "ok"}
    lines = [f"because    {last.trouble}"] if run.ending.state == CrawlState.FAILED and last.trouble else []
    if run.ending.state != CrawlState.FAILED and not last.whole.items:
        lines.append(f"nothing    {_nothing(run)}")
    lines += [f"note       {note}" for note in run.notes]
    if faults:
        lines.append("answers    " + ", ".join(numbers.answers(count, name) for name, count in sorted(faults.items())))
    if last.given_up:
        lines.append(f"given up   {numbers.many(last.given_up, 'question')} after many tries; `bowerbird status` says why")
    if run.not_found:
        lines.append(f"seeds      {_not_found(run.not_found)}")
    lines += [f"seeds      {_closed(reason, run.closed)}" for reason in dict.fromkeys(run.closed.values())]
    if run.left_alone_in_all:
        lines.append(f"seeds      {_left_alone(run)}")
    return lines


def _nothing(run: Run) -> str:
    """Why a crawl that did not fail has nothing, as far as it is known."""
    if run.ending.reason.code != NOTHING_LEFT:
        return "was found before it ended"
    if run.last.given_up:
        return "was found: some questions were given up, the others answered with nothing new"
    return "was found: every question was answered, and with nothing new"


def _not_found(seeds: Sequence[str]) -> str:
    more = f" and {len(seeds) - _MOST_SEEDS:,} more; `bowerbird gone` lists them" if len(seeds) > _MOST_SEEDS else ""
    verb = "was" if len(seeds) == 1 else "were"
    return f"{numbers.many(len(seeds), 'seed')} {verb} not found: {', '.join(seeds[:_MOST_SEEDS])}{more}"


def _closed(reason: str, closed: Mapping[str, str]) -> str:
    seeds = [seed for seed, why in closed.items() if why == reason]
    more = f" and {len(seeds) - _MOST_SEEDS:,} more; `bowerbird gone` lists them" if len(seeds) > _MOST_SEEDS else ""
    verb = "is" if len(seeds) == 1 else "are"
    return f"{numbers.many(len(seeds), 'seed')} {verb} {numbers.outcome_words(reason)}: {', '.join(seeds[:_MOST_SEEDS])}{more}"


def _left_alone(run: Run) -> str:
    """Those of this run by name, and how many there are in all where that is more."""
    count, first = run.left_alone, run.first_left_alone
    if not count:
        return f"{numbers.many(run.left_alone_in_all, 'seed')} asked not to be collected, as earlier runs found"
    more = f" and {count - len(first):,} more" if count > len(first) else ""
    whole = f" ({run.left_alone_in_all:,} in all)" if run.left_alone_in_all > count else ""
    return f"{numbers.many(count, 'seed')} asked not to be collected{whole}: {', '.join(first)}{more}"


def _stored(run: Run) -> str:
    """Everything in the store; of a store that several crawls share, what this one brought."""
    stored, own = total(run.fates), run.last.whole.posts
    shared = f"; {own:,} of them by this crawl" if stored.is_exact and stored.value > own else ""
    return post_counts.told(run.fates) + shared
