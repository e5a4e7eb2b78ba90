"""Edited posts: the newest version stands and history is in the order of the edits, however they come. On both databases."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from itertools import permutations
from typing import Any

import pytest
from store_pages import FEDIVERSE, POSTS, SKY, START, Crawled, X, post, skeet, toot

from bowerbird.model import Page, Post, Service
from bowerbird.ports import Database
from bowerbird.store import register_service

WEIBO = Service(name="weibo", provider="weibo", base="https://api.weibo.example")
EDITS = (None, *(datetime(2026, 3, 2, hour, tzinfo=UTC) for hour in (1, 2, 3)))
WORDS = (
    {"text": "first", "warning": "spoiler", "links": ("https://a.example",), "tags": ("one",)},
    {"text": "second", "warning": "spoiler", "tags": ("two",)},
    {"text": "third", "language": "en", "is_sensitive": True, "tags": ("three",)},
    {"text": "fourth", "language": "pt", "tags": ("four",)},
)


def weibo_post(key: str, **fields: Any) -> Post:
    return Post(id=f"weibo:{key}", key=key, author="weibo:1", created_at=START, **fields)


WRITERS = {
    "mastodon": (FEDIVERSE, lambda **fields: toot("10", "ada", **fields)),
    "weibo": (WEIBO, lambda **fields: weibo_post("10", **fields)),
    "bluesky": (SKY, lambda **fields: skeet("10", **fields)),
}


@pytest.fixture
async def crawled(database: Database) -> Crawled:
    async with database.transaction() as tx:
        await register_service(tx, WEIBO, "weibo")
    return await Crawled(database).register()


async def state(crawled: Crawled) -> tuple[Any, ...]:
    """The stored post with its tags, and its history in the order in which it is read."""
    row = await crawled.row("select * from posts")
    fields = ("text", "warning", "language", "is_sensitive", "links", "edited_at")
    tags = [each["tag"] for each in await crawled.rows("select tag from post_tags")]
    steps = await crawled.rows("select before, after from post_history order by at, call")
    return [row[name] for name in fields], tags, [(json.loads(step["before"]), json.loads(step["after"])) for step in steps]


async def told(crawled: Crawled, network: str, order: tuple[int, ...], *, is_live: bool) -> tuple[Any, ...]:
    service, write = WRITERS[network]
    for number in order:
        page = Page(posts=(write(edited_at=EDITS[number], **WORDS[number]),))
        if is_live:
            await crawled.hear(page, service=service)
        else:
            await crawled.save(page, POSTS, "10", service=service)
    return await state(crawled)


@pytest.mark.parametrize("order", list(permutations(range(3))), ids=lambda order: "".join(map(str, order)))
@pytest.mark.parametrize(("network", "is_live"), [("mastodon", True), ("mastodon", False), ("weibo", False), ("bluesky", True)])
async def test_every_order_of_versions_gives_the_same_post_and_history(
    crawled: Crawled, network: str, is_live: bool, order: tuple[int, ...]
) -> None:
    current, tags, steps = await told(crawled, network, order, is_live=is_live)
    assert (current[0], current[1], current[4], tags) == ("third", None, None, ["three"])
    assert [(before["text"], after["text"]) for before, after in steps] == [("first", "second"), ("second", "third")]
    assert [after["edited_at"] for _, after in steps] == [_micros(EDITS[1]), _micros(EDITS[2])]
    assert [before["edited_at"] for before, _ in steps] == [None, _micros(EDITS[1])]
    assert steps[0][0]["links"] == '["https://a.example"]'
    assert (steps[1][0]["warning"], steps[1][1]["warning"]) == ("spoiler", None)
    # What comes again, from a page or after a cut, changes nothing.
    assert await told(crawled, network, (0, 1, 2, 1), is_live=is_live) == (current, tags, steps)


@pytest.mark.parametrize("order", [(3, 0, 2, 1), (1, 3, 0, 2), (2, 3, 1, 0), (0, 3, 1, 2)], ids=str)
async def test_four_versions_too(crawled: Crawled, order: tuple[int, ...]) -> None:
    current, tags, steps = await told(crawled, "mastodon", order, is_live=True)
    assert (current[0], tags) == ("fourth", ["four"])
    assert [(before["text"], after["text"]) for before, after in steps] == [
        ("first", "second"),
        ("second", "third"),
        ("third", "fourth"),
    ]


async def test_counters_that_changed_with_an_edit_stay_in_its_line(crawled: Crawled) -> None:
    await crawled.save(Page(posts=(toot("10", "ada", likes=1, text="first"),)), POSTS, "10", service=FEDIVERSE)
    third = toot("10", "ada", likes=5, text="third", edited_at=EDITS[2])
    await crawled.save(Page(posts=(third,)), POSTS, "10", service=FEDIVERSE)
    second = toot("10", "ada", likes=3, text="second", edited_at=EDITS[1])
    await crawled.save(Page(posts=(second,)), POSTS, "10", service=FEDIVERSE)
    _, _, steps = await state(crawled)
    assert [step[1].get("likes") for step in steps] == [None, 5]
    assert (await crawled.row("select likes from posts"))["likes"] == 5


async def test_an_older_look_at_the_same_words_still_brings_counters(crawled: Crawled) -> None:
    edited = toot("10", "ada", text="words", edited_at=EDITS[1], likes=1)
    await crawled.save(Page(posts=(edited,)), POSTS, "10", service=FEDIVERSE)
    await crawled.save(Page(posts=(toot("10", "ada", text="words", likes=2),)), POSTS, "10", service=FEDIVERSE)
    row = await crawled.row("select likes, edited_at from posts")
    assert (row["likes"], row["edited_at"]) == (2, _micros(EDITS[1]))
    assert await crawled.count("post_history") == 0


@pytest.mark.parametrize(("lag", "text"), [(timedelta(seconds=20), "new"), (timedelta(minutes=10), "newest")])
async def test_on_bluesky_a_page_that_lags_behind_the_stream_takes_nothing_back(
    crawled: Crawled, lag: timedelta, text: str
) -> None:
    """Pages tell no time of an edit there: what was asked for well after it is the post as it is now."""
    await crawled.hear(Page(posts=(skeet("10", text="old"),)))
    edit = crawled.now + timedelta(hours=1)
    await crawled.hear(Page(posts=(skeet("10", text="new", edited_at=edit),)))
    await crawled.leased(edit + lag, POSTS)
    shown = "old" if text == "new" else text
    await crawled.save(Page(posts=(skeet("10", text=shown),)), POSTS, "at://10", service=SKY, after=timedelta(minutes=11))
    row = await crawled.row("select text, edited_at from posts")
    assert (row["text"], row["edited_at"]) == (text, _micros(edit if text == "new" else crawled.now))


async def test_on_x_an_edited_post_is_a_post_of_its_own(crawled: Crawled) -> None:
    await crawled.save(Page(posts=(post("10", text="edited", edited_at=EDITS[1]),)), POSTS, "10", service=X)
    await crawled.save(Page(posts=(post("10", text="edited…"),)), POSTS, "10", service=X)
    row = await crawled.row("select text, edited_at from posts")
    assert (row["text"], row["edited_at"]) == ("edited…", _micros(EDITS[1]))


def _micros(when: datetime | None) -> int | None:
    return None if when is None else round(when.timestamp() * 1_000_000)
