"""Repository exports: the tree is walked, records become items, and broken files never raise."""

from __future__ import annotations

import random
from datetime import UTC, datetime
from typing import Any

from bluesky_payloads import ALICE, BOB, CAROL, post_uri, read, record, ref
from provider_payloads import answer

from bowerbird.model import Outcome, PostKind
from bowerbird.simulated.bluesky.car import export
from bowerbird.simulated.bluesky.ids import tid
from bowerbird.simulated.world.settings import to_ms

REV = "3mmoojpaqkn2z"
PICTURE = "bafkreihdwdcefgh4dqkjv67uzcmw7ojee6xedzdetojuzjevtenxquvyku"
IMAGE = {"$type": "app.bsky.embed.images", "images": [{"alt": "", "image": {"ref": {"$link": PICTURE}}}]}
POSTS = 40


def records() -> dict[str, Any]:
    made_at = datetime(2026, 5, 25, tzinfo=UTC)
    posts = {f"app.bsky.feed.post/{tid(to_ms(made_at) + number, 5)}": record(embed=IMAGE) for number in range(POSTS)}
    return {
        **posts,
        "app.bsky.feed.repost/3mmoojp4cd223": {"subject": ref(post_uri(BOB)), "createdAt": "2026-05-25T14:23:28Z"},
        "app.bsky.graph.follow/3mmoojp4cd223": {"subject": BOB, "createdAt": "2026-05-25T14:23:28Z"},
        "app.bsky.graph.follow/3mmoojp4cd224": {"subject": CAROL, "createdAt": "2026-05-25T14:23:28Z"},
        "app.bsky.actor.profile/self": {"displayName": "Alice", "labels": {"values": [{"val": "!no-unauthenticated"}]}},
        "app.bsky.feed.like/3mmoojp4cd223": {"subject": ref(post_uri(BOB))},
    }


def test_an_export_brings_profile_posts_reposts_and_follows() -> None:
    page = read("repo", ALICE, answer(export(ALICE, REV, records())))
    assert page.outcome is Outcome.OK, page.detail
    kinds = [post.kind for post in page.posts]
    assert (kinds.count(PostKind.POST), kinds.count(PostKind.REPOST)) == (POSTS, 1)
    follows = {(each.source, each.target, each.record) for each in page.relations}
    assert follows == {(ALICE, BOB, "3mmoojp4cd223"), (ALICE, CAROL, "3mmoojp4cd224")}
    assert (page.users[0].id, page.users[0].name, page.users[0].opts_out) == (ALICE, "Alice", True)
    assert (page.head, page.cursor, page.results) == (REV, None, POSTS + 4)
    picture = next(post for post in page.posts if post.media).media[0]
    assert picture.id == PICTURE
    assert picture.url == f"https://cdn.bsky.app/img/feed_fullsize/plain/{ALICE}/{picture.id}@jpeg"


def test_a_partial_export_brings_only_what_is_new() -> None:
    new = "app.bsky.feed.repost/3mmoojp4cd223"
    page = read("repo", ALICE, answer(export(ALICE, REV, records(), frozenset({new}))), newest="3mmoojp4cd222")
    assert [post.kind for post in page.posts] == [PostKind.REPOST]
    assert page.broken == ()


def test_of_two_follows_of_the_same_account_the_newer_record_names_the_relation() -> None:
    twice = {"app.bsky.graph.follow/3mmoojp4cd223": {"subject": BOB}, "app.bsky.graph.follow/3mmoojp4cd224": {"subject": BOB}}
    page = read("repo", ALICE, answer(export(ALICE, REV, twice)))
    assert [(each.target, each.record) for each in page.relations] == [(BOB, "3mmoojp4cd224")]


def test_a_partial_export_without_any_block_says_that_nothing_is_new() -> None:
    whole = export(ALICE, REV, records())
    # Its first byte is the length of the header.
    body = whole[: 1 + whole[0]]
    page = read("repo", ALICE, answer(body), newest=REV)
    assert (page.outcome, page.results, page.head, [user.id for user in page.users]) == (Outcome.OK, 0, None, [ALICE])
    assert read("repo", ALICE, answer(body)).outcome is Outcome.UNREADABLE


def test_one_broken_record_loses_only_itself() -> None:
    damaged = {
        **records(),
        "app.bsky.feed.post/3mmoojp4cd225": {"text": ["?"]},
        "app.bsky.graph.follow/3mmoojp4cd226": {"subject": 5},
    }
    page = read("repo", ALICE, answer(export(ALICE, REV, damaged)))
    assert len(page.broken) == 2
    assert len(page.relations) == 2


def test_the_repository_of_another_account_is_refused() -> None:
    assert read("repo", BOB, answer(export(ALICE, REV, records()))).outcome is Outcome.UNREADABLE


def test_damaged_exports_never_raise() -> None:
    whole, chance = export(ALICE, REV, records()), random.Random(7)
    for _ in range(400):
        body = bytearray(whole[: chance.randrange(len(whole) + 1)] if chance.random() < 0.3 else whole)
        for _ in range(chance.randint(1, 6)):
            if body:
                body[chance.randrange(len(body))] = chance.randrange(256)
        page = read("repo", ALICE, answer(bytes(body)))
        assert page.outcome in (Outcome.OK, Outcome.UNREADABLE)
        assert page.outcome is Outcome.OK or page.gone == ()
