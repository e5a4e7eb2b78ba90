"""One text that is no Unicode loses its own item and never the page, for every facet of every provider."""

from __future__ import annotations

import json
from copy import deepcopy
from typing import Any

import pytest
from bluesky_payloads import ALICE, BOB, actor, bluesky_list, detailed, post_uri, record, repost, view
from hostile_pages import PROVIDERS
from msgspec import Struct
from provider_payloads import account, answer, read, status, tweet, user
from weibo_payloads import person, remark, weibo_post
from x_payloads import envelope, x_post, x_user

from bowerbird.model import Outcome, Page
from bowerbird.providers.items import decode_slowly, tree

CAROL = "did:plc:ewvi7nxzyoun6zhxrhs64oiz"
SINGLE = frozenset({"profile", "post", "status", "repo", "limits", "usage"})
"""One object is the whole page."""
KEPT = ("users", "posts", "relations", "reactions", "user_tags", "trends", "lists", "members", "versions", "volumes")


class Sample(Struct, frozen=True):
    """A page of two items, and the way to their list."""

    page: Any
    way: tuple[str, ...] = ()
    target: str = "1"


ACCOUNTS = Sample([account("1"), account("2")])
STATUSES = Sample([status("2"), status("1")])
PEOPLE = Sample({"users": [user("1"), user("2")], "next_cursor": 0}, ("users",))
TWEETS = Sample([tweet("2"), tweet("1")])
IDS = Sample({"ids": [1, 2], "next_cursor": 0}, ("ids",))
POSTS = Sample({"statuses": [weibo_post("2"), weibo_post("1")], "total_number": 2}, ("statuses",))
PERSONS = Sample({"users": [person("1"), person("2")], "next_cursor": 0}, ("users",))
REMARKS = [remark("2", status=None), remark("1", status=None)]
X_USERS = Sample(envelope([x_user("1"), x_user("2")]), ("data",))
X_POSTS = Sample(envelope([x_post("2"), x_post("1")], users=[x_user()]), ("data",))
VIEWS = [view(post_uri(ALICE)), view(post_uri(BOB), author=actor(BOB))]
SEEN = Sample({"posts": VIEWS}, ("posts",))
HOURS = [{"start": f"2026-01-05T1{hour}:00:00Z", "end": f"2026-01-05T1{hour + 1}:00:00Z", "tweet_count": 7} for hour in (0, 1)]
VERSIONS = [{"content": "<p>x</p>", "created_at": f"2026-01-05T12:0{minute}:00Z", "account": account("1")} for minute in (0, 1)]


def _listed(name: str, items: list[Any], target: str = "1", **beside: Any) -> Sample:
    return Sample({name: items, **beside}, (name,), target)


def _records(collection: str, values: list[dict[str, Any]]) -> Sample:
    rows = [
        {"uri": f"at://{ALICE}/app.bsky.{collection}/3mmoojp4cd22{place}", "value": value}
        for place, value in enumerate(values, 2)
    ]
    return _listed("records", rows, ALICE)


