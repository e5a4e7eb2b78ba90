"""Four ways to show a running crawl: a live panel, plain lines now and then, JSON lines, or nothing."""

from __future__ import annotations

import io
import json
import sys
from datetime import datetime, timedelta

from rich.console import Console
from rich.live import Live

from bowerbird.cli.live.panel import panel
from bowerbird.cli.live.view import View
from bowerbird.cli.screens.amounts import numbers
from bowerbird.cli.screens.amounts.money import spent_lines
from bowerbird.cli.screens.outlet import Outlet
from bowerbird.cli.screens.output import printable
from bowerbird.reports.status.glimpse import Glimpse, as_values


class PanelView:
    """A picture that renews itself in place; it disappears at the end, when the summary takes over."""

    every = timedelta(milliseconds=500)

    def __init__(self, console: Console) -> None:
        self._console = console
        self._live = Live(console=console, auto_refresh=False, transient=True, vertical_overflow="crop")

    def show(self, glimpse: Glimpse) -> None:
        # Started only now: a crawl that fails before its first picture must not leave a hidden cursor behind.
        self._live.start()
        self._live.update(panel(glimpse, self._console), refresh=True)

    def say(self, words: str) -> None:
        self._live.console.print(printable(words))

    def close(self) -> None:
        self._live.stop()


class LinesView:
    """One line at the start and then every so often, for logs and pipes."""

    every = timedelta(seconds=10)

    def __init__(self) -> None:
        self._out = Outlet(sys.stdout)

    def show(self, glimpse: Glimpse) -> None:
        size = glimpse.whole
        parts = [
            f"{numbers.stopwatch(glimpse.elapsed):>8}",
            f"{numbers.many(size.calls, 'call')} ({numbers.rate(glimpse.calls_per_second)})",
            f"{numbers.many(size.items, 'item')} ({numbers.rate(glimpse.items_per_second)})",
            *spent_lines(glimpse.purses, glimpse.now),
            f"{glimpse.waiting:,} waiting",
            *(f"{ear.name} {ear.state} ({numbers.many(ear.events, 'event')})" for ear in glimpse.streams),
            *(f"{each.method}: {numbers.many(each.keywords, 'keyword')}" for each in glimpse.keywords),
            *(f"! {words}" for words in {each.silence for each in glimpse.keywords if each.silence}),
            glimpse.doing,
        ]
        recent = glimpse.trouble and glimpse.trouble_age < self.every and not glimpse.is_down
        self.say("  ".join(parts) + (f"  [{glimpse.trouble}]" if recent else ""))

    def say(self, words: str) -> None:
        self._out.write(printable(words) + "\n")

    def close(self) -> None:
        """Everything is written."""


class JsonView:
    """One JSON object per line on standard error; standard output stays free for the result."""

    every = timedelta(seconds=2)

    def __init__(self) -> None:
        self._out = Outlet(sys.stderr)

    def show(self, glimpse: Glimpse) -> None:
        self._out.write(json.dumps(as_values(glimpse), default=_iso) + "\n", patience=0)

    def say(self, words: str) -> None:
        self._out.write(json.dumps({"message": printable(words)}) + "\n")

    def close(self) -> None:
        """Everything is written."""


class QuietJsonView(JsonView):
    """Nothing but what the user must know, as JSON too."""

    def show(self, glimpse: Glimpse) -> None:
        """Nothing."""


def _iso(value: datetime) -> str:
    return value.isoformat()


class QuietView:
    """Shows nothing but what the user must know."""

    every = timedelta(seconds=1)

    def __init__(self) -> None:
        self._out = Outlet(sys.stderr)

    def show(self, glimpse: Glimpse) -> None:
        """Nothing."""

    def say(self, words: str) -> None:
        self._out.write(printable(words) + "\n")

    def close(self) -> None:
        """Everything is written."""


def chosen_view(*, as_json: bool, is_quiet: bool) -> View:
    """The view that fits what the user asked for and where the output goes."""
    if as_json:
        return QuietJsonView() if is_quiet else JsonView()
    if is_quiet:
        return QuietView()
    if isinstance(sys.stdout, io.TextIOWrapper):
        # A terminal that cannot show a character shows a question mark; it must not end the crawl.
        sys.stdout.reconfigure(errors="replace")
    console = Console(highlight=False, markup=False, emoji=False)
    return PanelView(console) if console.is_terminal and not console.is_dumb_terminal else LinesView()
