"""What depends on the order of pages holds when several are saved at once, and what may not be kept is judged by nobody."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from typing import Any

import pytest
from store_pages import PROFILES, TIMELINE, Crawled, X

from bowerbird.analysis.places.classifier import PlaceClassifier
from bowerbird.analysis.places.resolver import open_resolver
from bowerbird.clock import RealClock
from bowerbird.crawl.process.workers.claims import WorkerClaims
from bowerbird.db import open_database
from bowerbird.model import Area, Box, Gone, Media, Outcome, Page, Place, Post, Ruling, Seen, Subject, User, UserList
from bowerbird.modules.media.rows import MediaFileRows
from bowerbird.ports import Database
from bowerbird.reports.browsing.items import ItemReader
from bowerbird.settings import load_settings
from bowerbird.store import Store
from bowerbird.store.judgements.judging import JudgingStore

LISBON = Area(name="Lisbon", box=Box(-10.0, 38.0, -9.0, 39.0))
HERE = Place(longitude=-9.14, latitude=38.72)
NOW = datetime(2026, 11, 17, tzinfo=UTC)


@pytest.fixture
async def crawled(database: Database) -> Crawled:
    return await Crawled(database).register()


def judged_by(crawled: Crawled, judge: Any) -> None:
    crawled.store = JudgingStore(Store(crawled.database), crawled.database, [judge])  # type: ignore[assignment]


def pictured(number: int) -> Page:
    picture = Media(id=f"m{number}", kind="image", url=f"https://pictures.example/{number}")
    user = User(id=f"x:{number}", key=str(number), handle=f"u{number}")
    return Page(users=(user,), posts=(Post(id=f"x:9{number}", key=f"9{number}", author=user.id, text="t", media=(picture,)),))


async def test_pictures_of_a_page_that_commits_later_than_the_next_are_fetched_too(migrated_url: str) -> None:
    database = await open_database(migrated_url, RealClock())
    await database.create_tables()
    crawled = await Crawled(database).register()
    book = MediaFileRows(database, WorkerClaims(lambda: 1), ["image"])

    async def take_in() -> None:
        async with database.transaction() as tx:
            await book.take_in(tx, NOW)

    async def save(tx: Any, number: int) -> None:
        await crawled.store.save(tx, pictured(number), service=X, tasks=(), facet=TIMELINE, call=1, now=NOW)

    async with database.transaction() as first:
        await save(first, 1)
        async with database.transaction() as second:
            await save(second, 2)
        intake = asyncio.create_task(take_in())
        # It waits for the first page, or else would be through by now.
        await asyncio.wait([intake], timeout=0.5)
    await intake
    taken = [row["id"] for row in await crawled.rows("select id from media_files order by id")]
    await database.close()
    assert taken == ["m1", "m2"]


async def test_the_words_of_lists_are_not_kept_for_owners_who_opted_out(crawled: Crawled) -> None:
    await crawled.save(Page(users=(User(id="x:1", key="1", handle="ada", opts_out=True),)), PROFILES, "1")
    words = UserList(id="x:77", key="77", owner="1", name="my list", description="words of ada")
    await crawled.save(Page(users=(User(id="x:2", key="2", handle="bob"),), lists=(words,)), PROFILES, "2")
    assert [tuple(row) for row in await crawled.rows("select name, description from lists")] == [(None, None)]


async def test_nothing_is_said_of_a_post_whose_deletion_came_first(crawled: Crawled) -> None:
    judged_by(crawled, PlaceClassifier([LISBON], open_resolver(load_settings().cache_folder)))
    await crawled.hear(Page(gone=(Gone(Subject.POST, "10", Outcome.NOT_FOUND),)), service=X)
    await crawled.hear(Page(posts=(Post(id="x:10", key="10", author="x:1", text="here", place=HERE),)), service=X)
    assert await crawled.rows("select id from judgements") == []


@pytest.mark.parametrize("leaves_in_the_same_page", [True, False])
async def test_nothing_is_said_of_the_posts_of_who_opted_out(crawled: Crawled, leaves_in_the_same_page: bool) -> None:
    judged_by(crawled, PlaceClassifier([LISBON], open_resolver(load_settings().cache_folder)))
    leaves = User(id="x:1", key="1", handle="ada", opts_out=True)
    post = Post(id="x:10", key="10", author="x:1", text="here", place=HERE)
    if not leaves_in_the_same_page:
        await crawled.save(Page(users=(leaves,)), PROFILES, "1")
    await crawled.save(Page(users=(leaves,) if leaves_in_the_same_page else (), posts=(post,)), TIMELINE, "1")
    assert await crawled.rows("select id from judgements") == []


class Breaking:
    """A judge that raises."""

    name, version = "breaking", "1"

    def judge(self, seen: Seen) -> Ruling:
        raise ValueError("no opinion")


async def test_a_page_is_not_lost_by_a_judge_that_breaks(crawled: Crawled) -> None:
    judged_by(crawled, Breaking())
    await crawled.save(pictured(1), TIMELINE, "1")
    assert len(await crawled.rows("select id from posts")) == 1
    (error,) = await crawled.rows("select part, message from errors")
    assert (error["part"], error["message"]) == ("judge breaking", "ValueError: no opinion")


def numbered(start: int) -> tuple[Post, ...]:
    return tuple(Post(id=f"x:{n}", key=str(n), author="x:u", text="t", raw=b'{"id":%d}' % n) for n in range(start, start + 10))


class Interrupted(ItemReader):
    """A reader during whose first batch a crawl deletes what was read and stores other posts."""

    def __init__(self, crawled: Crawled) -> None:
        super().__init__(crawled.database)
        self._crawled, self._is_new = crawled, True

    async def _decoded(self, *batch: Any) -> list[dict[str, Any]]:
        items = await super()._decoded(*batch)
        if self._is_new:
            self._is_new = False
            gone = tuple(Gone(Subject.POST, str(n), Outcome.NOT_FOUND) for n in range(100, 110))
            await self._crawled.hear(Page(gone=gone), service=X)
            await self._crawled.save(Page(users=(User(id="x:u", key="u"),), posts=numbered(200)), TIMELINE, "u")
        return items


async def test_no_post_is_exported_with_the_payload_of_another(crawled: Crawled) -> None:
    await crawled.save(Page(users=(User(id="x:u", key="u", handle="h"),), posts=numbered(100)), TIMELINE, "u")
    read = {item["id"]: item["raw"] async for item in Interrupted(crawled).posts(True)}
    assert read["x:100"] in (None, b'{"id":100}')
