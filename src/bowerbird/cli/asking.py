"""Questions to whoever sits at the terminal."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import typer


def confirmed(question: str, *, default: bool = False) -> bool:
    with _heeding_ctrl_c():
        return typer.confirm(question, default=default, err=True)


def answered(question: str, *, default: str) -> str:
    with _heeding_ctrl_c():
        return str(typer.prompt(question, default=default, err=True))


@contextmanager
def _heeding_ctrl_c() -> Iterator[None]:
    """Ctrl-C is heard at once: a loop that runs only notes the first one, to look at it after the answer."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