SAMPLES: dict[str, dict[str, Sample]] = {
    "mastodon": {
        **dict.fromkeys(("profiles", "followers", "following", "reposts", "likes", "directory"), ACCOUNTS),
        **dict.fromkeys(("timeline", "posts", "quotes", "hashtag", "public", "link", "trending"), STATUSES),
        "thread": Sample({"ancestors": [], "descendants": STATUSES.page}, ("descendants",)),
        "versions": Sample(VERSIONS),
        "search": _listed("statuses", STATUSES.page),
        "people": _listed("accounts", ACCOUNTS.page),
        "trends": Sample([{"name": "birds", "history": []}, {"name": "cats", "history": []}]),
        "tags": Sample([{"id": "1", "name": "birds"}, {"id": "2", "name": "cats"}]),
    },
    "twitter_v1": {
        **dict.fromkeys(("profiles", "people"), Sample(PEOPLE.page["users"])),
        **dict.fromkeys(("followers", "following", "reposters"), IDS),
        **dict.fromkeys(("followers_list", "following_list", "members"), PEOPLE),
        **dict.fromkeys(("timeline", "liked", "posts", "reposts", "list_timeline"), TWEETS),
        **dict.fromkeys(("search", "hashtag"), _listed("statuses", TWEETS.page)),
        "lists": _listed("lists", [{"id_str": key, "name": "birds", "user": user("1")} for key in ("5", "6")]),
    },
    "bluesky": {
        "profiles": _listed("profiles", [detailed(ALICE), detailed(BOB)]),
        "followers": _listed("followers", [actor(ALICE), actor(BOB)], CAROL),
        "following": _listed("follows", [actor(ALICE), actor(BOB)], CAROL),
        "people": _listed("actors", [actor(ALICE), actor(BOB)]),
        "reposts": _listed("repostedBy", [actor(ALICE), actor(BOB)], post_uri()),
        "likes": _listed("likes", [{"actor": actor(ALICE)}, {"actor": actor(BOB)}], post_uri()),
        "following_records": _records("graph.follow", [{"subject": BOB}, {"subject": CAROL}]),
        "records": _records("feed.post", [record(), record()]),
        "timeline": _listed("feed", [{"post": VIEWS[0]}, {"post": VIEWS[1], "reason": repost()}]),
        "posts": SEEN,
        "search": SEEN,
        "hashtag": SEEN,
        "quotes": SEEN,
        "thread": Sample(
            {"thread": {"post": VIEWS[0], "replies": [{"post": VIEWS[1]}, {"post": VIEWS[1]}]}}, ("thread", "replies")
        ),
        "lists": _listed("lists", [bluesky_list(ALICE), bluesky_list(BOB)]),
        "members": _listed("items", [{"subject": actor(ALICE)}, {"subject": actor(BOB)}], f"at://{ALICE}/app.bsky.graph.list/3k"),
        "trends": _listed("trends", [{"topic": "birds"}, {"topic": "cats"}]),
        "repos": _listed("repos", [{"did": ALICE, "active": True}, {"did": BOB, "active": True}]),
    },
    "weibo": {
        **dict.fromkeys(("profiles", "followers_list", "following_list"), PERSONS),
        **dict.fromkeys(("followers", "following", "mutuals"), IDS),
        **dict.fromkeys(("timeline", "posts", "search", "hashtag", "public", "nearby"), POSTS),
        **dict.fromkeys(("counts", "people"), Sample(PERSONS.page["users"])),
        "reposts": _listed("reposts", POSTS.page["statuses"]),
        "thread": _listed("comments", REMARKS),
        "comments": Sample([remark("2"), remark("1")]),
        "tags": Sample([{"221012100001985342": "birds", "weight": 50}, {"221012100001985343": "cats", "weight": 40}]),
        "trends": Sample({"trends": {"2011-09-19": [{"name": "birds"}, {"name": "cats"}]}}, ("trends", "2011-09-19")),
    },
    "x": {
        **dict.fromkeys(("profiles", "handles", "followers", "following", "people", "members", "reposters", "likes"), X_USERS),
        **dict.fromkeys(("timeline", "mentions", "liked", "posts", "thread", "reposts", "quotes", "search"), X_POSTS),
        **dict.fromkeys(("search_all", "hashtag", "list_timeline"), X_POSTS),
        "lists": Sample(envelope([{"id": "7", "name": "birds", "owner_id": "1"}, {"id": "8", "name": "cats"}]), ("data",)),
        "trends": Sample({"data": [{"trend_name": "birds"}, {"trend_name": "cats"}]}, ("data",)),
        "volumes": Sample({"data": HOURS, "meta": {}}, ("data",)),
    },
}
LISTS = [(provider, facet) for provider in PROVIDERS for facet in provider.facets if facet not in SINGLE]
EVERY_LIST = pytest.mark.parametrize(("provider", "facet"), LISTS, ids=lambda each: getattr(each, "name", each))


def _items(page: Any, way: tuple[str, ...]) -> list[Any]:
    for step in way:
        page = page[step]
    return list(page)


def _changed(sample: Sample, items: list[Any]) -> Any:
    page = deepcopy(sample.page)
    if not sample.way:
        return items
    *before, last = sample.way
    holder = page
    for step in before:
        holder = holder[step]
    holder[last] = items
    return page


