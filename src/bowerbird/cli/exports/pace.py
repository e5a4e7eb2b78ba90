"""How far long work has come, on standard error: rows, rate and time left; on a terminal in one line that changes."""

from __future__ import annotations

import sys
from datetime import timedelta

from bowerbird.cli.screens.output import Output
from bowerbird.model.times import span
from bowerbird.ports import Clock

_ON_A_SCREEN, _ELSEWHERE = 0.5, 10.0
"""Seconds between two words."""


class Pace:
    """Told of every step, it speaks now and then."""

    def __init__(self, clock: Clock, output: Output) -> None:
        self._clock = clock
        self._output = output
        self._is_screen = sys.stderr.isatty() and not output.as_json
        self._began = self._spoke = clock.stopwatch()

    def tell(self, rows: int, part: float | None) -> None:
        """So many rows, which are this part of all, where anybody knows."""
        now = self._clock.stopwatch()
        if now - self._spoke < (_ON_A_SCREEN if self._is_screen else _ELSEWHERE):
            return
        self._spoke = now
        self._say(self._words(rows, part, now - self._began))

    def end(self) -> None:
        if self._is_screen:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()

    def _words(self, rows: int, part: float | None, taken: float) -> str:
        words = f"{rows:,} rows, {rows / max(taken, 0.001):,.0f} a second"
        if part:
            words += f", {part:.0%}, {span(timedelta(seconds=taken / part - taken))} left"
        return words

    def _say(self, words: str) -> None:
        if self._output.as_json:
            self._output.progress(words)
        else:
            sys.stderr.write(f"\r{words}\x1b[K" if self._is_screen else f"{words}\n")
            sys.stderr.flush()
