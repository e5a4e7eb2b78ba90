"""How far a command is, on standard error: one line that renews itself on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from datetime import datetime, timedelta

from bowerbird.cli.screens.amounts import numbers
from bowerbird.cli.screens.outlet import Outlet
from bowerbird.cli.screens.output import printable
from bowerbird.reports.status.glimpse import Glimpse


class Progress:
    """Shows how many rows there are, how quickly they come, and how long it will take; implements `cli.live.view.View`."""

    def __init__(self, what: str, count: Callable[[], int], total: int | None, *, is_quiet: bool, as_json: bool) -> None:
        """`count`: the rows so far; `total`: as many as there can be, where that is known."""
        self._what = what
        self._count = count
        self._total = total
        self._is_quiet = is_quiet
        self._as_json = as_json
        self._is_terminal = sys.stderr.isatty() and not as_json
        self._began: tuple[datetime, int] | None = None
        self._width = 0
        self._out = Outlet(sys.stderr)
        self.every = timedelta(milliseconds=500 if self._is_terminal else 5_000)

    def show(self, glimpse: Glimpse) -> None:
        if self._is_quiet:
            return
        count = self._count()
        if self._began is None:
            self._began = glimpse.now, count
            if not self._is_terminal:
                return
        rate = self._rate(glimpse.now, count)
        if self._as_json:
            values = {"rows": count, "per_second": round(rate, 3), "seconds_left": self._seconds_left(count, rate)}
            self._write(json.dumps({**values, "calls": glimpse.whole.calls, "doing": glimpse.doing}) + "\n")
            return
        parts = [f"{count:,} {self._what}", f"{rate:,.1f} a second", self._left(count, rate), glimpse.doing]
        self._line("  ".join(part for part in parts if part))

    def say(self, words: str) -> None:
        """Something the user must know at once, also when all else is quiet."""
        if self._as_json:
            self._write(json.dumps({"message": printable(words)}) + "\n")
        else:
            self.close()
            self._write(printable(words) + "\n")

    def close(self) -> None:
        """Takes the line away that renews itself."""
        if self._width:
            self._write("\r" + " " * self._width + "\r")
            self._width = 0

    def _rate(self, now: datetime, count: int) -> float:
        began, before = self._began or (now, count)
        seconds = (now - began).total_seconds()
        return (count - before) / seconds if seconds > 0 else 0.0

    def _seconds_left(self, count: int, rate: float) -> float | None:
        return None if self._total is None or rate <= 0 else round(max(0, self._total - count) / rate, 1)

    def _left(self, count: int, rate: float) -> str:
        seconds = self._seconds_left(count, rate)
        if seconds is None:
            return ""
        if seconds:
            return f"at most {numbers.span(timedelta(seconds=seconds))} left"
        return "nearly done" if count else ""

    def _line(self, text: str) -> None:
        text = printable(text)
        if self._is_terminal:
            self._write("\r" + text.ljust(self._width))
            self._width = len(text)
        else:
            self._write(text + "\n")

    def _write(self, text: str) -> None:
        self._out.write(text)
