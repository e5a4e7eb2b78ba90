"""What the flow `cascades` takes out of pages, and the reactions that providers read into them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest
from bluesky_payloads import ALICE, BOB, actor, post_uri

from bowerbird.crawl.seeding.seeder import FlowSeeder
from bowerbird.flows.flow import Edge, FacetUse, Flow
from bowerbird.model import Answer, Arrival, Ask, Page, Post, PostKind, Reaction, ReactionKind, Saved, Service, Task, User
from bowerbird.providers import provider

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
LANES = {"posts": 1, "reposts": 2, "quotes": 3, "following": 4, "timeline": 5}


def seeded(edge: Edge, page: Page, target: str, depth: int = 0) -> list[tuple[str, int]]:
    flow = Flow("test", tuple(FacetUse(name) for name in LANES), (edge,), (edge.source,))
    task = Task(task=1, lane=LANES[edge.source], target=target, token=1, depth=depth)
    arrivals: Sequence[Arrival] = FlowSeeder(flow, LANES).seed(edge.source, [task], page, Saved())
    return [(arrival.target, arrival.depth) for arrival in arrivals]


def post(key: str, author: str, **other: Any) -> Post:
    return Post(id=f"x:{key}", key=key, author=f"x:{author}", **other)


def user(key: str) -> User:
    return User(id=f"x:{key}", key=key)


def test_only_the_posts_asked_about_are_taken_and_not_those_they_carry() -> None:
    page = Page(users=(user("1"), user("2")), posts=(post("9", "1", kind=PostKind.QUOTE, quote_of="x:8"), post("8", "2")))
    assert seeded(Edge("posts", "reposts", "own_posts"), page, "9") == [("9", 0)]
    assert seeded(Edge("timeline", "reposts", "own_posts"), page, "1", depth=2) == [("9", 2)]


def test_a_quote_is_one_step_from_what_it_quotes() -> None:
    quoting = post("10", "2", kind=PostKind.QUOTE, quote_of="x:9")
    asked = post("9", "1", kind=PostKind.QUOTE, quote_of="x:8")
    carried = post("8", "3", kind=PostKind.QUOTE, quote_of="x:7")
    page = Page(users=tuple(map(user, "123")), posts=(quoting, asked, carried))
    assert seeded(Edge("quotes", "quotes", "quotes"), page, "9", depth=1) == [("10", 2)]
    assert seeded(Edge("quotes", "quotes", "quotes"), Page(posts=(quoting,)), "9") == [("10", 1)]


def test_reposters_are_those_who_passed_on_and_not_those_who_wrote_or_liked() -> None:
    listed = Page(users=(user("5"),), reactions=(Reaction(ReactionKind.REPOST, "9", "5"), Reaction(ReactionKind.LIKE, "9", "6")))
    assert seeded(Edge("reposts", "following", "reposters"), listed, "9") == [("5", 1)]
    reposts = (post("20", "5", kind=PostKind.REPOST, repost_of="x:9"), post("9", "1"))
    assert seeded(Edge("reposts", "following", "reposters"), Page(users=(user("1"), user("5")), posts=reposts), "9") == [("5", 1)]


def read(name: str, facet: str, target: str, body: Any) -> Page:
    answer = Answer(status=200, body=msgspec.json.encode(body), sent_at=NOON, received_at=NOON)
    service = Service(name="s", provider=name, base="https://s.example")
    return provider(name).parse(Ask(facet, (target,)), answer, service)


def reacted(page: Page) -> list[tuple[str, str, str]]:
    return [(str(each.kind), each.post, each.user) for each in page.reactions]


ACCOUNT = {"id": "5", "username": "ada", "acct": "ada", "url": "https://s.example/@ada", "uri": "https://s.example/users/ada"}


@pytest.mark.parametrize(("facet", "kind"), [("reposts", "repost"), ("likes", "like")])
def test_mastodons_lists_of_accounts_are_reactions_to_the_post_asked_about(facet: str, kind: str) -> None:
    page = read("mastodon", facet, "100", [ACCOUNT, {"id": "broken"}])
    assert reacted(page) == [(kind, "100", "5")]
    assert (page.results, len(page.broken)) == (2, 1)


@pytest.mark.parametrize(("facet", "kind"), [("reposters", "repost"), ("likes", "like")])
def test_xs_lists_of_accounts_are_reactions(facet: str, kind: str) -> None:
    body = {"data": [{"id": "5", "username": "ada", "name": "Ada"}], "meta": {"result_count": 1}}
    assert reacted(read("x", facet, "100", body)) == [(kind, "100", "5")]


def test_classic_twitters_ids_of_reposters_are_reactions() -> None:
    assert reacted(read("twitter_v1", "reposters", "20", {"ids": ["5", "6"], "next_cursor_str": "0"})) == [
        ("repost", "20", "5"),
        ("repost", "20", "6"),
    ]


def test_blueskys_likes_tell_when_and_its_reposts_do_not() -> None:
    likes = [
        {"actor": actor(BOB), "createdAt": "2026-05-25T14:20:00Z", "indexedAt": "2026-05-25T14:20:01Z"},
        {"actor": actor(ALICE)},
    ]
    page = read("bluesky", "likes", post_uri(), {"uri": post_uri(), "likes": likes})
    assert reacted(page) == [("like", post_uri(), BOB), ("like", post_uri(), ALICE)]
    assert [each.at for each in page.reactions] == [datetime(2026, 5, 25, 14, 20, 1, tzinfo=UTC), None]
    page = read("bluesky", "reposts", post_uri(), {"uri": post_uri(), "repostedBy": [actor(BOB)]})
    assert page.reactions == (Reaction(ReactionKind.REPOST, post_uri(), BOB),)
