"""Indexes that begin with the million in which a row was added: everybody finds the same rows, in the same order, without reading
all of them."""

from __future__ import annotations

from pathlib import Path

import pytest
from store_pages import FOLLOWERS, TIMELINE, Crawled, followers, post, user

from bowerbird.clock import RealClock
from bowerbird.db import open_database
from bowerbird.db.sqlite.ends_of_ids import is_same
from bowerbird.db.sqlite.library import sqlite_module
from bowerbird.db.sqlite.millions import by_number
from bowerbird.model import Page
from bowerbird.ports import Database
from bowerbird.reports.browsing.lines import PostFilter, browse_posts
from bowerbird.reports.browsing.pages import Ask
from bowerbird.reports.sheets.ties import last_changes, newest_ties

MILLION = 1 << 20
_POST = (
    "insert into posts (short_id, short_network, author, kind, found_at, found_by, short_seen_at, short_seen_by) "
    "values (?, 'x', 1, 'post', 1, 1, 0, 0)"
)


@pytest.fixture
async def crawled(database: Database) -> Crawled:
    return await Crawled(database).register()


async def test_posts_of_an_author_are_told_over_all_millions_in_their_order(crawled: Crawled) -> None:
    posts = tuple(post(str(key), str(1 + key % 2)) for key in range(10, 30))
    await crawled.save(Page(users=(user("1"), user("2")), posts=posts), TIMELINE, "1")
    async with crawled.database.transaction() as tx:
        # One in three of them was added a million posts later, one in three two millions.
        await tx.execute(f"update posts set post_no = -post_no - (post_no % 3) * {MILLION}")
        await tx.execute("update posts set post_no = -post_no")
    numbers = {row["id"]: row["post_no"] for row in await crawled.rows("select id, post_no from posts")}
    assert {number // MILLION for number in numbers.values()} == {0, 1, 2}
    wanted = sorted((f"x:{key}" for key in range(11, 30, 2)), key=numbers.__getitem__)
    assert await _walked(crawled.database, newest_first=False) == wanted
    assert await _walked(crawled.database, newest_first=True) == wanted[::-1]


async def _walked(database: Database, *, newest_first: bool) -> list[str]:
    found, after = list[str](), None
    while True:
        page = await browse_posts(database, Ask(after=after, size=3, newest_first=newest_first), PostFilter(author="x:2"))
        found += [line.id for line in page.lines]
        after = page.after
        if after is None:
            return found


@pytest.mark.parametrize(
    ("statement", "index"),
    [
        ("select post_no from posts where author = 1", "posts_author"),
        ("select post_no from posts where author in (select value from json_each('[]'))", "posts_author"),
        (
            "select u.id, (select count(*) from posts p where p.author = u.user_no) from users u where u.user_no = 1",
            "posts_author",
        ),
        (f"select * from posts where author = 1 order by {by_number('post_no', 'desc')} limit 9", "posts_author"),
        (f"select * from posts where author = 1 and post_no > 5 order by {by_number('post_no', 'asc')} limit 9", "posts_author"),
        (
            f"select r.post_no from posts o cross join posts r where o.post_no = 1 and {is_same('r.reply_to', 'o.id')}",
            "posts_reply",
        ),
        (f"select r.post_no from posts o join posts r on {is_same('r.repost_of', 'o.id')} where o.post_no = 1", "posts_repost"),
        (f"select r.post_no from posts o join posts r on {is_same('r.quote_of', 'o.id')} where o.post_no = 1", "posts_quote"),
        ("update relation_history set source = 2 where source = 1", "relation_history_source"),
        ("delete from relation_history where target in (select value from json_each('[]'))", "relation_history_target"),
    ],
)
async def test_who_does_not_name_a_million_is_led_through_all_of_them_and_nothing_is_sorted(statement: str, index: str) -> None:
    # The second store of a process is made in another way than the first.
    for _ in range(2):
        database = await open_database(":memory:", RealClock())
        await database.create_tables()
        async with database.transaction() as tx:
            plan = [row["detail"] for row in await tx.fetch(f"explain query plan {statement}")]
        await database.close()
        assert any(f"INDEX {index} (ANY(<expr>) AND " in step for step in plan), plan
        assert not [step for step in plan if "TEMP B-TREE" in step], plan


async def test_the_last_ties_of_an_account_are_read_without_the_others() -> None:
    database = await open_database(":memory:", RealClock())
    await database.create_tables()
    sql, values = last_changes(database, 1, 100)
    async with database.transaction() as tx:
        plan = [row["detail"] for row in await tx.fetch(f"explain query plan {sql}", *values)]
    await database.close()
    for end in ("source", "target"):
        assert any(f"INDEX relation_history_{end} (ANY(<expr>) AND {end}=?)" in step for step in plan), plan
    # The few of both sides together are sorted, and nothing else.
    assert len([step for step in plan if "TEMP B-TREE" in step]) == 1, plan


async def test_the_newest_ties_are_those_that_were_written_down_last_in_whichever_million(crawled: Crawled) -> None:
    people = tuple(user(str(key)) for key in range(1, 6))
    await crawled.save(Page(users=people, relations=followers("1", "2")), FOLLOWERS, "1")
    for key in ("3", "4", "5"):
        await crawled.save(Page(relations=followers("1", "2", key)), FOLLOWERS, "1")
    if crawled.database.dialect == "sqlite":
        async with crawled.database.transaction() as tx:
            await tx.execute(f"update relation_history set change_no = -change_no * {MILLION // 2}")
            await tx.execute("update relation_history set change_no = -change_no")
    (number,) = [row["user_no"] for row in await crawled.rows("select user_no from users where id = 'x:1'")]
    ties = await newest_ties(crawled.database, number, 2)
    assert {(tie.change, tie.id) for tie in ties} == {("added", "x:5"), ("removed", "x:4")}


@pytest.mark.parametrize("counting", ["analyze", "analyze posts", "pragma optimize = 65538"])
async def test_who_has_sqlite_count_a_young_store_does_not_have_all_posts_read_later(tmp_path: Path, counting: str) -> None:
    where = str(tmp_path / "crawl.db")
    database = await open_database(where, RealClock())
    await database.create_tables()
    async with database.transaction() as tx:
        await tx.execute(_POST, "x:1")
    await database.close()
    connection = sqlite_module().connect(where)
    connection.execute(counting)
    connection.commit()
    connection.close()
    database = await open_database(where, RealClock())
    await database.create_tables()
    async with database.transaction() as tx:
        plan = [row["detail"] for row in await tx.fetch("explain query plan select text from posts where author = 1")]
        reposts = await tx.fetch(f"explain query plan select text from posts where {is_same('repost_of', '?')}", "x:1", "x:1")
        ties = [row["detail"] for row in await tx.fetch("explain query plan select call from relation_history where source = 1")]
    await database.close()
    assert plan == ["SEARCH posts USING INDEX posts_author (ANY(<expr>) AND author=?)"]
    assert [row["detail"] for row in reposts] == ["SEARCH posts USING INDEX posts_repost (ANY(<expr>) AND <expr>=?)"]
    assert ties == ["SEARCH relation_history USING INDEX relation_history_source (ANY(<expr>) AND source=?)"]
