"""`bowerbird overlap`: one table for people, one object for machines, and advice where there is nothing to compare."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest
from test_sightings import HEARING, SEARCHING, Listening, page

from bowerbird import cli
from bowerbird.clock import RealClock
from bowerbird.db import open_database
from failures import command_error


def store(folder: Path, *seen: tuple[int, str]) -> str:
    """A database in which these lanes listed these posts."""

    async def fill() -> None:
        database = await open_database(str(folder / "topic.db"), RealClock())
        await database.create_tables()
        scene = await Listening(database).begin()
        for lane, keys in seen:
            await scene.see(lane, page(*keys))
        await database.close()

    asyncio.run(fill())
    return str(folder / "topic.db")


def test_it_says_what_search_alone_would_have_missed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    place = store(tmp_path, (SEARCHING, "1"), (HEARING, "2"))
    assert cli.run(["overlap", place]) == 0
    shown = capsys.readouterr().out
    assert "filter" in shown
    assert "2026-03-01 13:00 UTC" in shown
    assert cli.run(["overlap", place, "--json"]) == 0
    values = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert values["crawl"] == "topic"
    assert (values["total"]["earlier"], values["total"]["stream_only"]) == (2, 0)
    assert [source["posts"] for source in values["sources"]] == [1, 1]


def test_without_a_stream_it_says_how_to_compare(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["overlap", store(tmp_path, (SEARCHING, "1"))]) == 0
    assert "[[streams]]" in capsys.readouterr().out


def test_an_unknown_crawl_is_named(tmp_path: Path) -> None:
    error = command_error("overlap", store(tmp_path), "--crawl", "other", code="unknown_crawl")
    assert "'other'" in error.problem
    assert "topic" in str(error)
