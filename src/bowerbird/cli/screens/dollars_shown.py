"""Looks at what a user sees of a crawl that costs money, and names every screen and JSON that leaves the dollars out."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import redirect_stdout
from typing import Any

from rich.console import Console

from bowerbird.app import Crawl
from bowerbird.cli.checks.spending import read_spending
from bowerbird.cli.commands.crawling.status import read_page, status_values
from bowerbird.cli.live.panel import panel
from bowerbird.cli.live.report import report_values, show_report
from bowerbird.cli.live.run import Run
from bowerbird.cli.live.views import LinesView
from bowerbird.cli.live.watcher import Watcher
from bowerbird.cli.screens.output import Output
from bowerbird.cli.screens.plan_page import show
from bowerbird.cli.screens.status_page import show_status
from bowerbird.cli.which import NamedStore
from bowerbird.crawl.process.endings import Ending
from bowerbird.limits.budget import BudgetStatus
from bowerbird.model import Credential
from bowerbird.planning.course import Course
from bowerbird.planning.plan import Plan, figures
from bowerbird.ports import Clock
from bowerbird.reports.status.glimpse import Glimpse, as_values

_INTERNAL = "/money"


class Seeing:
    """Implements `evaluate.money.Eyes`."""

    async def crawl(self, crawl: Crawl, ending: Ending, clock: Clock) -> Sequence[str]:
        glimpse = await Watcher(crawl, clock).glimpse()
        run = Run(ending, glimpse)
        place = NamedStore(crawl.plan.store, crawl.plan.name, "crawl.toml")
        page, spending = await read_page(place, clock), await read_spending(crawl.plan, clock)
        screens = {
            "panel": _panel(glimpse),
            "lines": _printed(lambda: LinesView().show(glimpse)),
            "summary": _printed(lambda: show_report(Output(), run, None, "crawl.toml")),
            "status": _printed(lambda: show_status(Output(), place, page)),
            "doctor": "\n".join(check.found for check in spending.checks(crawl.plan)),
        }
        values = {
            "progress": as_values(glimpse),
            "summary": report_values(run),
            "status": status_values(place, page),
            "doctor": spending.values(crawl.plan),
        }
        wanted = [purse for purse in glimpse.purses if purse.allowed is not None]
        blind = [name for name, text in screens.items() if not _tells(text, glimpse.purses)]
        return blind + [f"{name} --json" for name, each in values.items() if not wanted or not _has(each, wanted)]

    def plan(self, course: Course, credentials: tuple[Credential, ...]) -> Sequence[str]:
        plan = Plan(courses=(course, course, course), credentials=credentials, variants={})
        text, values = _printed(lambda: show(Output(), plan, is_on_x=True)), figures(plan)
        expected, allowed = values["dollars_expected"]["likely"], values["dollars_allowed"]
        is_told = f"${expected:,.2f}" in text and f"${allowed:,.2f}" in text and _INTERNAL not in text
        return ([] if is_told else ["plan"]) + ([] if expected > 0 and allowed else ["plan --json"])


def _panel(glimpse: Glimpse) -> str:
    """In a small window, where something must be left out."""
    console = Console(file=io.StringIO(), width=80, height=24, force_terminal=False, highlight=False)
    with console.capture() as captured:
        console.print(panel(glimpse, console))
    return captured.get()


def _printed(work: Callable[[], object]) -> str:
    printed = io.StringIO()
    with redirect_stdout(printed):
        work()
    return printed.getvalue()


def _tells(text: str, purses: Sequence[BudgetStatus]) -> bool:
    return bool(purses) and all(purse.words in text for purse in purses) and _INTERNAL not in text


def _has(values: dict[str, Any], purses: Sequence[BudgetStatus]) -> bool:
    """Whether what is spent and allowed of each purse stands somewhere in the JSON, under the names that all share."""
    told = {(each["dollars_spent"], each["dollars_allowed"]) for each in _tables(values) if "dollars_spent" in each}
    is_clean = _INTERNAL not in json.dumps(values, default=str)
    return is_clean and all((purse.spent, purse.allowed) in told for purse in purses)


def _tables(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict):
        yield value
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, (list, tuple)) else ()
    for each in inner:
        yield from _tables(each)
