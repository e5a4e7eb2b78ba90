"""`bowerbird upgrade` on both databases, and what others do with a store that is old or in use."""

from __future__ import annotations

import asyncio
import json
import os
import socket
from pathlib import Path

import pytest

from bowerbird import cli
from bowerbird.clock import RealClock
from bowerbird.crawl.life import registry
from bowerbird.crawl.process.workers.running import check_upgrade
from bowerbird.db import open_database
from bowerbird.db.migrate import scripts, statements
from bowerbird.db.sqlite.library import sqlite_module
from bowerbird.db.versions import newest, version_of
from bowerbird.errors import UserError
from bowerbird.evaluate.laboratory import Laboratory
from bowerbird.model import Service, to_micros
from bowerbird.simulated.service import Setup
from bowerbird.simulated.world import WorldSettings
from bowerbird.store.opening import open_store

OLD = 9


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("BOWERBIRD_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(params=["sqlite", "postgresql"])
def old(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A store as the bowerbird of version 9 left it, with one crawl."""
    store = str(tmp_path / "crawl.db") if request.param == "sqlite" else str(request.getfixturevalue("postgres_url"))
    asyncio.run(_make_old(store))
    return store


async def _make_old(store: str) -> None:
    clock = RealClock()
    database = await open_database(store, clock)
    async with database.transaction() as tx:
        await tx.execute("create table migrations (version bigint primary key, name text not null, applied_at bigint not null)")
        for number, name, script in (each for each in scripts() if each[0] <= OLD):
            for step in statements(script, database.dialect):
                await tx.execute(step)
            await tx.execute("insert into migrations (version, name, applied_at) values (?, ?, 0)", number, name)
        row = await registry.enrol_crawl(tx, "crawl", '{"name": "timelines"}', "{}", clock.now())
        service = Service(name="weibo", provider="weibo", base="https://api.weibo.example")
        lane = await registry.enrol_lane(tx, row.crawl, await registry.enrol_service(tx, service, "weibo"), "profile")
        for target in ("/zaku", "@ada", "7"):
            await tx.execute(
                "insert into tasks (lane, target, ready, priority, state, added_at) values (?, ?, 1, 0, 'waiting', 0)",
                lane,
                target,
            )
    await database.close()


async def _enrol(store: str, pid: int) -> None:
    """A worker that looks alive: its process is, and it was just seen."""
    clock = RealClock()
    database = await open_database(store, clock)
    async with database.transaction() as tx:
        at = to_micros(clock.now())
        row = "insert into workers (name, host, pid, started_at, seen_at) values ('crawl', ?, ?, ?, ?)"
        await tx.execute(row, socket.gethostname(), pid, at, at)
    await database.close()


async def _targets(store: str) -> list[str]:
    database = await open_database(store, RealClock())
    async with database.reading() as tx:
        rows = await tx.fetch("select target from tasks order by task")
    await database.close()
    return [row["target"] for row in rows]


async def _version(store: str) -> int | None:
    database = await open_database(store, RealClock())
    try:
        return await version_of(database)
    finally:
        await database.close()


def test_an_old_store_is_refused_with_the_command_that_upgrades_it_and_read_afterwards(
    old: str, capsys: pytest.CaptureFixture[str]
) -> None:
    before = OLD
    assert cli.run(["gone", old]) == 2
    assert "`bowerbird upgrade" in capsys.readouterr().err
    assert cli.run(["upgrade", old, "--json"]) == 0
    values = json.loads(capsys.readouterr().out)
    assert (values["from"], values["to"]) == (before, newest())
    assert asyncio.run(_version(old)) == newest()
    assert cli.run(["gone", old]) == 0
    capsys.readouterr()
    assert cli.run(["upgrade", old]) == 0
    assert f"is of version {newest()} already: nothing to do" in capsys.readouterr().out


def test_domains_on_weibo_that_wait_are_marked_as_names(old: str) -> None:
    assert cli.run(["upgrade", old]) == 0
    assert asyncio.run(_targets(old)) == ["@/zaku", "@ada", "7"]


def test_a_store_in_use_is_not_upgraded(old: str, capsys: pytest.CaptureFixture[str]) -> None:
    asyncio.run(_enrol(old, os.getppid()))
    assert cli.run(["upgrade", old]) == 2
    assert "`bowerbird stop" in capsys.readouterr().err
    assert asyncio.run(_version(old)) == OLD


async def test_who_works_beside_an_earlier_bowerbird_upgrades_no_file_below_it(tmp_path: Path) -> None:
    """What is stored under another name from then on could not be written there any more."""
    store, setup = str(tmp_path / "crawl.db"), Setup(dialect="weibo", world=WorldSettings(accounts=2))
    laboratory = Laboratory(setup, RealClock())
    await _make_old(store)
    await _enrol(store, os.getppid())
    plan = laboratory.plan('name = "other"\nflow = "timelines"', laboratory.keys(), store=store)
    with pytest.raises(UserError, match=rf"of version {OLD}, .* process {os.getppid()} .*`bowerbird stop`"):
        async with laboratory.crawl(plan):
            pass
    assert await _version(store) == OLD


async def test_a_fleet_on_postgresql_is_upgraded_one_process_after_the_other(postgres_url: str) -> None:
    await _make_old(postgres_url)
    await _enrol(postgres_url, os.getppid())
    async with open_store(postgres_url, RealClock(), check=check_upgrade):
        assert await _version(postgres_url) == newest()


def test_a_crawl_beside_one_that_is_writing_is_refused_at_once(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store = folder / "crawl.db"
    asyncio.run(_make_old(str(store)))
    asyncio.run(_enrol(str(store), os.getppid()))
    (folder / "crawl.toml").write_text(
        'flow = "timelines"\nseeds = ["1"]\n[service]\nprovider = "mastodon"\nbase = "http://127.0.0.1:9"\n'
    )
    writer = sqlite_module().connect(store, isolation_level=None)
    writer.execute("begin immediate")
    # Whoever waited for the writer would give up after half a minute, with 3.
    assert cli.run(["crawl", "crawl.toml"]) == 2
    assert "is running already" in capsys.readouterr().err
    writer.close()
