"""Pages saved at the same time, and posts seen in more than one form: the order must not matter."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from itertools import permutations

import pytest
from store_pages import FEDIVERSE, FOLLOWERS, FOLLOWING, PROFILES, TIMELINE, Crawled, federated, followers, following, toot

from bowerbird.model import Facet, Page, Post, PostKind, Saved
from bowerbird.ports import Database


@pytest.fixture
async def crawled(database: Database) -> Crawled:
    return await Crawled(database).register()


async def save(crawled: Crawled, page: Page, facet: Facet, target: str) -> Saved:
    return await crawled.save(page, facet, target, service=FEDIVERSE)


def new_users(saved: list[Saved]) -> int:
    return sum(user.is_new for each in saved for user in each.users)


def new_posts(saved: list[Saved]) -> int:
    return sum(post.is_new for each in saved for post in each.posts)


async def at_once(crawled: Crawled, pages: Sequence[tuple[Page, Facet, str]]) -> list[Saved]:
    return list(await asyncio.gather(*(save(crawled, *each) for each in pages)))


async def test_pages_saved_at_once_find_each_person_and_each_post_new_once(crawled: Crawled) -> None:
    people = [federated(f"u{n}", str(n)) for n in range(1, 9)]
    # Known by name already: then nothing makes the second page wait for the first by itself.
    await save(
        crawled, Page(users=tuple(people[:1]), posts=(toot("9", "u1", mentions=tuple("2345678")),), results=1), TIMELINE, "1"
    )
    posts = [toot(f"1{n}", f"u{n}") for n in range(1, 9)]
    pages = [(Page(users=tuple(people), posts=(post,), results=1), TIMELINE, "1") for post in posts]
    saved = await at_once(crawled, pages * 2)
    assert (new_users(saved), new_posts(saved)) == (7, 8)
    assert (await crawled.count("users"), await crawled.count("posts"), await crawled.count("user_history")) == (8, 9, 0)


async def test_an_edge_that_both_its_ends_show_at_once_is_new_once(crawled: Crawled) -> None:
    others = [str(n) for n in range(2, 9)]
    await save(crawled, Page(users=tuple(federated(f"u{n}", str(n)) for n in range(1, 9)), results=8), PROFILES, "1")
    lists = [(Page(relations=following("1", *others), results=7), FOLLOWING, "1")]
    lists += [(Page(relations=followers(other, "1"), results=1), FOLLOWERS, other) for other in others]
    saved = await at_once(crawled, lists)
    assert sum(each.relations_new for each in saved) == await crawled.count("relations") == 7


async def test_somebody_named_on_one_page_and_shown_on_another_at_once_is_one_person(crawled: Crawled) -> None:
    await save(crawled, Page(users=(federated("ada", "1"),), results=1), PROFILES, "1")
    keys = [str(n) for n in range(2, 22)]
    naming = [(Page(users=(federated("ada", "1"),), posts=(toot(f"9{k}", "ada", mentions=(k,)),)), TIMELINE, "1") for k in keys]
    showing = [(Page(users=(federated(f"u{k}", k),), posts=(toot(f"8{k}", f"u{k}"),)), TIMELINE, k) for k in keys]
    await at_once(crawled, [page for pair in zip(naming, showing, strict=True) for page in pair])
    assert await crawled.count("users") == 21
    assert await crawled.count("users", "id like 'mastodon:%'") == 0
    assert len(await crawled.rows("select u.handle from post_mentions m join users u on u.user_no = m.user_no")) == 20


QUOTED = toot("5", "bob").id
WHOLE = toot("10", "ada", kind=PostKind.QUOTE, quote_of=QUOTED)
EMBEDDED = toot("10", "ada", kind=PostKind.POST)
BY_KEY = toot("10", "ada", kind=PostKind.QUOTE, quote_of="mastodon:mammoth/5")


@pytest.mark.parametrize("order", list(permutations((WHOLE, EMBEDDED, BY_KEY))))
async def test_what_a_post_quotes_is_remembered_in_whatever_order_it_is_seen(crawled: Crawled, order: tuple[Post, ...]) -> None:
    for sighting in order:
        await save(crawled, Page(users=(federated("ada", "1"),), posts=(sighting,), results=1), TIMELINE, "1")
    row = await crawled.row("select kind, quote_of from posts")
    assert (row["kind"], row["quote_of"]) == ("quote", QUOTED)
    assert await crawled.count("post_history") == 0
