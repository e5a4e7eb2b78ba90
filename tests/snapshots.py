"""Whole screens as a user sees them, compared with files in tests/snapshots/.

A test keeps a screen:           snapshot("status_after_a_crawl", capsys.readouterr().out)
It depends on chance or time:    snapshot("status_after_a_crawl", text, numbers=False)
A wording was changed on purpose: pytest TESTS --write-snapshots, then read the diff

Folders of the test, loopback addresses, times and durations are replaced before the comparison.
Snapshots are for wording and layout. What a screen proves (codes, values, rows) is asserted beside
them, so that a changed text fails here only.
"""

from __future__ import annotations

import calendar
import difflib
import re
from pathlib import Path

import pytest

FOLDER = Path(__file__).with_name("snapshots")
_UNIT = r"(?:ms|s|min|h|d|(?:millisecond|second|minute|hour|day|week)s?)"
_REPLACED = (
    (re.compile(r"\x1b\[[0-9;]*[A-Za-z]"), ""),
    (re.compile(r"(127\.0\.0\.1|localhost):\d+"), r"\1:PORT"),
    (
        re.compile(
            r"\b\d{4}-\d\d-\d\d(?:[ T]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:\d\d| UTC)?)?"
        ),
        "TIME",
    ),
    (re.compile(rf"\b(?:{'|'.join(calendar.month_name[1:])})\b"), "MONTH"),
    (re.compile(r"\b\d\d:\d\d(?::\d\d)?\b(?: UTC)?"), "TIME"),
    (re.compile(rf"\b\d+(?:\.\d+)? ?{_UNIT}\b(?:,? \d+(?:\.\d+)? ?{_UNIT}\b)*"), "DURATION"),
)
_NUMBER = re.compile(r"(?<![A-Za-z_.\d-])\d+(?:,\d{3})*(?:\.\d+)?(?![A-Za-z_\d])")
_PLURAL = re.compile(r"\bN (\w{3,})s\b")
"""What is counted: its ending depends on the number."""
_SPACES = re.compile(r"(?<=\S) {2,}(?=\S)")


class Snapshot:
    """Compares texts with the kept ones, or keeps them (`--write-snapshots`)."""

    def __init__(self, tmp_path: Path, writes: bool) -> None:
        self._tmp_path = tmp_path
        self._writes = writes

    def __call__(self, name: str, text: str, *, numbers: bool = True) -> None:
        """Compare a screen with tests/snapshots/NAME.txt; `numbers=False` ignores its numbers."""
        seen = self.normalised(text, numbers=numbers)
        file = FOLDER / f"{name}.txt"
        if self._writes:
            file.parent.mkdir(exist_ok=True)
            file.write_text(seen, encoding="utf-8")
        assert file.exists(), f"no snapshot {file.name}: run this test with --write-snapshots"
        kept = file.read_text(encoding="utf-8")
        lines = difflib.unified_diff(
            kept.splitlines(), seen.splitlines(), file.name, "seen", lineterm=""
        )
        assert seen == kept, "\n".join(lines)

    def normalised(self, text: str, *, numbers: bool = True) -> str:
        """Return the text without what differs from run to run; columns are two spaces apart."""
        text = text.replace(str(self._tmp_path), "FOLDER")
        for pattern, replacement in _REPLACED:
            text = pattern.sub(replacement, text)
        if not numbers:
            text = _PLURAL.sub(r"N \1", _NUMBER.sub("N", text))
        lines = [_SPACES.sub("  ", line).rstrip() for line in text.splitlines()]
        return "\n".join(lines).strip("\n") + "\n"


@pytest.fixture
def snapshot(tmp_path: Path, request: pytest.FixtureRequest) -> Snapshot:
    return Snapshot(tmp_path, bool(request.config.getoption("--write-snapshots")))
