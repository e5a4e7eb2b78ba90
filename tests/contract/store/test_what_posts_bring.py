"""Polls, cashtags, cut texts and links between posts, as the store keeps them and their changes."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest
from store_pages import POSTS, SKY, TIMELINE, Crawled, post, user

from bowerbird.analysis.cascades import rebuild
from bowerbird.model import Page, Poll, PollOption, Post, PostKind, Version
from bowerbird.ports import Database
from bowerbird.reports.browsing.items import ItemReader
from bowerbird.reports.studies.cascades import CascadeReader

ENDS = datetime(2026, 3, 9, tzinfo=UTC)


@pytest.fixture
async def crawled(database: Database) -> Crawled:
    return await Crawled(database).register()


def poll(*votes: int | None, is_closed: bool = False) -> Poll:
    options = tuple(PollOption(title, number) for title, number in zip(("yes", "no"), votes, strict=True))
    total = sum(each or 0 for each in votes)
    return Poll(options=options, votes=total, voters=total, is_multiple=False, is_closed=is_closed, ends_at=ENDS)


async def see(crawled: Crawled, *posts: Post, after: timedelta = timedelta(days=2)) -> None:
    await crawled.save(Page(users=(user("1"),), posts=posts), POSTS, after=after)


async def stored(crawled: Crawled) -> list[dict[str, Any]]:
    return [item async for item in ItemReader(crawled.database).posts(with_raw=False)]


async def test_a_poll_is_kept_with_its_results_over_time(crawled: Crawled) -> None:
    await see(crawled, post("10", poll=poll(1, 0)))
    await see(crawled, post("10", poll=poll(4, 2)))
    await see(crawled, post("10"))
    await see(crawled, post("10", poll=poll(7, 3, is_closed=True)))
    (item,) = await stored(crawled)
    options = [{"title": "yes", "votes": 7}, {"title": "no", "votes": 3}]
    assert item["poll"] == {
        "options": options, "votes": 10, "voters": 10, "is_multiple": False, "is_closed": True, "ends_at": "2026-03-09T00:00:00Z",
    }  # fmt: skip
    rows = await crawled.rows("select before, after from post_history order by at")
    results = [msgspec.json.decode(msgspec.json.decode(row["after"])["poll"])["votes"] for row in rows]
    assert results == [6, 10]


async def test_votes_are_counters_and_make_history_at_most_once_a_day(crawled: Crawled) -> None:
    await see(crawled, post("10", poll=poll(1, 0)))
    for votes in range(2, 9):
        await see(crawled, post("10", poll=poll(votes, 0)), after=timedelta(hours=6))
    assert await crawled.count("post_history") == 1
    assert (await stored(crawled))[0]["poll"]["votes"] == 8


async def test_what_posts_bring_comes_back(crawled: Crawled) -> None:
    await see(
        crawled,
        post(
            "10",
            quotes=3,
            emoji={"👍": 2},
            cashtags=("bird", "BIRD"),
            edit_of="x:9",
            tags=("Großbritannien", "großbritannien", "x"),
        ),
    )
    (item,) = await stored(crawled)
    assert (item["quotes"], item["emoji"], item["cashtags"], item["edit_of"]) == (3, {"👍": 2}, ["BIRD"], "x:9")
    assert (item["tags"], item["written_tags"]) == (["großbritannien", "x"], ["Großbritannien", "x"])
    assert [row["written"] for row in await crawled.rows("select written from post_tags order by tag")] == [
        "Großbritannien",
        None,
    ]


async def test_the_beginning_of_a_text_never_takes_the_place_of_the_whole(crawled: Crawled) -> None:
    await see(crawled, post("10", text="the begin...", is_cut=True))
    await see(crawled, post("10", text="the beginning and the end", is_cut=False, links=("https://e.example/",)))
    await see(crawled, post("10", text="the begin...", is_cut=True))
    (item,) = await stored(crawled)
    assert (item["text"], item["is_cut"], item["links"]) == ("the beginning and the end", False, ["https://e.example/"])
    assert await crawled.count("post_history") == 1


async def test_versions_keep_their_links(crawled: Crawled) -> None:
    await see(crawled, post("10"))
    at = datetime(2026, 3, 1, tzinfo=UTC)
    for links in ((), ("https://e.example/",)):
        await crawled.save(Page(versions=(Version(post="10", at=at, text="see e", links=links),)), POSTS, "10")
    row = await crawled.row("select text, links from post_versions")
    assert (row["text"], row["links"]) == ("see e", '["https://e.example/"]')


async def test_a_cascade_follows_the_reposts_that_the_service_names(crawled: Crawled) -> None:
    users = tuple(user(str(number)) for number in range(1, 5))
    reposts = [
        post(str(10 * number), str(number), kind=PostKind.REPOST, repost_of="x:10", via=via, text=None)
        for number, via in ((2, None), (3, "x:20"), (4, "x:30"))
    ]
    await crawled.save(Page(users=users, posts=(post("10"), *reposts)), TIMELINE, "1")
    reader = CascadeReader(crawled.database)
    tree = rebuild(await reader.read((await reader.find(["x:10"]))[0]))
    assert (tree.size, tree.depth, [str(step.how) for step in tree.steps[1:]]) == (3, 3, ["unknown", "reported", "reported"])


async def test_whatever_a_service_sends_in_them_is_mended(crawled: Crawled) -> None:
    odd = post(
        "10", poll=Poll(options=(PollOption("a\0b", 1),)), emoji={"\0": 1, "ok": 2}, cashtags=("\0", "OK"), via="\0", quotes=2**70
    )
    await see(crawled, odd)
    (item,) = await stored(crawled)
    assert (item["poll"]["options"], item["emoji"], item["cashtags"]) == ([{"title": "ab", "votes": 1}], {"ok": 2}, ["OK"])
    assert (item["via"], item["quotes"]) == (None, None)


async def test_an_edited_poll_goes_with_its_version(crawled: Crawled) -> None:
    at = datetime(2026, 3, 1, 12, tzinfo=UTC)
    sky = {"id": "at://did:plc:a/app.bsky.feed.post/1", "key": "at://did:plc:a/app.bsky.feed.post/1", "author": "did:plc:a"}
    first = Post(**sky, text="a or b?", poll=poll(1, 2), created_at=at)
    second = Post(**sky, text="no question", edited_at=at + timedelta(hours=1), created_at=at)
    for each in (first, second):
        await crawled.hear(Page(posts=(each,)), service=SKY)
    (item,) = await stored(crawled)
    assert (item["text"], item["poll"]) == ("no question", None)
