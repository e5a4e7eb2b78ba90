"""Posts found by the ends of their ids, and addresses that follow from ids, on both databases."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from store_pages import TIMELINE, Crawled

from bowerbird.clock import RealClock
from bowerbird.db import open_database
from bowerbird.model import Gone, Outcome, Page, Post, PostKind, Relation, RelationKind, Subject, User, post_address, post_at
from bowerbird.ports import Database
from bowerbird.reports.browsing.results import NEXT
from bowerbird.reports.histories.changes import find_history
from bowerbird.reports.reader import Reader
from bowerbird.store.absences.gone import GoneStatements
from bowerbird.store.posts.listed import ListedStatements
from bowerbird.store.posts.posts import PostStatements
from bowerbird.store.relations.lists import ListStatements

KEY = "3mmoojp4cd223"


@pytest.fixture
async def crawled(database: Database) -> Crawled:
    return await Crawled(database).register()


def skeet(author: str, collection: str = "app.bsky.feed.post", key: str = KEY, **fields: Any) -> Post:
    known = f"at://did:plc:{author}/{collection}/{key}"
    return Post(id=known, key=known, author=f"did:plc:{author}", **{"text": f"text of {author}"} | fields)


async def test_posts_whose_ids_end_alike_are_told_apart(crawled: Crawled) -> None:
    ada, ben = skeet("ada"), skeet("ben")
    passed_on = [
        skeet("cyd", "app.bsky.feed.repost", f"3mmoojp4cd22{n}", kind=PostKind.REPOST, repost_of=each.id)
        for n, each in enumerate((ada, ben), 4)
    ]
    await crawled.hear(Page(posts=(ada, ben, *passed_on)))
    await crawled.hear(Page(posts=(ada, ben, *passed_on)))
    await crawled.hear(Page(gone=(Gone(Subject.POST, ada.key, Outcome.NOT_FOUND, is_stated=True),)))
    rows = await crawled.rows("select id, text, deleted_at is null as is_here from posts order by post_no")
    assert [(row["id"], row["text"], bool(row["is_here"])) for row in rows] == [
        (ada.id, None, False),
        (ben.id, ben.text, True),
        (passed_on[0].id, None, True),
        (passed_on[1].id, passed_on[1].text, True),
    ]
    reposts = await crawled.rows("select o.id from reposts r join posts o on o.post_no = r.post_no order by o.id")
    assert [row["id"] for row in reposts] == [ada.id, ben.id]


async def test_an_id_shorter_than_its_end_is_found_whole(crawled: Crawled) -> None:
    tiny = Post(id="x:7", key="7", author="x:1", text="seven")
    for _ in range(2):
        await crawled.save(Page(posts=(tiny,)), TIMELINE, "1")
    assert await crawled.count("posts") == 1


def _texts(statements: object) -> Iterator[str]:
    for value in vars(statements).values():
        if isinstance(value, str):
            yield value
        elif isinstance(value, tuple):
            yield from (each for each in value if isinstance(each, str))
        elif type(value).__name__.endswith("Statements"):
            yield from _texts(value)


async def test_no_page_makes_sqlite_read_all_posts(tmp_path: Path) -> None:
    database = await open_database(str(tmp_path / "crawl.db"), RealClock())
    await database.create_tables()
    families = (PostStatements(database), GoneStatements(database), ListStatements(database), ListedStatements(database))
    texts = sorted({text for family in families for text in _texts(family) if "posts" in text})
    async with database.reading() as tx:
        for text in texts:
            plan = await tx.fetch(f"explain query plan {text}", *["[]"] * text.count("?"))
            scans = [row["detail"] for row in plan if row["detail"].startswith("SCAN") and "VIRTUAL" not in row["detail"]]
            assert not scans, (text, scans)
    await database.close()
    assert len(texts) > 20


async def test_what_a_command_found_since_is_read_by_its_number() -> None:
    database = await open_database(":memory:", RealClock())
    await database.create_tables()
    async with database.reading() as tx:
        plan = [row["detail"] for row in await tx.fetch(f"explain query plan {NEXT}", 1, 1)]
    await database.close()
    assert plan == ["SEARCH results USING INTEGER PRIMARY KEY (rowid>?)"]


async def test_an_address_that_follows_from_the_id_is_read_and_found_without_being_stored(crawled: Crawled) -> None:
    ada, ben = skeet("ada"), skeet("ben")
    await crawled.hear(Page(posts=(ada, ben)))
    await crawled.hear(Page(gone=(Gone(Subject.POST, ben.key, Outcome.NOT_FOUND, is_stated=True),)))
    address = f"https://bsky.app/profile/did:plc:ada/post/{KEY}"
    read = {item["id"]: item["url"] async for item in Reader(crawled.database).posts(with_raw=False)}
    assert read == {ada.id: address, ben.id: None}
    assert {row["id"]: row["url"] for row in await crawled.rows("select id, url from v_posts")} == {ada.id: address}
    assert [found.id for found in await find_history(crawled.database, address)] == [ada.id]
    assert await crawled.count("posts", "url is not null") == 0


def test_an_address_and_an_id_lead_to_each_other() -> None:
    known = skeet("ada").id
    assert post_at(post_address(known) or "") == known
    assert post_address(skeet("ada", "app.bsky.feed.repost").id) is None
    assert post_at("https://bsky.app/profile/ada.example.org/post/3k2a") is None


async def test_views_show_people_and_follows_by_their_names(crawled: Crawled) -> None:
    people = [User(id=f"x:{key}", key=key, handle=f"u{key}", opts_out=key == "3") for key in ("1", "2", "3")]
    edges = tuple(Relation(RelationKind.FOLLOW, "1", target) for target in ("2", "4"))
    await crawled.save(Page(users=tuple(people), relations=edges))
    assert [row["handle"] for row in await crawled.rows("select handle from v_users order by id")] == ["u1", "u2"]
    follows = await crawled.rows("select source_id, source_handle, target_id, target_handle from v_follows order by target_id")
    assert [tuple(row) for row in follows] == [
        ("x:1", "u1", "x:2", "u2"),
        ("x:1", "u1", "x:4", None),
    ]
