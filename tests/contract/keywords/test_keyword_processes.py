"""An event crawl by two real processes of one store: one decides each frame, and whoever is left goes on."""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from bowerbird.clock import RealClock
from bowerbird.db import open_database

PROGRAM = [sys.executable, "-c", "from bowerbird.cli import main; main()"]
FILE = """
flow = "event"
seeds = ["coffee", "books", "cinema", "music", "football", "cooking"]
stop.duration = "50s"
[service]
provider = "bluesky"
base = "{base}"
[keywords]
methods = ["skwa", "baseline"]
frame = "10s"
min_frequency = 1
"""


@contextmanager
def started(*arguments: str) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen([*PROGRAM, *arguments], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def wait_for(process: subprocess.Popen[str], pattern: str) -> None:
    assert process.stdout is not None
    seen = []
    for line in process.stdout:
        seen.append(line)
        if re.search(pattern, line):
            return
    raise AssertionError(f"{pattern!r} never came: {seen}")


def rows(store: Path, sql: str) -> list[tuple[Any, ...]]:
    async def read() -> list[tuple[Any, ...]]:
        database = await open_database(str(store), RealClock())
        async with database.reading() as tx:
            found = [tuple(row) for row in await tx.fetch(sql)]
        await database.close()
        return found

    return asyncio.run(read())


@pytest.mark.long
def test_of_two_processes_one_decides_each_frame_and_the_one_that_is_left_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BOWERBIRD_HOME", str(tmp_path / "home"))
    file, store = tmp_path / "event.toml", tmp_path / "event.db"
    with started("simulate", "--dialect", "bluesky", "--accounts", "2000", "--pace", "1200", "--json") as service:
        assert service.stdout is not None
        file.write_text(FILE.format(base=json.loads(service.stdout.readline())["base"]))
        with started("crawl", str(file)) as first:
            wait_for(first, "listening|calling")
            with started("crawl", str(file), "--join") as second:
                wait_for(second, "listening|calling")
                wait_for(first, r"^ +0:2\d")
                first.kill()
                killed_at = int(time.time()) * 1_000_000
                said, _ = second.communicate(timeout=120)
    decided = rows(store, "select frame, decided_at, collected from keyword_frames where decided_at is not null order by frame")
    written = rows(store, "select frame, count(*) from keyword_decisions group by frame order by frame")
    assert len(decided) >= 3, said
    assert written == [(frame, 2) for frame, _, _ in decided]
    assert sum(decided_at > killed_at for _, decided_at, _ in decided) > 1, "the one that is left goes on"
    assert sum(collected for _, _, collected in decided) > 0
