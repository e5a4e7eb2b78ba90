"""One command line at a time, in a folder of its own."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct

from bowerbird.settings import process_environment

_LONGEST = 180


class Ran(Struct, frozen=True):
    """How a command ended, and what it said."""

    code: int
    out: str
    err: str


Runner = Callable[[Sequence[str], str], Ran]
"""Runs `bowerbird` with these words and this standard input, in the folder of the week."""


def in_process_of_its_own(folder: Path) -> Runner:
    """Every command as a person runs it; its settings and keys are in the folder too."""
    environment = process_environment() | {"BOWERBIRD_HOME": str(folder / "home")}

    def run(words: Sequence[str], given: str) -> Ran:
        line = [sys.executable, "-m", "bowerbird", *words]
        try:
            done = subprocess.run(
                line, input=given, capture_output=True, text=True, check=False, cwd=folder, env=environment, timeout=_LONGEST
            )
        except subprocess.TimeoutExpired:
            return Ran(-1, "", f"it did not end within {_LONGEST} seconds")
        return Ran(done.returncode, done.stdout, done.stderr)

    return run


def read_rows(path: Path) -> list[dict[str, Any]]:
    """The rows of a file that a command wrote; none where it wrote none."""
    if not path.exists():
        return []
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file)) if path.suffix == ".csv" else [json.loads(line) for line in file]
