"""How far a command is: what it says of the time that is left."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

import pytest
from msgspec import structs

from bowerbird.cli.everyday.output.progress import Progress
from bowerbird.flows.flow import Size
from bowerbird.reports.status.glimpse import Glimpse

START = datetime(2026, 3, 1, tzinfo=UTC)
GLIMPSE = Glimpse(
    now=START, name="a", flow="listen", store="a.db", state="running", elapsed=timedelta(0), whole=Size(), run=Size(),
    calls_per_second=0, items_per_second=0, lanes=(), buckets=(), doing="listening", left="",
)  # fmt: skip


def _shown(capsys: pytest.CaptureFixture[str], counts: list[int], total: int | None) -> list[str]:
    rows = iter(counts)
    progress = Progress("posts", lambda: next(rows), total, is_quiet=False, as_json=False)
    for second in range(len(counts)):
        at = START + timedelta(seconds=second)
        progress.show(structs.replace(GLIMPSE, now=at))
    return capsys.readouterr().err.splitlines()


def test_nothing_is_nearly_done_before_anything_came(capsys: pytest.CaptureFixture[str]) -> None:
    lines = _shown(capsys, [0, 0, 5, 10], 10)
    before, underway, done = (line.split("  ") for line in lines)
    assert (len(before), len(underway), len(done)) == (3, 4, 4), "nothing is known about the time before anything came"
    assert "2 s" in underway[2]
    assert not re.search(r"\d", done[2])
