"""What is written for somebody who does not read holds up nobody."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from io import StringIO
from typing import TextIO

import pytest

from bowerbird.cli.live.views import JsonView
from bowerbird.cli.screens.outlet import Outlet

_LINE = "progress " * 20 + "\n"


@pytest.fixture
def pipe() -> Iterator[tuple[int, TextIO]]:
    """A pipe: where it is read, and where it is written."""
    reading, writing = os.pipe()
    with os.fdopen(writing, "w", encoding="utf-8") as stream:
        yield reading, stream
    os.close(reading)


def test_a_pipe_that_nobody_reads_holds_up_nobody_and_gets_whole_lines(pipe: tuple[int, TextIO]) -> None:
    reading, stream = pipe
    outlet = Outlet(stream)
    for _ in range(2_000):
        outlet.write(_LINE, patience=0)
    taken = os.read(reading, 1 << 20).decode()
    assert 0 < taken.count("\n") < 2_000
    assert set(taken.splitlines(keepends=True)) == {_LINE}
    outlet.write("it goes on\n")
    assert os.read(reading, 1 << 20) == b"it goes on\n"


def test_a_line_that_was_torn_ends_before_the_next(pipe: tuple[int, TextIO]) -> None:
    reading, stream = pipe
    outlet = Outlet(stream)
    outlet.write("x" * 200_000 + "\n", patience=0)
    outlet.write("lost\n", patience=0)
    torn = os.read(reading, 1 << 20)
    outlet.write("next\n")
    assert (set(torn), os.read(reading, 1 << 20)) == (set(b"x"), b"\nnext\n")


def test_a_view_goes_on_where_nobody_reads_what_it_says(pipe: tuple[int, TextIO], monkeypatch: pytest.MonkeyPatch) -> None:
    reading, stream = pipe
    monkeypatch.setattr(sys, "stderr", stream)
    view = JsonView()
    for _ in range(1_000):
        view.say("word " * 40)
    assert os.read(reading, 1 << 20).startswith(b'{"message": "word ')


def test_what_is_no_file_is_written_as_it_comes() -> None:
    held = StringIO()
    Outlet(held).write("one\n")
    assert held.getvalue() == "one\n"
