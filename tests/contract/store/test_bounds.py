"""One item cannot bring more than anybody would write: what is beyond is left out and counted, on both databases."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from store_pages import FEDIVERSE, Crawled, user

from bowerbird.model import (
    Answer,
    Ask,
    Media,
    Page,
    Poll,
    PollOption,
    Post,
    Subject,
    Trend,
    UserTag,
    Version,
)
from bowerbird.ports import Database
from bowerbird.providers import provider
from bowerbird.store import Store
from bowerbird.store.intake.bounds import MOST_BESIDE, MOST_NAMED, MOST_PARTS, MOST_VERSIONS, NAMED_PER_POST, bounded_page

AT = datetime(2026, 1, 1, tzinfo=UTC)
HOME = "https://mammoth.example"
ACCOUNT = {"id": "1", "username": "a", "acct": "a", "url": f"{HOME}/@a", "uri": f"{HOME}/users/a", "indexable": True}
MANY = tuple(f"{10**17 + number}" for number in range(3_000))
PARTS: dict[str, tuple[Any, Callable[[Post], int]]] = {
    "mentions": (MANY, lambda post: len(post.mentions)),
    "tags": (MANY, lambda post: len(post.tags)),
    "cashtags": (MANY, lambda post: len(post.cashtags)),
    "links": (MANY, lambda post: len(post.links)),
    "labels": (MANY, lambda post: len(post.labels)),
    "media": (tuple(Media(id=key, kind="image", url=key) for key in MANY), lambda post: len(post.media)),
    "emoji": (dict.fromkeys(MANY, 1), lambda post: len(post.emoji or ())),
    "poll": (Poll(options=tuple(map(PollOption, MANY))), lambda post: len(post.poll.options) if post.poll else 0),
}


def status(number: int, mentions: int) -> dict[str, Any]:
    named = [{"id": f"{10**17 + number * 1_000_000 + each}"} for each in range(mentions)]
    return {
        "id": f"{109_000_000_000_000_000 + number}",
        "uri": f"{HOME}/users/a/statuses/{number}",
        "created_at": "2026-01-01T00:00:00.000Z",
        "account": ACCOUNT,
        "content": "<p>x</p>",
        "visibility": "public",
        "mentions": named,
    }


def timeline(*statuses: dict[str, Any]) -> Page:
    speaks, ask = provider("mastodon"), Ask("timeline", ("1",))
    body = json.dumps(statuses).encode()
    assert len(body) <= speaks.request(ask).most, "the transport would refuse it"
    return speaks.parse(ask, Answer(status=200, body=body, sent_at=AT, received_at=AT), FEDIVERSE)


@pytest.fixture
async def crawled(database: Database) -> Crawled:
    return await Crawled(database).register()


async def save(crawled: Crawled, page: Page) -> None:
    cleaned = Store(crawled.database).clean(page)
    await crawled.save(cleaned, provider("mastodon").facets["timeline"], "1", service=FEDIVERSE)


async def test_a_post_that_mentions_everybody_brings_some_of_them_and_a_note(crawled: Crawled) -> None:
    await save(crawled, timeline(status(1, 100_000)))
    assert await crawled.count("users") == MOST_PARTS + 1
    assert await crawled.count("posts") == 1
    row = await crawled.row("select why, raw from quarantine")
    assert all(value in row["why"] for value in ("mentions", "99,500 of 100,000"))
    assert f"{HOME}/users/a/statuses/1" in bytes(row["raw"]).decode()


async def test_nor_do_many_posts_that_mention_others_each(crawled: Crawled) -> None:
    await save(crawled, timeline(*(status(number, 400) for number in range(240))))
    assert await crawled.count("posts") == 240
    assert await crawled.count("users") == 1 + MOST_NAMED + 240 * NAMED_PER_POST
    row = await crawled.row("select subject, why from quarantine")
    named = 240 * 400
    assert (row["subject"], f"{named - MOST_NAMED - 240 * NAMED_PER_POST:,} of {named:,}" in row["why"]) == ("user", True)


async def test_the_same_few_accounts_may_be_mentioned_by_all(crawled: Crawled) -> None:
    """A thread in which everybody answers everybody."""
    posts = [status(number, 0) | {"mentions": [{"id": f"{each}"} for each in range(2, 400)]} for number in range(200)]
    await save(crawled, timeline(*posts))
    assert await crawled.count("post_mentions") == 200 * 398
    assert await crawled.count("quarantine") == 0


@pytest.mark.parametrize("name", PARTS)
def test_every_kind_of_part_has_a_bound(name: str) -> None:
    many, size = PARTS[name]
    page = Page(posts=(Post(id="1", key="1", author="1", **{name: many}), Post(id="2", key="2", author="1")))
    (post, other), notes = (bounded := bounded_page(page)).posts, bounded.broken
    assert size(post) == MOST_PARTS
    assert other is page.posts[1]
    assert [(note.subject, note.is_part, "2,500 of 3,000" in note.why) for note in notes] == [(Subject.POST, True, True)]


def test_labels_of_accounts_and_what_comes_beside_items_have_one_too() -> None:
    many = range(10_000)
    page = Page(
        users=(user("1", labels=MANY),),
        versions=tuple(Version(post="1", at=AT.replace(year=1 + number % 9_000), links=MANY) for number in many),
        trends=tuple(Trend(f"{number}", number) for number in many),
        user_tags=tuple(UserTag("1", f"{number}", "x") for number in many),
    )
    found = bounded_page(page)
    assert len(found.users[0].labels) == MOST_PARTS
    assert (len(found.versions), len(found.versions[0].links)) == (MOST_VERSIONS, MOST_PARTS)
    assert (len(found.trends), len(found.user_tags)) == (MOST_BESIDE, MOST_BESIDE)
    assert len(found.broken) == 4


def test_a_page_like_any_other_is_the_very_same() -> None:
    page = timeline(*(status(number, 5) for number in range(40)))
    assert bounded_page(page) is page


LISTS = {
    ("bluesky", "following_records"): lambda n: {
        "uri": f"at://did:plc:{'a' * 24}/app.bsky.graph.follow/{n}",
        "value": {"$type": "app.bsky.graph.follow", "subject": f"did:web:a{n}.example"},
    },
    ("bluesky", "members"): lambda n: {"subject": {"did": f"did:web:a{n}.example", "handle": f"a{n}.example"}},
    ("bluesky", "likes"): lambda n: {"actor": {"did": f"did:web:a{n}.example", "handle": f"a{n}.example"}},
    ("twitter_v1", "members"): lambda n: {"id_str": f"{n}", "screen_name": f"a{n}"},
}
NAMES = {"following_records": "records", "members": "items", "likes": "likes"}


@pytest.mark.parametrize(("network", "facet"), LISTS)
def test_a_list_brings_no_more_accounts_than_were_asked_for_within_reason(network: str, facet: str) -> None:
    speaks = provider(network)
    target = f"did:plc:{'a' * 24}" if facet == "following_records" else f"at://did:plc:{'a' * 24}/x.y/1"
    ask = Ask(facet, (target if network == "bluesky" else "5",))
    name = "users" if network == "twitter_v1" else NAMES[facet]
    most = 4 * speaks.facets[facet].results_per_call + 100
    body = json.dumps({name: [LISTS[network, facet](number) for number in range(1, most + 5_000)]}).encode()
    assert len(body) <= speaks.request(ask).most, "the transport would refuse it"
    page = speaks.parse(ask, Answer(status=200, body=body, sent_at=AT, received_at=AT), FEDIVERSE)
    assert max(len(page.relations), len(page.members), len(page.reactions)) == most
    assert (page.is_whole, page.cursor) == (False, None)
