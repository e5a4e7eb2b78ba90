"""What can be asked of the classic Twitter API, and how often: data, after the published rate-limit chart."""

from __future__ import annotations

from datetime import timedelta

import msgspec

from bowerbird.model import Facet, Limit, Side, Subject, WindowKind
from bowerbird.providers.base import FacetTable

_POSTS = frozenset({"users", "posts"})
_RELATIONS = frozenset({"relations"})
_REACTIONS = frozenset({"users", "reactions"})
_EDGES_AND_USERS = frozenset({"users", "posts", "relations"})

_RECENT = timedelta(days=7)
"""How far back search goes."""

_FACETS = (
    Facet(
        name="profiles",
        subject=Subject.USER,
        is_own_route=True,
        yields=_POSTS,
        is_lookup=True,
        objects_per_call=100,
        results_per_call=100,
    ),
    Facet(name="profile", subject=Subject.USER, is_own_route=True, yields=_POSTS, is_lookup=True),
    Facet(name="followers", subject=Subject.USER, yields=_RELATIONS, results_per_call=5000, side=Side.FOLLOWERS),
    Facet(name="following", subject=Subject.USER, yields=_RELATIONS, results_per_call=5000, side=Side.FOLLOWING),
    Facet(name="followers_list", subject=Subject.USER, yields=_EDGES_AND_USERS, results_per_call=200, side=Side.FOLLOWERS),
    Facet(name="following_list", subject=Subject.USER, yields=_EDGES_AND_USERS, results_per_call=200, side=Side.FOLLOWING),
    Facet(name="timeline", subject=Subject.USER, yields=_POSTS, results_per_call=200, total_results=3200, is_incremental=True),
    Facet(name="liked", subject=Subject.USER, yields=_POSTS, results_per_call=200),
    Facet(name="lists", subject=Subject.USER, yields=frozenset({"users", "lists"}), results_per_call=1000),
    Facet(name="posts", subject=Subject.POST, is_own_route=True, yields=_POSTS, objects_per_call=100, results_per_call=100),
    Facet(name="post", subject=Subject.POST, is_own_route=True, yields=_POSTS),
    Facet(name="reposts", subject=Subject.POST, yields=_POSTS, results_per_call=100, total_results=100),
    Facet(name="reposters", subject=Subject.POST, yields=_REACTIONS, results_per_call=100, total_results=100),
    Facet(name="search", subject=Subject.WORD, yields=_POSTS, results_per_call=100, reach=_RECENT, is_incremental=True),
    Facet(name="hashtag", subject=Subject.WORD, yields=_POSTS, results_per_call=100, reach=_RECENT, is_incremental=True),
    Facet(name="people", subject=Subject.WORD, yields=_POSTS, results_per_call=20, total_results=1000),
    Facet(name="members", subject=Subject.WORD, yields=_POSTS | {"members"}, results_per_call=1000),
    Facet(name="list_timeline", subject=Subject.WORD, yields=_POSTS, results_per_call=200, is_incremental=True),
)

_ALLOWED = {
    "profiles": (900, 300),
    "profile": (900, 900),
    "followers": (15, 15),
    "following": (15, 15),
    "followers_list": (15, 15),
    "following_list": (15, 15),
    "timeline": (900, 1500),
    "liked": (75, 75),
    "lists": (15, 15),
    "posts": (900, 300),
    "post": (900, 900),
    "reposts": (75, 300),
    "reposters": (75, 300),
    "search": (180, 450),
    "hashtag": (180, 450),
    "people": (900, 0),
    "members": (900, 75),
    "list_timeline": (900, 900),
}
"""Calls per 15 minutes: with a user's token, with the application's own."""

_DAILY = Limit(bucket="{service}/app:{app}/daily", allowance=100_000, window=timedelta(hours=24), kind=WindowKind.FIRST_CALL)


def _limits(facet: str, allowance: int) -> tuple[Limit, ...]:
    # A hashtag is a search: both take from the same bucket of the server.
    own = "search" if facet in ("search", "hashtag") else "{facet}"
    quarter = Limit(
        bucket="{service}/{credential}/" + own, allowance=allowance, window=timedelta(minutes=15), kind=WindowKind.FIRST_CALL
    )
    return (quarter, _DAILY) if facet == "timeline" else (quarter,)


def _table(column: int) -> FacetTable:
    numbers = {name: pair[column] for name, pair in _ALLOWED.items() if pair[column]}
    return {
        facet.name: msgspec.structs.replace(facet, limits=_limits(facet.name, numbers[facet.name]))
        for facet in _FACETS
        if facet.name in numbers
    }


TABLES = {"user": _table(0), "app": _table(1)}
LIMITS = Facet(name="limits", subject=Subject.WORD, yields=frozenset(), limits=_limits("limits", 180))
"""What the service says of its limits: no facet of a crawl."""
ORDER = tuple(facet.name for facet in _FACETS)

_POST_LISTS = frozenset({"limit", "exclude_replies", "include_rts"})
HINTS = {
    "timeline": _POST_LISTS,
    "list_timeline": frozenset({"limit", "include_rts"}),
    "search": frozenset({"limit", "lang", "result_type", "geocode", "until"}),
    "hashtag": frozenset({"limit", "lang", "result_type", "geocode", "until"}),
    **dict.fromkeys(
        ("followers", "following", "followers_list", "following_list", "liked", "lists", "reposts", "people", "members"),
        frozenset({"limit"}),
    ),
}
"""Options a crawl file may set for a facet; any other is left out of the request."""
