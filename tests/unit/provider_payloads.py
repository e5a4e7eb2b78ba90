"""Payloads in the two dialects, written by hand after the documented samples."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

from bowerbird.model import Answer, Ask, Page, Progress, Service
from bowerbird.providers import Mastodon, TwitterV1
from bowerbird.providers.base import Provider

NOON = datetime(2026, 1, 5, 12, tzinfo=UTC)
MASTODON = Service(name="m", provider="mastodon", base="https://m.example")
TWITTER = Service(name="t", provider="twitter_v1", base="https://t.example")

mastodon = Mastodon()
twitter = TwitterV1()


def answer(body: Any = b"", status: int = 200, **headers: str) -> Answer:
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Answer(status=status, headers=named, body=raw, sent_at=NOON, received_at=NOON)


def read(provider: Provider, facet: str, targets: tuple[str, ...] | str, answered: Answer, **progress: str) -> Page:
    ask = Ask(facet, (targets,) if isinstance(targets, str) else targets, Progress(**progress))
    return provider.parse(ask, answered, MASTODON if provider.name == "mastodon" else TWITTER)


def account(key: str = "1", **other: Any) -> dict[str, Any]:
    return {
        "id": key,
        "username": f"user{key}",
        "acct": f"user{key}",
        "display_name": f"User {key}",
        "locked": False,
        "bot": False,
        "discoverable": True,
        "indexable": True,
        "created_at": "2016-03-16T00:00:00.000Z",
        "note": "<p>I like <strong>birds</strong></p>",
        "url": f"https://m.example/@user{key}",
        "uri": f"https://m.example/users/user{key}",
        "avatar": "https://m.example/a.png",
        "followers_count": 10,
        "following_count": 20,
        "statuses_count": 30,
        "last_status_at": "2019-12-10",
        "noindex": False,
        "fields": [{"name": "Homepage", "value": '<a href="https://e.example">e</a>', "verified_at": None}],
        **other,
    }


def status(key: str = "100", **other: Any) -> dict[str, Any]:
    return {
        "id": key,
        "created_at": "2019-12-08T03:48:33.901Z",
        "edited_at": None,
        "in_reply_to_id": None,
        "sensitive": False,
        "spoiler_text": "",
        "visibility": "public",
        "language": "en",
        "uri": f"https://m.example/users/user1/statuses/{key}",
        "url": f"https://m.example/@user1/{key}",
        "replies_count": 5,
        "reblogs_count": 6,
        "favourites_count": 11,
        "content": "<p>Hello</p>",
        "reblog": None,
        "quote": None,
        "application": {"name": "Web", "website": None},
        "account": account(),
        "media_attachments": [],
        "mentions": [],
        "tags": [],
        **other,
    }


def user(key: str = "783214", **other: Any) -> dict[str, Any]:
    return {
        "id": int(key),
        "id_str": key,
        "name": "Alice",
        "screen_name": f"alice{key}",
        "location": "Everywhere",
        "description": "birds &amp; trees",
        "url": "https://t.co/x",
        "entities": {"url": {"urls": [{"url": "https://t.co/x", "expanded_url": "https://alice.example/"}]}},
        "protected": False,
        "followers_count": 100,
        "friends_count": 140,
        "created_at": "Tue Feb 20 14:35:54 +0000 2007",
        "verified": True,
        "statuses_count": 10829,
        "lang": None,
        **other,
    }


def tweet(key: str = "1000", **other: Any) -> dict[str, Any]:
    return {
        "created_at": "Thu Nov 08 02:31:41 +0000 2012",
        "id": int(key),
        "id_str": key,
        "full_text": "Fish &amp; chips",
        "truncated": False,
        "entities": {"hashtags": [], "user_mentions": [], "urls": []},
        "source": '<a href="http://twitter.com" rel="nofollow">Twitter Web Client</a>',
        "in_reply_to_status_id": None,
        "in_reply_to_status_id_str": None,
        "user": user(),
        "geo": None,
        "coordinates": None,
        "place": None,
        "is_quote_status": False,
        "retweet_count": 238,
        "favorite_count": 3,
        "lang": "en",
        **other,
    }
