"""Accounts whose servers do not send their ids: known by the address of the profile, and one row once the id is told."""

from __future__ import annotations

from itertools import permutations

import pytest
from store_pages import FEDIVERSE, FOLLOWERS, HOME, OTHER, PROFILES, TIMELINE, Crawled, followers

from bowerbird.model import Page, Post, User
from bowerbird.ports import Database

ID, ADDRESS = "https://home.example/users/bob", "https://home.example/@bob"
TAKAHE = ("https://home.example/@bob@home.example/", "https://home.example/@bob/")


@pytest.fixture
async def crawled(database: Database) -> Crawled:
    return await Crawled(database).register()


def bob(known: str, address: str | None = ADDRESS, **fields: object) -> User:
    return User(id=known, key="7", handle="bob@home.example", url=address, **fields)


async def people(crawled: Crawled) -> list[str]:
    return [row["id"] for row in await crawled.rows("select id from users where id not like 'mastodon:%' order by id")]


@pytest.mark.parametrize(("known", "address"), [(ID, ADDRESS), TAKAHE], ids=["gotosocial", "takahe"])
@pytest.mark.parametrize("order", list(permutations(range(3))), ids=lambda order: "".join(map(str, order)))
async def test_one_person_is_one_row_whoever_tells_the_id_and_when(
    crawled: Crawled, known: str, address: str, order: tuple[int, ...]
) -> None:
    """The own server shows a profile by its address alone and, with a post, the id; another server tells both."""
    post = Post(id=f"{known.rstrip('/')}/statuses/1", key="1", author=known, text="hello")
    pages = (
        (Page(users=(bob(address, address),), relations=followers("7", "8")), FOLLOWERS, HOME),
        (Page(users=(bob(known, address),), posts=(post,)), TIMELINE, HOME),
        (Page(users=(bob(known, address),)), PROFILES, FEDIVERSE),
    )
    for number in order:
        page, facet, service = pages[number]
        await crawled.save(page, facet, "7", service=service)
    assert await people(crawled) == [known]
    row = await crawled.row("select told_by, user_no from users where id = ?", known)
    assert row["told_by"] == -1
    assert await crawled.count("user_keys", f"user_no = {row['user_no']}") == 2
    assert await crawled.count("relations", f"target = {row['user_no']}") == 1
    assert await crawled.count("posts", f"author = {row['user_no']}") == 1
    await crawled.save(pages[0][0], FOLLOWERS, "7", service=HOME)
    assert await people(crawled) == [known]


async def test_who_was_only_mentioned_is_joined_too(crawled: Crawled) -> None:
    await crawled.save(
        Page(posts=(Post(id=f"{ID}/statuses/1", key="1", author=ID, text="hello"),)), TIMELINE, "7", service=FEDIVERSE
    )
    await crawled.save(Page(users=(bob(ADDRESS, description="diver"),)), PROFILES, "7", service=HOME)
    assert await people(crawled) == [ID]


async def test_an_opted_out_account_stays_so_under_its_other_name(crawled: Crawled) -> None:
    await crawled.save(Page(users=(bob(ADDRESS, opts_out=True),)), PROFILES, "7", service=HOME)
    post = Post(id=f"{ID}/statuses/1", key="1", author=ID, text="hello")
    await crawled.save(Page(users=(bob(ID),), posts=(post,)), TIMELINE, "7", service=FEDIVERSE)
    assert await people(crawled) == [ID]
    assert await crawled.count("posts", "text is not null") == 0


@pytest.mark.parametrize(
    "claim",
    [
        bob("https://evil.example/users/bob"),
        bob("https://home.example/users/mallory"),
        User(id="https://evil.example/users/eve", key="7", url=ADDRESS),
    ],
    ids=["other_host", "other_name", "other_both"],
)
async def test_nobody_takes_over_a_row_by_claiming_its_address(crawled: Crawled, claim: User) -> None:
    await crawled.save(Page(users=(bob(ADDRESS, description="diver"),)), PROFILES, "7", service=HOME)
    await crawled.save(Page(users=(claim,)), PROFILES, "7", service=OTHER)
    assert await people(crawled) == sorted([ADDRESS, claim.id])
    row = await crawled.row("select description from users where id = ?", ADDRESS)
    assert row["description"] == "diver"
