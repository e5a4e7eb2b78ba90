"""Payloads of the X API v2, written by hand after the documented samples."""

from __future__ import annotations

from typing import Any

from bowerbird.providers import XV2

x = XV2()
PROBLEMS = "https://api.twitter.com/2/problems/"


def x_user(key: str = "2244994945", **other: Any) -> dict[str, Any]:
    return {
        "id": key,
        "name": "Alice",
        "username": f"alice{key}",
        "created_at": "2013-12-14T04:35:55.000Z",
        "protected": False,
        "verified": True,
        "verified_type": "blue",
        "location": "Everywhere",
        "description": "birds &amp; trees",
        "url": "https://t.co/x",
        "entities": {
            "url": {"urls": [{"start": 0, "end": 23, "url": "https://t.co/x", "expanded_url": "https://alice.example/"}]}
        },
        "profile_image_url": "https://pbs.example/a.jpg",
        "most_recent_tweet_id": "1212092628029698048",
        "public_metrics": {"followers_count": 507902, "following_count": 1863, "tweet_count": 3561, "listed_count": 1550},
        **other,
    }


def x_post(key: str = "1212092628029698048", **other: Any) -> dict[str, Any]:
    return {
        "id": key,
        "text": "Fish &amp; chips #Birds",
        "edit_history_tweet_ids": [key],
        "author_id": "2244994945",
        "created_at": "2019-12-31T19:26:16.000Z",
        "lang": "en",
        "conversation_id": key,
        "entities": {
            "urls": [{"start": 0, "end": 3, "url": "https://t.co/y", "expanded_url": "https://news.example/"}],
            "hashtags": [{"start": 0, "end": 5, "tag": "Birds"}],
            "mentions": [{"start": 0, "end": 9, "username": "bob", "id": "7"}],
        },
        "public_metrics": {"retweet_count": 7, "reply_count": 3, "like_count": 38, "quote_count": 1},
        "possibly_sensitive": False,
        **other,
    }


def referring(kind: str, to: str) -> dict[str, Any]:
    return {"referenced_tweets": [{"type": kind, "id": to}]}


def envelope(data: Any, *, token: str | None = None, errors: list[Any] | None = None, **includes: Any) -> dict[str, Any]:
    meta = {"result_count": len(data) if isinstance(data, list) else 1, **({"next_token": token} if token else {})}
    body = {"data": data, "includes": includes, "meta": meta}
    return {**body, "errors": errors} if errors else body


def missing(kind: str, key: str, parameter: str = "ids", **other: Any) -> dict[str, Any]:
    return {
        "value": key,
        "detail": f"Could not find {kind} with {parameter}: [{key}].",
        "title": "Not Found Error",
        "resource_type": kind,
        "parameter": parameter,
        "resource_id": key,
        "type": PROBLEMS + "resource-not-found",
        **other,
    }


def suspended(key: str) -> dict[str, Any]:
    return missing("user", key, title="Forbidden", detail=f"User has been suspended: [{key}].")


def unauthorized(kind: str, key: str) -> dict[str, Any]:
    detail = f"Sorry, you are not authorized to see the {kind} with id: [{key}]."
    return missing(kind, key, title="Authorization Error", detail=detail, type=PROBLEMS + "not-authorized-for-resource")


X_PAGES: dict[str, Any] = {
    "profiles": {"data": [x_user("1")], "errors": [missing("user", "2")]},
    "profile": {"data": x_user("1")},
    "followers": envelope([x_user("1"), x_user("2")], token="KFQ7D80IT44HGZZZ"),
    "timeline": envelope(
        [x_post("100", **referring("retweeted", "50")), x_post("90", attachments={"media_keys": ["3_7"]}, geo={"place_id": "p"})],
        token="b26v89c19zqg8o3f",
        errors=[missing("tweet", "51", "referenced_tweets.id")],
        users=[x_user()],
        tweets=[x_post("50")],
        media=[{"media_key": "3_7", "type": "photo", "url": "https://e.example/7.jpg"}],
        places=[{"id": "p", "full_name": "Porto, Portugal", "country_code": "PT"}],
    ),
    "posts": {"data": [x_post("1")], "includes": {"users": [x_user()]}, "errors": [unauthorized("tweet", "2")]},
    "post": {"data": x_post("1", note_tweet={"text": "long"}), "includes": {"users": [x_user()]}},
    "search": envelope([x_post("1", **referring("quoted", "9")), x_post("2", **referring("replied_to", "9"))], users=[x_user()]),
    "lists": envelope(
        [{"id": "7", "name": "Birds", "owner_id": "1", "member_count": 3, "private": False}], token="b26v89c19zqg8o3f"
    ),
    "members": envelope([x_user("1"), x_user("2")]),
    "volumes": {
        "data": [{"start": "2026-01-05T11:00:00.000Z", "end": "2026-01-05T12:00:00.000Z", "tweet_count": 7}],
        "meta": {"total_tweet_count": 7},
    },
    "trends": {"data": [{"trend_name": "#birds", "tweet_count": 7}]},
    "usage": {"data": {"project_cap": "3000000", "project_usage": "7", "cap_reset_day": 1}},
}
