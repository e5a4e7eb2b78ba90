"""A standard stream that holds up nobody who writes to it."""

from __future__ import annotations

import os
import select
from typing import TextIO

_MOMENT = 1.0
"""Seconds that whoever reads has to take the next piece."""
_PIECE = select.PIPE_BUF
"""Bytes that a pipe which takes any takes at once."""


class Outlet:
    """Writes lines; what nobody takes within a moment is left out. A pipe that nobody reads is full after 64 KiB, and would then
    stop the whole crawl for ever."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._is_taken = True
        self._is_torn = False

    def write(self, text: str, patience: float = _MOMENT) -> None:
        """One line or several, with their ends; nobody is waited for again until something is taken."""
        try:
            number = self._stream.fileno()
        except (OSError, ValueError):
            self._stream.write(text)
            return
        self._stream.flush()
        left = ("\n" * self._is_torn + text).encode(self._stream.encoding or "utf-8", self._stream.errors or "strict")
        whole, wait = len(left), patience if self._is_taken else 0.0
        while left and _has_room(number, wait):
            left, wait = left[os.write(number, left[:_PIECE]) :], _MOMENT
        self._is_taken = not left
        self._is_torn = 0 < len(left) < whole or (self._is_torn and len(left) == whole)

    def flush(self) -> None:
        """Nothing is kept back."""


def _has_room(number: int, patience: float) -> bool:
    return bool(select.select([], [number], [], patience)[1])
