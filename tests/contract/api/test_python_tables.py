"""`bowerbird.open(…).posts(…)` chooses rows and makes tables of them."""

from __future__ import annotations

import asyncio
from datetime import UTC, date, datetime
from pathlib import Path

import pytest
from export_scene import HOSTILE, filled, opened

import bowerbird


@pytest.fixture
def store(tmp_path: Path) -> Path:
    async def fill() -> None:
        async with opened(tmp_path / "crawl.db") as database:
            await filled(database)

    asyncio.run(fill())
    return tmp_path / "crawl.db"


def test_rows_become_tables_of_pandas_polars_and_arrow(store: Path) -> None:
    with bowerbird.open(store) as data:
        posts = data.posts()
        assert max(posts.to_pandas()["text"]) == max([*HOSTILE, "Flood in #Porto, says @u1", "Look"])
        assert posts.to_polars().filter(id="x:30")["tags"].to_list() == [["flood", "porto"]]
        assert posts.to_arrow().num_rows == 14
        assert data.users().to_pandas()["handle"].tolist() == ["u1", "u2", "u3"]
        assert data.follows().to_polars()["source_handle"].to_list() == ["u2", "u3"]
        assert [row["source_id"] for row in data.follows(user="@u2")] == ["x:2"]


def test_what_is_wanted_can_be_chosen(store: Path) -> None:
    with bowerbird.open(store) as data:
        for since in ("2026-04-01", date(2026, 4, 1), datetime(2026, 4, 1, tzinfo=UTC)):
            assert [post["id"] for post in data.posts(since=since)] == ["x:30"]
        (chosen,) = data.posts(lang="pt", user=["@u2", "@u3"], word="flood", until="2026-05-01", raw=True)
        assert (chosen["author"], chosen["tags"], chosen["raw"]) == ("x:2", ["flood", "porto"], b'{"id":30}')
        assert [user["handle"] for user in data.users(word="likes @u2 and 3")] == ["u3"]
        assert data.posts(word="nowhere").to_arrow().num_rows == 0
