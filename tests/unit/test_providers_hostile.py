"""Whatever a server sends, only mapped items, normalised outcomes or quarantined items come out."""

from __future__ import annotations

import json
import random
from copy import deepcopy
from typing import Any

import msgspec
import pytest
from bluesky_payloads import ALICE, BOB, actor, bluesky, detailed, post_uri, quoted, record, ref, repost, view
from hypothesis import given, settings
from hypothesis import strategies as st
from provider_payloads import account, answer, mastodon, read, status, tweet, twitter, user
from weibo_payloads import person, remark, weibo, weibo_post
from x_payloads import X_PAGES, x

from bowerbird.model import Broken, Outcome, Page
from bowerbird.ports import Provider

LIST = {"next_cursor": 5, "next_cursor_str": "5"}
MASTODON_PAGES: dict[str, Any] = {
    "profiles": [account("1"), account("2", suspended=True)],
    "profile": account("1"),
    "followers": [account("1"), account("2")],
    "timeline": [status("100", reblog=status("50")), status("90", in_reply_to_id="80", quote={"quoted_status": status("7")})],
    "posts": [status("1"), status("2", mentions=[{"id": "5"}], tags=[{"name": "x"}])],
    "thread": {"ancestors": [status("1")], "descendants": [status("2")]},
    "search": {"statuses": [status("1")], "accounts": [], "hashtags": []},
}
TWITTER_PAGES: dict[str, Any] = {
    "profiles": [user("1"), user("2", status=tweet("9"))],
    "profile": user("1"),
    "followers": {"ids": [1, 2, 3], **LIST},
    "followers_list": {"users": [user("1"), user("2")], **LIST},
    "timeline": [tweet("100", retweeted_status=tweet("50")), tweet("90", quoted_status=tweet("7"), geo={"coordinates": [1, 2]})],
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
    "thread": {"thread": {"post": view(), "parent": {"post": view()}, "replies": [{"post": view(), "replies": []}]}},
    "search": {"posts": [view()], "cursor": "25", "hitsTotal": 9},
    "likes": {"uri": post_uri(), "likes": [{"actor": actor(BOB), "createdAt": "2026-05-25T14:20:00Z"}]},
    "records": {"records": [{"uri": "at://1/app.bsky.feed.post/3k", "cid": "b", "value": record()}], "cursor": "3k"},
    "status": {"did": ALICE, "active": False, "status": "takendown"},
    "repos": {"repos": [{"did": ALICE, "active": True}, {"did": BOB, "active": False, "status": "deleted"}], "cursor": "2"},
    "trends": {"trends": [{"topic": "x", "displayName": "X", "postCount": 5, "actors": [actor(BOB)]}]},
}
JUNK = [None, True, -1, 0, 1.5, 10**30, "", "x", "\x00", "\ud800", "<p><a href='", "9" * 5000, [], {}, [[]], {"id": {}}, [None]]
CASES = [(mastodon, facet, page) for facet, page in MASTODON_PAGES.items()]
CASES += [(twitter, facet, page) for facet, page in TWITTER_PAGES.items()]
CASES += [(bluesky, facet, page) for facet, page in BLUESKY_PAGES.items()]
CASES += [(weibo, facet, page) for facet, page in WEIBO_PAGES.items()]
CASES += [(x, facet, page) for facet, page in X_PAGES.items()]


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Every place of a document where something can be replaced."""
    inner: list[tuple[Any, ...]] = [path] if path else []
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, each in pairs:
        inner += places(each, (*path, key))
    return inner


def mutated(page: Any, chance: random.Random) -> Any:
    document = json.loads(json.dumps(page))
    for _ in range(chance.randint(1, 4)):
        chosen = places(document)
        if not chosen:
            break
        *way, last = chance.choice(chosen)
        holder = document
        for step in way:
            holder = holder[step]
        if chance.random() < 0.2:
            del holder[last]
        else:
            holder[last] = deepcopy(chance.choice(JUNK))
    return document


def disturbed(body: bytes, chance: random.Random) -> bytes:
    """The body as a bad connection or a bad proxy would deliver it."""
    match chance.randint(0, 5):
        case 0:
            return body[: chance.randrange(len(body) + 1)]
        case 1:
            at = chance.randrange(len(body) + 1)
            return body[:at] + bytes([chance.randrange(256)]) + body[at + 1 :]
    return body


def texts(value: Any) -> list[str]:
    """Every text of a page, each of which must be storable."""
    if isinstance(value, str):
        assert value.encode() or not value
        return [value]
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list | tuple) else ()
    return [text for each in inner for text in texts(each)]


def check(page: Page) -> None:
    """What every page promises: it can be stored, quarantine keeps bytes, and only numbers that fit come out."""
    assert isinstance(page.outcome, Outcome)
    assert all(isinstance(broken, Broken) and isinstance(broken.raw, bytes) and broken.why for broken in page.broken)
    assert not any("\x00" in text for text in texts(msgspec.to_builtins(page)))
    for item in page.users:
        assert item.id
        assert item.key
        assert all(number is None or 0 <= number < 2**63 for number in (item.followers, item.following, item.posts))
    for post in page.posts:
        assert post.id
        assert post.key
        assert post.author
        assert post.created_at is None or post.created_at.tzinfo is not None


@pytest.mark.parametrize("provider", [mastodon, twitter, bluesky, weibo, x], ids=lambda each: each.name)
@settings(max_examples=250, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_mutated_pages_never_raise_and_always_keep_their_promises(provider: Provider, seed: int) -> None:
    chance = random.Random(seed)
    of_provider = [(facet, page) for each, facet, page in CASES if each is provider]
    facet, page = chance.choice(of_provider)
    body = disturbed(json.dumps(mutated(page, chance)).encode(), chance)
    known = {"newest": "60"} if chance.random() < 0.5 else {}
    check(read(provider, facet, ("1", "2") if facet in ("profiles", "posts") else "1", answer(body), **known))


@pytest.mark.parametrize("provider", [mastodon, twitter, bluesky, weibo, x], ids=lambda each: each.name)
@settings(max_examples=100, deadline=None)
@given(
    code=st.integers(0, 700),
    body=st.binary(max_size=60)
    | st.sampled_from([b'{"errors":[{"code":"88"}]}', b'{"errors":7}', b'{"error":null}', b'{"errors":[]}']),
    header=st.text(max_size=20),
)
def test_any_status_body_and_header_is_an_outcome(provider: Provider, code: int, body: bytes, header: str) -> None:
    names = ("x_ratelimit_reset", "x_rate_limit_reset", "x_rate_limit_limit", "ratelimit_reset", "retry_after", "date", "link")
    check(read(provider, "timeline", "1", answer(body, code, **dict.fromkeys(names, header))))


@pytest.mark.parametrize(("provider", "facet", "page"), CASES, ids=lambda each: each if isinstance(each, str) else "")
def test_a_page_cut_off_anywhere_is_unreadable(provider: Provider, facet: str, page: Any) -> None:
    body = json.dumps(page).encode()
    for end in range(0, len(body) - 1, 97):
        found = read(provider, facet, "1", answer(body[:end]))
        assert found.outcome is Outcome.UNREADABLE
        assert found.gone == ()
