"""What another column of the same row says is not stored again on SQLite: everybody reads it all the same."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from store_pages import SKY, Crawled, micros

from bowerbird.clock import RealClock
from bowerbird.db import open_database
from bowerbird.db.sqlite.ends_of_ids import end_of, is_same
from bowerbird.db.sqlite.library import sqlite_module
from bowerbird.db.sqlite.short_addresses import MEDIA_FORMS, address_in_sql, short_address
from bowerbird.db.sqlite.short_columns import IMPLIED_COLUMNS, implied_in_sql, kept_rows
from bowerbird.model import Media, Page, Post
from bowerbird.ports import Database

ADA = "at://did:plc:z72i7hdynmk6r22z27h6tvur/app.bsky.feed.post/3l6oveex3ii2l"
CID = "bafkreib5a4ye26pycrtkxyipklv2wgo3g7mt3wusnw7ivud6npcwyllwke"
PICTURE = f"https://cdn.bsky.app/img/feed_fullsize/plain/did:plc:z72i7hdynmk6r22z27h6tvur/{CID}@jpeg"
_parts = [part for form in MEDIA_FORMS for part in (form.mark, form.begins, form.ends)]
_texts = st.lists(st.sampled_from([*_parts, "=", "/", "a", "é"]), max_size=6).map("".join)


@given(id_=_texts, url=_texts, whole=st.booleans())
def test_whatever_address_is_kept_short_is_read_whole(id_: str, url: str, whole: bool) -> None:
    address = f"{MEDIA_FORMS[0].begins}{url}/{id_}{MEDIA_FORMS[0].ends}" if whole else url
    connection = sqlite_module().connect(":memory:")
    try:
        stored = connection.execute(
            f"select {address_in_sql()} from (select ? as id, ? as short_url)", (id_, short_address(id_, address))
        )
        assert stored.fetchone()[0] == address
    finally:
        connection.close()


def test_an_address_of_bluesky_is_the_name_of_its_author() -> None:
    assert short_address(CID, PICTURE) == "+z72i7hdynmk6r22z27h6tvur"
    assert short_address("other", PICTURE) == PICTURE


def test_the_end_of_an_id_is_never_shorter_than_it_need_be() -> None:
    connection = sqlite_module().connect(":memory:")
    try:
        ids = ["x:1234567890123456789"[:length] for length in range(3, 22)]
        found = [connection.execute(f"select {end_of('?1')}", (each,)).fetchone()[0] for each in ids]
        assert found == [each[-13:] for each in ids]
    finally:
        connection.close()


def test_only_what_others_say_is_left_out_of_a_row() -> None:
    columns = ("id", "network", "found_at", "found_by", "seen_at", "seen_by")
    rows = [(ADA, "bluesky", 5, 1, 5, 1), (ADA, "x", 5, 1, 6, 1), ("x:7", "x", 5, 1, 5, 2)]
    assert [row[1:] for row in kept_rows(columns, rows)] == [("", 5, 1, 0, 0), ("x", 5, 1, 6, 0), ("x", 5, 1, 0, 2)]


@pytest.fixture
async def crawled(database: Database) -> Crawled:
    return await Crawled(database).register()


async def test_a_post_says_when_it_was_seen_again_and_where_its_picture_is(crawled: Crawled) -> None:
    post = Post(id=ADA, key=ADA, author=ADA[5:37], text="look", media=(Media(id=CID, kind="image", url=PICTURE),))
    await crawled.hear(Page(posts=(post,)), service=SKY)
    found = micros(crawled.now)
    first = await crawled.row("select network, found_at, found_by, seen_at, seen_by from posts")
    assert tuple(first) == ("bluesky", found, 1, found, 1)
    await crawled.hear(Page(posts=(post,)), service=SKY)
    again = await crawled.row("select network, found_at, found_by, seen_at, seen_by from posts")
    assert tuple(again) == ("bluesky", found, 1, micros(crawled.now), 2)
    assert [row["url"] for row in await crawled.rows("select url from v_media")] == [PICTURE]


@pytest.mark.parametrize(
    ("statement", "index"),
    [
        ("select user_no from users where network = 'x' and lower(handle) = 'ada'", "users_handle"),
        ("select user_no from users where lower(handle) in (select value from json_each('[]'))", "users_handle"),
        ("select user_no from users where lower(handle) >= 'ada@' and lower(handle) < 'adaA'", "users_handle"),
        (f"select 1 from media_files f where exists (select 1 from media m where {is_same('m.id', 'f.id')})", "media_id"),
    ],
)
async def test_what_is_looked_for_is_found_by_an_index_that_holds_less(statement: str, index: str) -> None:
    database = await open_database(":memory:", RealClock())
    await database.create_tables()
    async with database.reading() as tx:
        plan = await tx.fetch(f"explain query plan {statement}")
    await database.close()
    assert any(f"INDEX {index} (" in row["detail"] for row in plan)


async def test_the_columns_of_the_store_are_those_that_the_networks_name() -> None:
    """Another form of addresses needs a migration."""
    database = await open_database(":memory:", RealClock())
    await database.create_tables()
    async with database.reading() as tx:
        made = {row["name"]: row["sql"] for row in await tx.fetch("select name, sql from sqlite_master where type = 'table'")}
    await database.close()
    assert address_in_sql() in made["media"]
    assert all(implied_in_sql(column) in made["posts"] for column in IMPLIED_COLUMNS)
