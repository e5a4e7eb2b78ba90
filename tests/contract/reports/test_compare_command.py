"""`bowerbird compare`: what two stores, crawls or sources share, by day and in all, and what each has alone."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path

import pytest
from store_pages import START, TIMELINE, Crawled, post, user
from test_sightings import HEARING, SEARCHING, Listening, page

from bowerbird import cli
from bowerbird.clock import RealClock
from bowerbird.db import open_database
from bowerbird.errors import UserError
from bowerbird.model import Page, Post, PostKind
from bowerbird.ports import Database
from bowerbird.reports.studies.collections import Part, find_part, read_collection
from bowerbird.reports.studies.compared import Alike, compare
from failures import command_error, raises_code

DAY = timedelta(days=1)
FIRST = (post("1"), post("2", created_at=START + DAY), post("3", "2", created_at=START + DAY))
SECOND = (post("2", created_at=START + DAY), post("4", "3", kind=PostKind.REPOST, repost_of="x:1", created_at=START + DAY))


def store(place: Path, posts: Sequence[Post]) -> str:
    async def fill() -> None:
        database = await open_database(str(place), RealClock())
        await database.create_tables()
        scene = await Crawled(database).register()
        await scene.save(Page(users=tuple(user(key) for key in "123"), posts=tuple(posts)), TIMELINE, "1")
        await database.close()

    asyncio.run(fill())
    return str(place)


def told(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, object]:
    assert cli.run(["compare", *arguments, "--json"]) == 0
    (pair,) = json.loads(capsys.readouterr().out)["pairs"]
    return dict(pair)


def test_two_stores_are_compared_by_day_and_in_all(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one, two = store(tmp_path / "one.db", FIRST), store(tmp_path / "two.db", SECOND)
    pair = told(capsys, one, two)
    assert pair["posts"] == {"first_only": 2, "second_only": 1, "both": 1, "jaccard": 0.25}
    assert pair["authors"] == {"first_only": 1, "second_only": 1, "both": 1, "jaccard": pytest.approx(1 / 3)}
    assert pair["second_alone"] == {"reposts": 1, "gone": 0}
    days = pair["days"]
    assert isinstance(days, list)
    assert [(day["day"], day["posts"]["both"]) for day in days] == [("2026-03-01", 0), ("2026-03-02", 1)]
    assert days[1]["authors"] == {"first_only": 1, "second_only": 1, "both": 1, "jaccard": pytest.approx(1 / 3)}


def test_what_only_one_has_is_written_to_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one, two = store(tmp_path / "one.db", FIRST), store(tmp_path / "two.db", SECOND)
    out = tmp_path / "lone.jsonl"
    told(capsys, one, two, "--out", str(out))
    lines = [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]
    assert [(line["only_in"], line["id"]) for line in lines] == [(one, "x:1"), (one, "x:3"), (two, "x:4")]
    assert lines[0] == {"only_in": one, "id": "x:1", "author_id": "x:1", "day": "2026-03-01"}


def test_of_three_stores_every_pair_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    places = [store(tmp_path / f"{name}.db", posts) for name, posts in (("a", FIRST), ("b", SECOND), ("c", ()))]
    assert cli.run(["compare", *places]) == 0
    shown = capsys.readouterr().out.splitlines()
    assert len(shown) == 4
    assert "0.250" in shown[1]


async def test_two_sources_of_one_store_are_told_apart(database: Database) -> None:
    scene = await Listening(database).begin()
    await scene.see(SEARCHING, page("1", "2"))
    await scene.see(HEARING, page("2", "3"))
    async with database.reading() as tx:
        parts = [await find_part(tx, name) for name in ("topic/search", "topic/filter", "topic")]
        with raises_code(UserError, "unknown_crawl") as caught:
            await find_part(tx, "nothing")
        assert "'nothing'" in str(caught.value)
        assert all(name in str(caught.value) for name in ("topic", "topic/search", "topic/filter"))
    search, stream, crawl = [await read_collection(database, part) for part in parts]
    assert compare(search, stream).posts == Alike(first_only=1, second_only=1, both=1)
    assert compare(crawl, stream).posts == Alike(first_only=1, second_only=0, both=2)


async def test_nothing_is_compared_with_nothing(database: Database) -> None:
    empty = await read_collection(database, Part())
    assert compare(empty, empty).posts.jaccard is None


@pytest.mark.parametrize(
    ("arguments", "code", "value"),
    [
        (["one.db", "one.db"], "needs_option", "--in"),
        (["one.db", "nowhere.db"], "database_not_found", "nowhere.db"),
        (["first", "second", "--in", "one.db"], "unknown_crawl", "'first'"),
        (["one.db", "two.db", "three.db", "--out", "lone.csv"], "needs_option", "--out"),
    ],
)
def test_what_cannot_be_compared_is_said(
    arguments: list[str], code: str, value: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("one", "two", "three"):
        store(tmp_path / f"{name}.db", FIRST)
    monkeypatch.chdir(tmp_path)
    assert value in str(command_error("compare", *arguments, code=code))
