"""Ids that SQLite keeps short: everybody reads them whole."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from store_pages import Crawled

from bowerbird.clock import RealClock
from bowerbird.db import open_database
from bowerbird.db.sqlite.library import sqlite_module
from bowerbird.db.sqlite.short_columns import (
    SHORT_COLUMNS,
    SHORT_FORMS,
    filled_columns,
    shortened,
    whole_in_sql,
    written,
)
from bowerbird.model import Page, Post, PostKind
from bowerbird.ports import Database

ADA = "at://did:plc:z72i7hdynmk6r22z27h6tvur/app.bsky.feed.post/3l6oveex3ii2l"
PASSED_ON = "at://did:plc:7o2x7rvnvjvl6gvafhlkydkr/app.bsky.feed.repost/3mmon7pmks2ec"
NEAR = [
    ADA,
    PASSED_ON,
    ADA[:-13],
    ADA[:30],
    "at://did:web:example.org/app.bsky.feed.post/3l6oveex3ii2l",
    "x:7",
    "+x",
    "-",
    "=",
    "==x",
]
_parts = [part for form in SHORT_FORMS for part in (form.mark, form.begins, form.middle, "a" * form.characters, "=")]


def in_sql(expression: str, value: str) -> str:
    connection = sqlite_module().connect(":memory:")
    try:
        return str(connection.execute(f"select {expression} from (select ? as name)", (value,)).fetchone()[0])
    finally:
        connection.close()


def test_new_posts_are_told_without_columns_that_none_of_them_fills() -> None:
    names, told = filled_columns(
        {
            "id": [ADA, PASSED_ON],
            "warning": [None, None],
            "is_sensitive": [0, None],
            "repost_of": [None, ADA],
            "source": ["", None],
        }
    )
    assert names == ("short_id", "is_sensitive", "short_repost_of", "source")
    assert told == [(shortened(ADA), 0, None, ""), (shortened(PASSED_ON), None, shortened(ADA), None)]


@given(st.one_of(st.sampled_from(NEAR), st.lists(st.sampled_from([*_parts, "b", "é", "/"]), max_size=6).map("".join)))
def test_whatever_is_kept_short_is_read_whole(id_: str) -> None:
    assert in_sql(whole_in_sql("name"), shortened(id_)) == id_


def test_an_id_of_bluesky_is_kept_in_half_the_room() -> None:
    assert shortened(ADA) == "+z72i7hdynmk6r22z27h6tvur3l6oveex3ii2l"
    assert len(shortened(PASSED_ON)) == 38


@pytest.fixture
async def crawled(database: Database) -> Crawled:
    return await Crawled(database).register()


async def test_posts_and_what_they_refer_to_are_read_whole(crawled: Crawled) -> None:
    odd = Post(id="+7", key="7", author="x:1", text="odd", kind=PostKind.REPLY, reply_to="-+", root=ADA)
    passed_on = Post(id=PASSED_ON, key=PASSED_ON, author=PASSED_ON[5:37], kind=PostKind.REPOST, repost_of=ADA, via="=x")
    for _ in range(2):
        await crawled.hear(Page(posts=(odd, passed_on)))
    rows = await crawled.rows("select id, reply_to, root, repost_of, via from posts order by id")
    assert [tuple(row) for row in rows] == [("+7", "-+", ADA, None, None), (PASSED_ON, None, None, ADA, "=x")]
    assert [row["id"] for row in await crawled.rows("select id from v_posts order by id")] == ["+7", PASSED_ON]


async def test_the_columns_of_the_store_are_those_that_the_networks_name(tmp_path: Path) -> None:
    """Another short form needs a migration."""
    database = await open_database(str(tmp_path / "crawl.db"), RealClock())
    await database.create_tables()
    async with database.reading() as tx:
        (row,) = await tx.fetch("select sql from sqlite_master where name = 'posts'")
    await database.close()
    assert all(whole_in_sql(written("sqlite", column)) in row["sql"] for column in SHORT_COLUMNS)
