"""References by a server's own key become ids when the post they mean is stored, in either order, on both databases."""

from __future__ import annotations

import pytest
from store_pages import FEDIVERSE, OTHER, POSTS, TIMELINE, Crawled, toot

from bowerbird.model import Page, PostKind
from bowerbird.ports import Database

PARENT = "https://home.example/users/ada/statuses/10"


@pytest.fixture
async def crawled(database: Database) -> Crawled:
    return await Crawled(database).register()


def answer(key: str, to: str = "mastodon:mammoth/10", **fields: object) -> Page:
    return Page(posts=(toot(key, "bob", kind=PostKind.REPLY, reply_to=to, **fields),))


PARENTS = Page(posts=(toot("10", "ada"),))


async def references(crawled: Crawled, column: str = "reply_to") -> list[str | None]:
    rows = await crawled.rows(f"select {column} as known from posts where id like '%/bob/%' order by id")
    return [row["known"] for row in rows]


@pytest.mark.parametrize("parent_first", [True, False])
async def test_a_reply_and_its_parent_are_joined_whichever_comes_first(crawled: Crawled, parent_first: bool) -> None:
    for page in (PARENTS, answer("11")) if parent_first else (answer("11"), PARENTS):
        await crawled.save(page, TIMELINE, "1", service=FEDIVERSE)
    assert await references(crawled) == [PARENT]
    assert await crawled.count("post_history") == 0
    await crawled.save(answer("11", likes=4), TIMELINE, "1", service=FEDIVERSE)
    assert await references(crawled) == [PARENT]


@pytest.mark.parametrize("parent_first", [True, False])
async def test_a_quote_is_joined_too(crawled: Crawled, parent_first: bool) -> None:
    quote = Page(posts=(toot("12", "bob", kind=PostKind.QUOTE, quote_of="mastodon:mammoth/10"),))
    for page in (PARENTS, quote) if parent_first else (quote, PARENTS):
        await crawled.save(page, POSTS, "10", service=FEDIVERSE)
    assert await references(crawled, "quote_of") == [PARENT]


async def test_a_key_means_a_post_on_its_own_server_only(crawled: Crawled) -> None:
    await crawled.save(answer("11"), TIMELINE, "1", service=FEDIVERSE)
    await crawled.save(PARENTS, TIMELINE, "1", service=OTHER)
    assert await references(crawled) == ["mastodon:mammoth/10"]
    # Its own server shows what another has brought already: now the key is known.
    await crawled.save(PARENTS, TIMELINE, "1", service=FEDIVERSE)
    assert await references(crawled) == [PARENT]


async def test_streams_join_as_well(crawled: Crawled) -> None:
    await crawled.hear(answer("11"), service=FEDIVERSE)
    await crawled.hear(PARENTS, service=FEDIVERSE)
    assert await references(crawled) == [PARENT]


@pytest.mark.parametrize("quoted", ["10", "20"])
async def test_a_post_that_waits_for_two_is_joined_with_both_by_one_page(crawled: Crawled, quoted: str) -> None:
    await crawled.save(answer("11", quote_of=f"mastodon:mammoth/{quoted}"), TIMELINE, "1", service=FEDIVERSE)
    await crawled.save(Page(posts=(*PARENTS.posts, toot("20", "ada"))), TIMELINE, "1", service=FEDIVERSE)
    assert await references(crawled) == [PARENT]
    assert await references(crawled, "quote_of") == [f"https://home.example/users/ada/statuses/{quoted}"]
