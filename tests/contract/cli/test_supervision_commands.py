"""A real `bowerbird crawl` process over months' worth of trouble: dumps, crashed parts, backups, full disks."""

from __future__ import annotations

import asyncio
import resource
import signal
import sqlite3
import subprocess
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest
from simulated_server import Server, running
from test_backup import filled
from test_crawl_commands import PROGRAM, Child, result

from bowerbird import cli
from bowerbird.clock import RealClock
from bowerbird.db.files.backup import back_up
from failures import json_error

NAMES = ("users", "posts", "post_keys", "relations", "user_history", "deletions")


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with running() as started:
        yield started


@pytest.fixture(autouse=True)
def folder(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Path:
    monkeypatch.setenv("BOWERBIRD_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("BOWERBIRD_SECRET_ACCESS_TOKEN", next(iter(server.service.tokens)).value)
    assert cli.run(["credentials", "add", "mine", "--provider", "mastodon", "--server", server.base]) == 0
    capsys.readouterr()
    return tmp_path


@pytest.fixture
def start() -> Iterator[Callable[[Path], Child]]:
    started: list[Child] = []

    def begin(file: Path) -> Child:
        started.append(Child(file))
        started[-1].wait_for('"state": "running"')
        return started[-1]

    yield begin
    for child in started:
        child.process.kill()
        child.process.communicate()


def test_sigquit_writes_every_stack_and_ledger_into_a_file_and_the_crawl_goes_on(
    server: Server, folder: Path, start: Callable[[Path], Child]
) -> None:
    child = start(server.crawl_file(folder / "a.toml"))
    child.wait_for('"remaining"')
    child.process.send_signal(signal.SIGQUIT)
    child.wait_for(r"bowerbird-a-.*\.dump\.txt")
    (dump,) = folder.glob("bowerbird-a-*.dump.txt")
    text = dump.read_text()
    assert "timelines" in text
    assert "watch Process._watch" in text
    assert "process/process.py" in text
    assert '"name":"sim/account:mine/account"' in text
    assert next(iter(server.service.tokens)).value not in text
    child.wait_for('"state": "running"')
    child.process.terminate()
    assert child.end()[0] == 0


def test_a_part_that_crashes_is_started_again_and_status_tells_of_it(
    server: Server, folder: Path, start: Callable[[Path], Child], capsys: pytest.CaptureFixture[str]
) -> None:
    # A file stands where the folder for the backups should be: the keeper cannot work until it is gone.
    (folder / "kept").write_text("in the way")
    file = server.crawl_file(folder / "a.toml", more='backup = {every = "1s", folder = "kept"}')
    child = start(file)
    child.wait_for("kept")
    assert cli.run(["status", str(file), "--json"]) == 0
    errors = [error for error in result(capsys)["errors"] if error["part"] == "backup"]
    assert "modules/backups.py" in errors[0]["message"]
    (folder / "kept").unlink()
    while not list(folder.glob("kept/a-*.backup.db")):
        child.wait_for('"state": "running"')
    child.process.terminate()
    assert child.end()[0] == 0


def test_a_backup_taken_by_schedule_in_a_running_crawl_restores_to_the_same_content(
    server: Server, folder: Path, start: Callable[[Path], Child], capsys: pytest.CaptureFixture[str]
) -> None:
    file = server.crawl_file(folder / "a.toml", more='backup = {every = "1s", folder = "kept", keep = 2}')
    child = start(file)
    child.wait_for('"remaining"')
    assert cli.run(["pause", str(file)]) == 0
    child.wait_for('"state": "paused"')
    # Nothing more is asked. What was under way comes home before the second copy from now on, which is the last word.
    for _ in range(2):
        last = max(folder.glob("kept/a-*.backup.db"), default=folder)
        while max(folder.glob("kept/a-*.backup.db"), default=folder) <= last:
            child.wait_for('"state": "paused"')
    child.process.terminate()
    assert child.end()[0] == 0
    newest = max(folder.glob("kept/a-*.backup.db"))
    assert cli.run(["restore", str(newest), str(folder / "again.db")]) == 0
    assert rows(folder / "again.db") == rows(folder / "a.db")
    assert len(rows(folder / "again.db")["posts"]) > 10
    assert [path for path in folder.glob("kept/*") if not path.name.endswith(".backup.db")] == []


def rows(path: Path) -> dict[str, list[tuple[object, ...]]]:
    with closing(sqlite3.connect(path)) as connection, connection:
        return {name: sorted(connection.execute(f"select * from {name}").fetchall(), key=repr) for name in NAMES}


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
async def test_a_full_disk_during_a_backup_leaves_nothing_half_made(
    kind: str, folder: Path, request: pytest.FixtureRequest
) -> None:
    place = str(folder / "a.db") if kind == "sqlite" else str(request.getfixturevalue("migrated_url"))
    await filled(place, range(4_000))

    def full() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, 300_000))

    command = [*PROGRAM, "backup", place, "b.db", "--json"]
    tried = await asyncio.to_thread(subprocess.run, command, capture_output=True, text=True, preexec_fn=full, timeout=240)
    assert tried.returncode in (1, 2)
    assert json_error(tried.stderr).code == {"sqlite": "file_unwritable", "postgresql": "disk_full"}[kind]
    assert "Traceback" not in tried.stderr
    assert list(folder.glob("b.db*")) == []  # noqa: ASYNC240
    copied = await back_up(place, folder / "b.db", RealClock())
    assert copied.rows > 8_000
