"""Recorded calls of real servers, where the material is at hand: each maps to items or to a normalised outcome."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from provider_payloads import NOON, mastodon, read, twitter
from x_payloads import x

from bowerbird.model import Answer, Outcome

DATA = Path(__file__).parents[4] / "shared" / "data"
pytestmark = pytest.mark.skipif(not DATA.is_dir(), reason="the recordings are not on this machine")

ID = r"(?P<target>[^/?]+)"
MASTODON_PATHS = {
    rf"/api/v1/accounts/{ID}/followers": "followers",
    rf"/api/v1/accounts/{ID}/following": "following",
    rf"/api/v1/accounts/{ID}/statuses": "timeline",
    r"/api/v1/accounts/lookup": "profile",
    r"/api/v1/accounts/\d+": "profile",
    r"/api/v1/accounts": "profiles",
    rf"/api/v1/statuses/{ID}/context": "thread",
    rf"/api/v1/statuses/{ID}/reblogged_by": "reposts",
    rf"/api/v1/statuses/{ID}/favourited_by": "likes",
    rf"/api/v1/statuses/{ID}/quotes": "quotes",
    r"/api/v1/statuses/\d+": "post",
    rf"/api/v1/timelines/tag/{ID}": "hashtag",
    r"/api/v1/timelines/public": "public",
    r"/api/v1/directory": "directory",
    r"/api/v2/search": "people",
}
TWITTER_PATHS = {
    "users/lookup": "profiles",
    "users/show": "profile",
    "followers/ids": "followers",
    "friends/ids": "following",
    "followers/list": "followers_list",
    "friends/list": "following_list",
    "statuses/user_timeline": "timeline",
    "favorites/list": "liked",
    "statuses/lookup": "posts",
    "statuses/show": "post",
    r"statuses/retweets/\d+": "reposts",
    "search/tweets": "search",
    "users/search": "people",
    "lists/members": "members",
    "lists/statuses": "list_timeline",
}
X_PATHS = {
    "users/by": "handles",
    r"users/by/username/(?P<target>\w+)": "profile",
    r"users/(?P<target>me|\d+)": "profile",
    rf"users/{ID}/followers": "followers",
    rf"users/{ID}/following": "following",
    rf"users/{ID}/tweets": "timeline",
    rf"users/{ID}/timelines/reverse_chronological": "list_timeline",
    rf"users/{ID}/mentions": "mentions",
    rf"users/{ID}/liked_tweets": "liked",
    rf"users/{ID}/bookmarks": "liked",
    "tweets": "posts",
    r"tweets/(?P<target>\d+)": "post",
    rf"tweets/{ID}/retweeted_by": "reposters",
    rf"tweets/{ID}/quote_tweets": "quotes",
    rf"tweets/{ID}/liking_users": "likes",
    "tweets/search/recent": "search",
    "tweets/search/all": "search_all",
    rf"lists/{ID}/(?:members|followers)": "members",
    rf"lists/{ID}/tweets": "list_timeline",
}


def recorded(folder: str, paths: dict[str, str]) -> Iterator[tuple[str, str, tuple[str, ...], Answer]]:
    """Every recorded read call of a facet that we have: its address, facet, targets and answer."""
    for file in sorted((DATA / folder).rglob("*.json")):
        for call in json.loads(file.read_text(encoding="utf-8"))["interactions"]:
            address = urlsplit(call["request"]["uri"])
            for pattern, facet in paths.items():
                found = re.fullmatch(pattern, address.path)
                if found and call["request"]["method"] == "GET":
                    named = found.groupdict().get("target") or "1"
                    targets = tuple(parse_qs(address.query).get("id[]", [named]))
                    yield address.geturl(), facet, targets, replayed(call["response"])
                    break


def replayed(response: dict[str, Any]) -> Answer:
    headers = {name.lower(): ", ".join(values) for name, values in response["headers"].items()}
    body = response["body"].get("string") or ""
    code = response["status"]["code"]
    return Answer(status=code, headers=headers, body=body.encode(), sent_at=NOON, received_at=NOON)


def test_every_recorded_mastodon_read_is_understood() -> None:
    understood = 0
    for address, facet, targets, answered in recorded("recordings-mastodon", MASTODON_PATHS):
        page = read(mastodon, facet, targets, answered)
        assert page.broken == (), address
        assert page.outcome is (Outcome.OK if answered.status == 200 else Outcome.NOT_FOUND), (address, page.detail)
        assert page.gone == () or answered.status == 404, address
        understood += len(page.users) + len(page.posts)
    assert understood > 200


def test_every_recorded_mastodon_limit_is_read() -> None:
    for address, facet, targets, answered in recorded("recordings-mastodon", MASTODON_PATHS):
        if "x-ratelimit-reset" in answered.headers:
            reading = read(mastodon, facet, targets, answered).reading
            assert reading is not None, address
            assert None not in (reading.limit, reading.remaining, reading.reset_at), address


def test_every_recorded_call_of_the_classic_api_is_understood() -> None:
    paths = {rf"/1\.1/{path}\.json": facet for path, facet in TWITTER_PATHS.items()}
    understood = 0
    for address, facet, targets, answered in recorded("recordings-x", paths):
        page = read(twitter, facet, targets, answered)
        assert (page.outcome, page.broken) == (Outcome.OK, ()), (address, page.detail)
        assert page.reading is not None, address
        understood += len(page.users) + len(page.posts) + len(page.relations)
    assert understood > 100


def test_every_recorded_read_of_the_second_api_is_understood() -> None:
    paths = {f"/2/{path}": facet for path, facet in X_PATHS.items()}
    met: set[str] = set()
    understood = 0
    for address, facet, targets, answered in recorded("recordings-x", paths):
        page = read(x, facet, targets, answered)
        assert (page.outcome, page.broken, page.gone) == (Outcome.OK, (), ()), (address, page.detail)
        assert page.reading is not None, address
        assert None not in (page.reading.limit, page.reading.remaining, page.reading.reset_at), address
        assert page.results == len(page.users) + len(page.posts), address
        assert facet not in ("followers", "following") or len(page.relations) == page.results, address
        met.add(facet)
        understood += page.results
    assert met >= set(X_PATHS.values())
    assert understood > 1_000
