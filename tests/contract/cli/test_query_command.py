"""`bowerbird query` answers questions in SQL, over a store and over an export, and can do nothing else."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from command_errors import refused
from export_scene import exported, filled, opened

from bowerbird import cli
from bowerbird.clock import RealClock
from bowerbird.db.moment import one_moment
from bowerbird.export.querying import duck
from bowerbird.ports import Database


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    async def fill() -> None:
        async with opened(tmp_path / "crawl.db") as database:
            await filled(database)
            await exported(database, "posts", tmp_path / "days")

    asyncio.run(fill())
    (tmp_path / "secret.csv").write_text("a\n1\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def answer(capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    values: dict[str, Any] = json.loads(capsys.readouterr().out.splitlines()[-1])
    return values


def test_a_store_is_asked_by_its_tables_and_their_other_names(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["query", "select author_handle, count(*) as n from posts group by 1 order by n desc", "--json"]) == 0
    told = answer(capsys)
    assert told["columns"] == ["author_handle", "n"]
    assert told["rows"][0] == {"author_handle": "u1", "n": 11}
    joined = "select u.handle, p.created_at, p.tags from v_posts p join users u on u.id = p.author_id where p.id = 'x:30'"
    assert cli.run(["query", joined, "crawl.db", "--json"]) == 0
    assert answer(capsys)["rows"] == [{"handle": "u2", "created_at": "2026-04-10T12:00:00+00:00", "tags": ["flood", "porto"]}]


def test_an_export_is_asked_alike(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["query", "select count(distinct day) as days, count(*) as n from posts", "days", "--json"]) == 0
    assert answer(capsys)["rows"] == [{"days": 7, "n": 14}]


def test_answers_are_tables_csv_and_json_lines(store: Path, capfd: pytest.CaptureFixture[str]) -> None:
    question = "select id, text from posts where id in ('x:10', 'x:30') order by id"
    assert cli.run(["query", question]) == 0
    assert "Flood in #Porto" in capfd.readouterr().out
    assert cli.run(["query", question, "-o", "a.csv"]) == 0
    assert (store / "a.csv").read_text(encoding="utf-8").splitlines()[1] == '"x:10","\'=1+1"'
    capfd.readouterr()
    assert cli.run(["query", question, "--format", "jsonl"]) == 0
    assert json.loads(capfd.readouterr().out.splitlines()[0]) == {"id": "x:10", "text": "=1+1"}


@pytest.mark.parametrize(
    "sql",
    [
        "drop view posts",
        "create table a as select 1",
        "insert into posts values (1)",
        "copy posts to 'out.csv'",
        "copy (select 1) to 'out.csv'",
        "attach 'crawl.db' as s (type sqlite)",
        "install httpfs",
        "load sqlite",
        "set enable_external_access = true",
        "select 1; select 2",
        "select * from 'secret.csv', posts",
        "select * from read_csv('secret.csv'), posts",
        "select * from read_text('/etc/hostname'), posts",
        "select * from glob('/etc/*'), posts",
        "select * from read_parquet('https://example.org/a.parquet')",
        "select nonsense from posts",
        "",
    ],
)
def test_nothing_is_written_and_nothing_else_is_read(store: Path, sql: str) -> None:
    refused("query", sql, "crawl.db", code="invalid")
    assert not (store / "out.csv").exists()


def test_a_folder_without_an_export_is_said_so(store: Path) -> None:
    (store / "empty").mkdir()
    assert "bowerbird export posts" in refused("query", "select 1 from posts", "empty", code="file_not_found").advice


async def test_either_database_is_asked(database: Database, tmp_path: Path) -> None:
    await filled(database)
    async with one_moment(database) as moment:
        tables = await duck.written(moment, ["posts", "follows"], tmp_path, RealClock())
    with duck.opened(tables) as connection:
        _, rows = duck.ask(connection, "select (select count(*) from posts), (select count(*) from follows)")
        assert list(rows) == [(14, 2)]
