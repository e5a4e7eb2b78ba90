"""What needs a person, the worst first, each with what to do about it. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import timedelta
from urllib.parse import quote

from msgspec import Struct

from bowerbird.crawl.access.how_to_add import renew_line
from bowerbird.crawl.process.endings import EXHAUSTED
from bowerbird.limits.budget import BudgetStatus
from bowerbird.model import CrawlState, Outcome
from bowerbird.model.command_lines import command_line
from bowerbird.model.times import span
from bowerbird.model.wording import outcome_words
from bowerbird.reports.status.limit_names import limit_word
from bowerbird.reports.status.status import Status
from bowerbird.reports.status.summary import CrawlReport

_SOON = 0.9
"""The part of a budget after which it is told that it runs out."""
_LATE = timedelta(hours=1)
"""Errors are worth a look for so long."""
_PASSING = frozenset(outcome for outcome in Outcome if outcome.is_passing)
_SEVERAL = 3
"""Faults that time heals are tried again: one or two of them lately are no cause for alarm."""


class Need(Struct, frozen=True, kw_only=True):
    """One thing that somebody should look at."""

    what: str
    advice: str = ""
    command: str = ""
    """What to type, where a command line mends it."""
    path: str = ""
    """The page that shows it."""
    is_bad: bool = False
    """Something does not run that should."""
    is_wished: bool = False
    """It is as somebody wanted it: told, and no cause for alarm."""
    is_for_steer: bool = False
    """Its page is shown to those alone who may steer."""
    label: str = ""
    """What whoever may steer can do about it on the page of the crawl: start it, or resume it."""
    crawl: str = ""


def needs(status: Status, commands: Mapping[str, str], store: str = "") -> list[Need]:
    """Everything that needs attention; `commands`: by crawl, what continues it; `store`: as commands name it."""
    found = [
        *_crawls(status, commands, store),
        *_credentials(status),
        *_money(status),
        *_limits(status),
        *_streams(status),
        *_modules(status),
        *_left_out(status),
        *_set_aside(status),
    ]
    return sorted(found, key=lambda need: (not need.is_bad, need.is_wished))


def _crawls(status: Status, commands: Mapping[str, str], store: str) -> Iterator[Need]:
    running = {process.crawl for process in status.processes}
    for crawl in status.summary.crawls:
        is_run, command = crawl.name in running, commands.get(crawl.name, "")
        if crawl.state == CrawlState.FAILED:
            yield _resting(crawl, command, f"{crawl.name} failed: {crawl.reason}", is_bad=True)
        elif crawl.state.is_under_way and not is_run:
            what = f"{crawl.name} is run by no process, though none said goodbye: it may have been killed. Nothing is lost."
            yield _resting(crawl, command, what, is_bad=True)
        elif crawl.state == CrawlState.PAUSED and crawl.wanted == CrawlState.PAUSED:
            resume = command_line("resume", store, "--crawl", crawl.name)
            yield _resting(crawl, resume, f"{crawl.name} is paused, as somebody wanted", label="Resume")
        elif is_open(crawl) and not is_run:
            yield _resting(crawl, command, f"{crawl.name} has {_ended(crawl)}")


def _resting(crawl: CrawlReport, command: str, what: str, *, is_bad: bool = False, label: str = "Start") -> Need:
    """A crawl that does not go on by itself, and how it does."""
    return Need(
        what=what,
        command=command,
        path=f"/crawls/{quote(crawl.name)}",
        is_bad=is_bad,
        is_wished=not is_bad,
        label=label,
        crawl=crawl.name,
    )


def is_open(crawl: CrawlReport) -> bool:
    """Whether a crawl that ended has something left to ask."""
    is_done = crawl.state == CrawlState.FINISHED and crawl.reason is not None and crawl.reason.code in EXHAUSTED
    return not crawl.state.is_under_way and not is_done


def _ended(crawl: CrawlReport) -> str:
    word = "ended as told" if crawl.state == CrawlState.FINISHED else str(crawl.state)
    return f"{word}: {crawl.reason}" if crawl.reason else word


def _credentials(status: Status) -> Iterator[Need]:
    for each in status.health.refusals:
        yield Need(
            what=f"{each.service} refused the credential {each.credential}: {each.reason or 'without a reason'}",
            advice="Unless you did since, give it another secret.",
            command=renew_line(each.credential, each.provider),
            path="/steering/credentials",
            is_bad=True,
            is_for_steer=True,
        )


def _money(status: Status) -> Iterator[Need]:
    for purse in status.purses:
        if purse.allowed and purse.spent + purse.reserved >= _SOON * purse.allowed:
            yield Need(
                what=f"{_whose(purse)} has spent {purse.words}",
                advice=f"It goes on by itself in {span(purse.resets_at - status.now)}." if purse.resets_at else
                "Raise its dollars under [stop] of the crawl file if it is to go on.",
                path="/crawls",
            )  # fmt: skip


def _whose(purse: BudgetStatus) -> str:
    return f"The crawl {purse.of}" if purse.is_crawl else f"This month {purse.of}"


def _limits(status: Status) -> Iterator[Need]:
    for each in status.summary.ledgers:
        if each.backoff_until is not None and each.backoff_until > status.now:
            wait = span(each.backoff_until - status.now)
            yield Need(what=f"{limit_word(each.bucket)}: the service is left alone for {wait} after trouble", path="/crawls")


def _streams(status: Status) -> Iterator[Need]:
    for each in status.streams:
        if each.open_gaps:
            gaps = f"{each.open_gaps:,} gaps" if each.open_gaps > 1 else "1 gap"
            yield Need(
                what=f"The stream {each.name} of {each.crawl} has {gaps} that nothing has filled", path=_missing(each.crawl)
            )


def _missing(crawl: str) -> str:
    return f"/completeness/{quote(crawl)}"


def _modules(status: Status) -> Iterator[Need]:
    for each in status.failing:
        times = f"{each.failures:,} times in a row" if each.failures > 1 else "the last time"
        yield Need(what=f"The module {each.name} of {each.crawl} failed {times}: {each.error or ''}", path="/work/modules")


def _left_out(status: Status) -> Iterator[Need]:
    for each in status.left_out:
        if each.targets and each.advice:
            what = f"{each.crawl} does not ask {each.service} for {each.facet}: {each.why}; {each.targets:,} targets wait"
            yield Need(what=what, advice=each.advice, path=f"/crawls/{quote(each.crawl)}")


def _set_aside(status: Status) -> Iterator[Need]:
    for each in status.health.quarantine:
        items = f"{each.items:,} items" if each.items > 1 else "1 item"
        yield Need(what=f"{items} of {each.facet} could not be read and are kept apart: {each.why}", path="/work/errors")
    late = [error for error in status.summary.errors if status.now - error.at < _LATE]
    passing = [error for error in late if error.outcome in _PASSING]
    if worth := late if len(passing) >= _SEVERAL else [error for error in late if error not in passing]:
        last = worth[0]
        said = f"{outcome_words(last.outcome)}: {last.message}" if last.outcome else last.message
        yield Need(what=f"{last.part}, {span(status.now - last.at)} ago: {said}".rstrip(": "), path="/work/errors")
