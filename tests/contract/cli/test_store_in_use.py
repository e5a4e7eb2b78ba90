"""Commands on a store that another process writes, or that has another schema version."""

from __future__ import annotations

import asyncio
import os
import socket
from pathlib import Path

import pytest

from bowerbird import cli
from bowerbird.clock import RealClock
from bowerbird.crawl.life import registry
from bowerbird.db import open_database
from bowerbird.db.sqlite.library import sqlite_module
from bowerbird.db.tables import SCHEMA_VERSION
from bowerbird.model import Service, to_micros

CRAWL = 'flow = "timelines"\nseeds = ["1"]\n[service]\nprovider = "mastodon"\nbase = "http://127.0.0.1:9"\n'


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("BOWERBIRD_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


async def make_store(store: str, version: int = SCHEMA_VERSION) -> None:
    """Make a store with a crawl and a worker that is alive: our parent process, seen just now."""
    clock = RealClock()
    database = await open_database(store, clock)
    await database.create_tables()
    async with database.transaction() as tx:
        now = to_micros(clock.now())
        row = await registry.enrol_crawl(tx, "crawl", '{"name": "timelines"}', "{}", clock.now())
        service = Service(name="sim", provider="mastodon", base="http://127.0.0.1:9")
        await registry.enrol_lane(tx, row.crawl, await registry.enrol_service(tx, service, "mastodon"), "timeline")
        await tx.execute(
            "insert into workers (name, host, pid, started_at, seen_at) values ('crawl', ?, ?, ?, ?)",
            socket.gethostname(),
            os.getppid(),
            now,
            now,
        )
        await tx.execute("update schema_version set version = ?", version)
    await database.close()


def test_crawl_store_written_by_another_process_is_refused_at_once(folder: Path) -> None:
    asyncio.run(make_store("crawl.db"))
    (folder / "crawl.toml").write_text(CRAWL)
    writer = sqlite_module().connect("crawl.db", isolation_level=None)
    writer.execute("begin immediate")
    # A command that waited for the writer would give up after half a minute, with exit code 3.
    assert cli.run(["crawl", "crawl.toml"]) == 2
    writer.close()


@pytest.mark.parametrize(
    "words", [["status", "crawl.db"], ["crawl", "crawl.toml"], ["export", "posts", "crawl.db", "-o", "p.csv"]]
)
def test_command_on_store_of_another_version_is_refused(words: list[str], folder: Path) -> None:
    asyncio.run(make_store("crawl.db", version=SCHEMA_VERSION + 1))
    (folder / "crawl.toml").write_text(CRAWL)
    assert cli.run(words) == 2
    assert not Path("p.csv").exists()
