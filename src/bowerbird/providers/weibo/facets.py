"""What can be asked of Weibo, how often, and what was left of it in each of its three eras: data, after the wiki's revisions."""

from __future__ import annotations

from datetime import timedelta
from functools import cache

import msgspec

from bowerbird.model import Facet, Limit, Side, Subject
from bowerbird.providers.base import Tables

CLASSIC, RESTRICTED, MINIMAL = "classic", "restricted", "minimal"

_HOUR = timedelta(hours=1)
_USER = Limit(bucket="{service}/account:{account}/user", allowance=150, window=_HOUR)
_ADDRESS = Limit(bucket="{service}/address", allowance=10_000, window=_HOUR)

_USERS = frozenset({"users"})
_POSTS = frozenset({"users", "posts"})
_RELATIONS = frozenset({"relations"})
_EDGES_AND_USERS = frozenset({"users", "posts", "relations"})

_FACETS = (
    Facet(
        name="profiles",
        subject=Subject.USER,
        is_own_route=True,
        yields=_POSTS,
        is_lookup=True,
        objects_per_call=50,
        results_per_call=50,
    ),
    Facet(name="profile", subject=Subject.USER, is_own_route=True, yields=_POSTS, is_lookup=True),
    Facet(name="counts", subject=Subject.USER, yields=_USERS, objects_per_call=100, results_per_call=100),
    Facet(name="followers", subject=Subject.USER, yields=_RELATIONS, results_per_call=5000, side=Side.FOLLOWERS),
    Facet(name="following", subject=Subject.USER, yields=_RELATIONS, results_per_call=5000, side=Side.FOLLOWING),
    Facet(name="followers_list", subject=Subject.USER, yields=_EDGES_AND_USERS, results_per_call=200, side=Side.FOLLOWERS),
    Facet(name="following_list", subject=Subject.USER, yields=_EDGES_AND_USERS, results_per_call=200, side=Side.FOLLOWING),
    Facet(name="mutuals", subject=Subject.USER, yields=_RELATIONS, results_per_call=2000),
    Facet(name="timeline", subject=Subject.USER, yields=_POSTS, results_per_call=100, is_incremental=True),
    Facet(name="tags", subject=Subject.USER, yields=frozenset({"user_tags"}), objects_per_call=20, results_per_call=200),
    Facet(name="posts", subject=Subject.POST, is_own_route=True, yields=_POSTS, objects_per_call=50, results_per_call=50),
    Facet(name="post", subject=Subject.POST, is_own_route=True, yields=_POSTS),
    Facet(name="reposts", subject=Subject.POST, yields=_POSTS, results_per_call=200, is_incremental=True),
    Facet(name="thread", subject=Subject.POST, yields=_POSTS, results_per_call=200, is_incremental=True),
    Facet(name="comments", subject=Subject.POST, is_own_route=True, yields=_POSTS, objects_per_call=50, results_per_call=50),
    Facet(name="search", subject=Subject.WORD, yields=_POSTS, results_per_call=50, total_results=200),
    Facet(name="hashtag", subject=Subject.WORD, yields=_POSTS, results_per_call=50, total_results=200),
    Facet(name="people", subject=Subject.WORD, yields=_USERS, results_per_call=10, total_results=10),
    Facet(name="public", subject=Subject.WORD, yields=_POSTS, results_per_call=200, total_results=200),
    Facet(name="nearby", subject=Subject.WORD, yields=_POSTS, results_per_call=50),
    Facet(name="trends", subject=Subject.WORD, yields=frozenset({"trends"}), results_per_call=20, total_results=20),
    Facet(name="limits", subject=Subject.WORD, yields=frozenset()),
)

_LISTS = ("followers", "following", "followers_list", "following_list")
ERAS: dict[str, dict[str, tuple[int, int]]] = {
    CLASSIC: {},
    RESTRICTED: {**dict.fromkeys(_LISTS, (500, 500)), "followers_list": (200, 500), "following_list": (200, 500)},
    MINIMAL: {**dict.fromkeys(_LISTS, (5, 500)), "timeline": (5, 5)},
}
"""By era: results per call and reach of the facets that it cut; from 2014 on, these answer only about the token's own user."""


def in_era(facet: Facet, era: str) -> Facet:
    """The facet as it was in that era; an era unknown or without cuts leaves it as it is."""
    most, reach = ERAS.get(era, {}).get(facet.name, (facet.results_per_call, facet.total_results))
    if most >= facet.results_per_call and reach == facet.total_results:
        return facet
    return msgspec.structs.replace(facet, results_per_call=min(most, facet.results_per_call), total_results=reach)


@cache
def tables(era: str) -> Tables:
    """Every token is a user's: there is one table, and without a token nothing is answered."""
    return {"user": {facet.name: in_era(_limited(facet), era) for facet in _FACETS}}


def _limited(facet: Facet) -> Facet:
    # Asking for the limits is free, but what it tells is about these buckets.
    cost = 0 if facet.name == "limits" else 1
    limits = tuple(msgspec.structs.replace(limit, per_call=cost) for limit in (_USER, _ADDRESS))
    return msgspec.structs.replace(facet, limits=limits)


HINTS = {
    **{name: frozenset({"limit", "era"}) for name in (*_LISTS, "mutuals", "search", "hashtag", "people", "public")},
    "timeline": frozenset({"limit", "era", "feature", "base_app"}),
    "reposts": frozenset({"limit", "filter_by_author"}),
    "thread": frozenset({"limit", "filter_by_author"}),
    "nearby": frozenset({"limit", "range"}),
}
"""Options a crawl file may set for a facet; any other is left out of the request."""