def _asked(provider: Any, facet: str, sample: Sample) -> tuple[str, ...]:
    """A batch asks for what the sample shows; an answer about others is none."""
    is_batch = provider.facets[facet].objects_per_call > 1 and provider.facets[facet].is_own_route
    return ("1", "2", ALICE, BOB, post_uri(ALICE), post_uri(BOB)) if is_batch else (sample.target,)


def _spoilt(value: Any) -> Any:
    """The same with a lone surrogate in every text and every number as such a text."""
    if isinstance(value, dict):
        return {key: _spoilt(each) for key, each in value.items()}
    return [_spoilt(each) for each in value] if isinstance(value, list) else f"{value}\ud83d"


def _kept(page: Page) -> set[str]:
    return {_name(item) for kind in KEPT for item in getattr(page, kind)}


def _name(item: Any) -> str:
    return getattr(item, "id", None) or repr(item)


@EVERY_LIST
@pytest.mark.parametrize("spelling", ["escaped", "bytes"])
def test_one_spoilt_item_leaves_the_others_on_the_page(provider: Any, facet: str, spelling: str) -> None:
    sample = SAMPLES[provider.name][facet]
    *good, last = _items(sample.page, sample.way)
    alone = read(provider, facet, _asked(provider, facet, sample), answer(_changed(sample, good)))
    assert _kept(alone), "the sample says nothing"
    body = json.dumps(_changed(sample, [*good, _spoilt(last)])).encode()
    # The same text as bytes: half a character, as software writes it that cuts texts by bytes.
    body = body.replace(b"\\ud83d", b"\xf0\x9f") if spelling == "bytes" else body
    page = read(provider, facet, _asked(provider, facet, sample), answer(body))
    assert page.outcome is Outcome.OK
    assert _kept(alone) <= _kept(page)
    assert page.broken


# The fields of Weibo's tags are their ids: all of them are read.
@pytest.mark.parametrize(
    ("provider", "facet"),
    [each for each in LISTS if (each[0].name, each[1]) != ("weibo", "tags")],
    ids=lambda each: getattr(each, "name", each),
)
def test_broken_text_in_a_field_that_nobody_reads_costs_nothing(provider: Any, facet: str) -> None:
    sample = SAMPLES[provider.name][facet]
    items = _items(sample.page, sample.way)
    if not isinstance(items[-1], dict):
        items = [*items, 3]
    whole = read(provider, facet, _asked(provider, facet, sample), answer(_changed(sample, items)))
    spoilt = [{**each, "nobody": "\ud83d"} if isinstance(each, dict) else each for each in items]
    page = read(provider, facet, _asked(provider, facet, sample), answer(_changed(sample, spoilt)))
    assert (page.outcome, _kept(page), page.broken) == (Outcome.OK, _kept(whole), whole.broken)


def test_every_list_of_every_provider_has_a_sample() -> None:
    assert {(provider.name, facet) for provider, facet in LISTS} == {
        (name, facet) for name, samples in SAMPLES.items() for facet in samples
    }


@pytest.mark.parametrize("facet", ["profile", "post"])
@pytest.mark.parametrize("provider", PROVIDERS, ids=lambda each: each.name)
def test_a_single_object_with_broken_text_is_set_aside_and_not_asked_for_again_and_again(provider: Any, facet: str) -> None:
    if facet not in provider.facets:
        return
    objects = {
        "mastodon": (account("1"), status("1")),
        "twitter_v1": (user("1"), tweet("1")),
        "bluesky": (detailed(ALICE), {}),
        "weibo": (person("1"), weibo_post("1")),
        "x": ({"data": x_user("1")}, {"data": x_post("1")}),
    }
    body = json.dumps(objects[provider.name][facet == "post"]).replace("irds", "\\ud83d").replace("zaku", "\\ud83d")
    body = body.replace("Hello", "\\ud83d").replace("Fish", "\\ud83d").replace(json.dumps("你好")[1:-1], "\\ud83d")
    page = read(provider, facet, "1", answer(body.encode()))
    assert page.outcome is Outcome.OK
    assert page.broken or page.users or page.posts


def test_a_very_deep_or_foreign_body_raises_only_what_readers_catch() -> None:
    for body in (b"[" * 100_000, b'{"a":', b"\xff", b"7"):
        with pytest.raises((ValueError, RecursionError)):
            decode_slowly(body, list[int])
    assert tree(b'"\xff"') == "\udcff"
