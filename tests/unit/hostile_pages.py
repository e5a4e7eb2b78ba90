"""Pages of every network to be mutated: written by hand after the documented samples, and recorded ones where there are any."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

from bluesky_payloads import ALICE, BOB, actor, bluesky, bluesky_list, detailed, post_uri, quoted, record, ref, repost, view
from msgspec import Struct
from provider_payloads import account, mastodon, status, tweet, twitter, user
from weibo_payloads import person, remark, weibo, weibo_post
from x_payloads import X_PAGES, x

from bowerbird.evaluate.recordings.cassettes import recorded
from bowerbird.evaluate.recordings.routes import Route, route
from bowerbird.providers.base import Provider

RECORDINGS = Path(__file__).parents[3] / "shared" / "data"
LARGEST = 100_000
"""Recorded pages above so many bytes are left out: they mutate slowly and have no form of their own."""

LIST = {"next_cursor": 5, "next_cursor_str": "5"}
MASTODON_PAGES: dict[str, Any] = {
    "profiles": [account("1"), account("2", suspended=True)],
    "profile": account("1"),
    "followers": [account("1"), account("2")],
    "timeline": [status("100", reblog=status("50")), status("90", in_reply_to_id="80", quote={"quoted_status": status("7")})],
    "posts": [status("1"), status("2", mentions=[{"id": "5"}], tags=[{"name": "x"}])],
    "thread": {"ancestors": [status("1")], "descendants": [status("2")]},
    "versions": [
        {"content": f"<p>{text}</p>", "spoiler_text": "", "sensitive": False, "created_at": at, "account": account("1")}
        for text, at in (("first", "2026-01-05T12:00:00.000Z"), ("second", "2026-01-05T12:05:00.000Z"))
    ],
    "search": {"statuses": [status("1")], "accounts": [], "hashtags": []},
}
TWITTER_PAGES: dict[str, Any] = {
    "profiles": [user("1"), user("2", status=tweet("9"))],
    "profile": user("1"),
    "followers": {"ids": [1, 2, 3], **LIST},
    "followers_list": {"users": [user("1"), user("2")], **LIST},
    "timeline": [tweet("100", retweeted_status=tweet("50")), tweet("90", quoted_status=tweet("7"), geo={"coordinates": [1, 2]})],
    "lists": {
        "lists": [{"id": 5, "id_str": "5", "name": "birds", "mode": "public", "member_count": 2, "user": user("1")}],
        **LIST,
    },
    "reposters": {"ids": ["1", "2"], **LIST},
    "members": {"users": [user("1"), user("2")], **LIST},
    "posts": [tweet("1"), tweet("2", extended_entities={"media": [{"id_str": "7", "media_url_https": "https://e.example"}]})],
    "search": {"statuses": [tweet("1")], "search_metadata": {"next_results": "?max_id=1"}},
}
WEIBO_PAGES: dict[str, Any] = {
    "profiles": {"users": [person("1"), person("2", status=weibo_post("9"))]},
    "profile": person("1"),
    "followers": {"ids": [1, 2, 3], **LIST},
    "followers_list": {"users": [person("1"), person("2")], **LIST},
    "timeline": {"statuses": [weibo_post("100", retweeted_status=weibo_post("50")), weibo_post("90")], "total_number": 9},
    "posts": {"statuses": [weibo_post("1"), weibo_post("2", deleted="1", user=None)]},
    "thread": {"comments": [remark("7", reply_comment={"id": 6}), remark("6")], "total_number": 2},
    "tags": [{"221012100001985342": "x", "weight": 50}],
    "trends": {"trends": {"2011-09-19": [{"name": "x", "query": "x"}]}},
    "limits": {"remaining_user_hits": 1, "reset_time": "2011-06-03 18:00:00", "reset_time_in_seconds": 1415},
}
QUOTE = {"$type": "app.bsky.embed.record", "record": ref(post_uri(BOB))}
QUOTED = {"$type": "app.bsky.embed.record#view", "record": quoted(post_uri(BOB))}
FEED = [
    {"post": view(), "reason": repost()},
    {
        "post": view(
            post_uri(BOB), record=record(embed=QUOTE, reply={"parent": ref(post_uri()), "root": ref(post_uri())}), embed=QUOTED
        )
    },
]
BLUESKY_PAGES: dict[str, Any] = {
    "profiles": {"profiles": [detailed(ALICE), detailed(BOB, labels=[{"val": "bot"}])]},
    "profile": detailed(ALICE),
    "followers": {"subject": actor(ALICE), "followers": [actor(BOB), actor(ALICE)], "cursor": "3l3qo2vuowo2b"},
    "timeline": {"feed": FEED, "cursor": "2026-05-25T14:20:00Z"},
    "posts": {"posts": [view(), view(post_uri(BOB))]},
    "lists": {"lists": [bluesky_list(ALICE), bluesky_list(BOB)], "cursor": "2"},
    "members": {"list": bluesky_list(), "items": [{"uri": "at://1", "subject": actor(BOB)}], "cursor": "2"},
    "thread": {"thread": {"post": view(), "parent": {"post": view()}, "replies": [{"post": view(), "replies": []}]}},
    "search": {"posts": [view()], "cursor": "25", "hitsTotal": 9},
    "likes": {"uri": post_uri(), "likes": [{"actor": actor(BOB), "createdAt": "2026-05-25T14:20:00Z"}]},
    "records": {"records": [{"uri": "at://1/app.bsky.feed.post/3k", "cid": "b", "value": record()}], "cursor": "3k"},
    "status": {"did": ALICE, "active": False, "status": "takendown"},
    "repos": {"repos": [{"did": ALICE, "active": True}, {"did": BOB, "active": False, "status": "deleted"}], "cursor": "2"},
    "trends": {"trends": [{"topic": "x", "displayName": "X", "postCount": 5, "actors": [actor(BOB)]}]},
}
WRITTEN: dict[str, dict[str, Any]] = {
    "mastodon": MASTODON_PAGES,
    "twitter_v1": TWITTER_PAGES,
    "bluesky": BLUESKY_PAGES,
    "weibo": WEIBO_PAGES,
    "x": X_PAGES,
}
PROVIDERS: tuple[Provider, ...] = (mastodon, twitter, bluesky, weibo, x)


class Case(Struct, frozen=True):
    """A good page and the question it answers."""

    facet: str
    targets: tuple[str, ...]
    page: Any


def written(provider: Provider) -> list[Case]:
    """The hand-written pages of a network."""
    pages = WRITTEN[provider.name].items()
    return [Case(facet, ("1", "2") if facet in ("profiles", "posts") else ("1",), page) for facet, page in pages]


def cases(provider: Provider) -> list[Case]:
    """All pages of a network, the recorded ones included."""
    return written(provider) + [case for name, case in _recorded() if name == provider.name]


@cache
def _recorded() -> list[tuple[str, Case]]:
    if not RECORDINGS.is_dir():
        return []
    found = []
    for folder in sorted(RECORDINGS.glob("recordings-*")):
        for exchange in recorded(folder):
            reader = route(exchange)
            is_good = exchange.method == "GET" and exchange.answer.status == 200 and 0 < len(exchange.answer.body) <= LARGEST
            if isinstance(reader, Route) and is_good:
                found.append((reader.provider, Case(reader.facet, reader.targets, json.loads(exchange.answer.body))))
    return found
