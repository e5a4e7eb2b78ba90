"""Trends, featured tags and link timelines of a Mastodon server."""

from __future__ import annotations

import pytest
from provider_payloads import answer, mastodon, read, status

from bowerbird.errors import UserError
from bowerbird.model import Ask, Trend, UserTag
from failures import raises_code


def test_trending_tags_and_links_are_ranked_with_the_latest_days_use() -> None:
    tags = [{"name": "Birds", "url": "https://m.example/tags/birds", "history": [{"day": "1", "uses": "12"}, {"uses": "3"}]}]
    assert read(mastodon, "trends", "tags", answer(tags)).trends == (Trend("birds", 1, volume=12),)
    links = read(mastodon, "trends", "links", answer([{"url": "https://e.example/", "history": []}, {"url": None}]))
    assert links.trends == (Trend("https://e.example/", 1),)
    assert len(links.broken) == 1


def test_featured_tags_belong_to_the_account_asked_about() -> None:
    page = read(mastodon, "tags", "7", answer([{"id": "4", "name": "CoolFree", "statuses_count": "2"}, {"name": "x"}]))
    assert page.user_tags == (UserTag("7", "4", "coolfree", 2),)
    assert len(page.broken) == 1


def test_trending_posts_go_on_by_offset() -> None:
    full = answer([status(str(n)) for n in range(100, 140)])
    assert read(mastodon, "trending", "all", full).cursor == "40"
    assert read(mastodon, "trending", "all", answer([status("1")]), cursor="40").cursor is None


def test_the_timeline_of_a_link_is_asked_for_by_its_address() -> None:
    request = mastodon.request(Ask("link", ("https://e.example/a",)))
    assert (request.path, dict(request.query)["url"]) == ("/api/v1/timelines/link", "https://e.example/a")
    assert mastodon.request(Ask("trends", ("../admin",))).path == "/api/v1/trends/tags"


@pytest.mark.parametrize(
    ("facet", "text", "named"), [("trends", "posts", "'posts' tags links"), ("link", "e.example", "'e.example' https://")]
)
def test_other_words_are_refused_with_advice(facet: str, text: str, named: str) -> None:
    with raises_code(UserError, "invalid") as caught:
        mastodon.target(text, mastodon.facets[facet])
    assert facet in caught.value.problem
    assert all(value in str(caught.value) for value in named.split())
