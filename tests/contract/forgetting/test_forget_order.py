"""What a request to forget does first, and what may not be used again after it."""

from __future__ import annotations

import pytest
from store_pages import POSTS, PROFILES, TIMELINE, Crawled, X, post, user

from bowerbird.clock import RealClock
from bowerbird.model import Media, Page
from bowerbird.ports import Database
from bowerbird.store.forgetting.requests import Forgetter, Wish

PICTURE = Media(id="x:picture", kind="photo", url="https://pictures.example/1.png")


@pytest.fixture
async def crawled(database: Database) -> Crawled:
    return await Crawled(database).register()


def wish(*users: int) -> Wish:
    return Wish(who="a test", why="a test", users=frozenset(users))


async def number_of(crawled: Crawled, known_id: str) -> int:
    return int((await crawled.row("select user_no from users where id = ?", known_id))["user_no"])


async def test_forget_keeps_rows_when_a_media_file_cannot_be_removed(crawled: Crawled) -> None:
    page = Page(users=(user("1"),), posts=(post("5", "1", media=(PICTURE,)),), results=1)
    await crawled.save(page, TIMELINE, "1")
    async with crawled.database.transaction() as tx:
        await tx.execute(
            "insert into media_files (id, kind, url, state, path, due, found_at) "
            "values (?, 'photo', ?, 'kept', 'picture.png', 1, 1)",
            *(PICTURE.id, PICTURE.url),
        )

    def refuse(media: str) -> None:
        raise PermissionError(media)

    number = await number_of(crawled, "x:1")
    with pytest.raises(PermissionError):
        await Forgetter(crawled.database, RealClock(), refuse).forget(wish(number))
    assert await crawled.count("media_files") == 1
    assert await crawled.count("posts") == 1
    removed: list[str] = []
    await Forgetter(crawled.database, RealClock(), removed.append).forget(wish(number))
    assert removed == [PICTURE.id]
    assert await crawled.count("media_files") == await crawled.count("posts") == 0


async def test_numbers_of_forgotten_account_and_post_are_not_given_again(crawled: Crawled) -> None:
    page = Page(users=(user("1"),), posts=(post("5", "1"),), results=1)
    await crawled.save(page, TIMELINE, "1")
    account = await number_of(crawled, "x:1")
    forgotten = (await crawled.row("select post_no from posts"))["post_no"]
    await Forgetter(crawled.database, RealClock()).forget(wish(account))
    later = await Crawled(crawled.database).register()
    async with later.database.transaction() as tx:
        await later.store.allowed(tx, Page(), X)
    await later.save(Page(users=(user("2"),), results=1), PROFILES, "2")
    await later.save(Page(posts=(post("6", "2"),), results=1), POSTS, "6")
    assert await number_of(crawled, "x:2") > account
    assert (await crawled.row("select post_no from posts"))["post_no"] > forgotten
