"""What can be asked of Bluesky's AppView and of a PDS, and how often: data, after the published limits.

The AppView publishes no numbers: those of the PDS stand for both, and headers or the crawl file correct them.
"""

from __future__ import annotations

from datetime import timedelta

import msgspec

from bowerbird.model import Facet, Limit, Side, Subject, WindowKind
from bowerbird.providers.base import FacetTable, closed_to

_WINDOW = timedelta(minutes=5)
_ADDRESS = Limit(bucket="{service}/address", allowance=3000, window=_WINDOW, kind=WindowKind.FIRST_CALL)
_EXPORT = Limit(bucket="{service}/address/export", allowance=6000, window=_WINDOW, kind=WindowKind.FIRST_CALL)

SESSION_LIMITS = (
    Limit(bucket="{service}/account:{account}/login", allowance=30, window=_WINDOW, kind=WindowKind.FIRST_CALL),
    Limit(bucket="{service}/account:{account}/login_day", allowance=300, window=timedelta(days=1), kind=WindowKind.FIRST_CALL),
)
"""What logging in costs, for whoever keeps sessions."""

_USERS = frozenset({"users"})
_POSTS = frozenset({"users", "posts"})
_RELATIONS = frozenset({"users", "relations"})
_REACTIONS = frozenset({"users", "reactions"})
_REPO = frozenset({"users", "posts", "relations"})

_FACETS = (
    Facet(
        name="profiles",
        subject=Subject.USER,
        is_own_route=True,
        yields=_USERS,
        is_lookup=True,
        objects_per_call=25,
        results_per_call=25,
    ),
    Facet(name="profile", subject=Subject.USER, is_own_route=True, yields=_USERS, is_lookup=True),
    Facet(name="followers", subject=Subject.USER, yields=_RELATIONS, results_per_call=100, side=Side.FOLLOWERS),
    Facet(name="following", subject=Subject.USER, yields=_RELATIONS, results_per_call=100, side=Side.FOLLOWING),
    Facet(
        name="following_records",
        subject=Subject.USER,
        is_own_route=True,
        knows_own_only=True,
        yields=frozenset({"relations"}),
        results_per_call=100,
        side=Side.FOLLOWING,
    ),
    Facet(name="timeline", subject=Subject.USER, yields=_POSTS, results_per_call=100, is_incremental=True),
    Facet(
        name="records",
        subject=Subject.USER,
        is_own_route=True,
        knows_own_only=True,
        yields=_POSTS,
        results_per_call=100,
        is_incremental=True,
    ),
    Facet(
        name="repo",
        subject=Subject.USER,
        is_own_route=True,
        knows_own_only=True,
        yields=_REPO,
        results_per_call=100_000,
        side=Side.FOLLOWING,
        is_incremental=True,
    ),
    Facet(name="status", subject=Subject.USER, is_own_route=True, knows_own_only=True, yields=_USERS),
    Facet(name="lists", subject=Subject.USER, yields=frozenset({"users", "lists"}), results_per_call=100),
    Facet(name="posts", subject=Subject.POST, is_own_route=True, yields=_POSTS, objects_per_call=25, results_per_call=25),
    Facet(name="thread", subject=Subject.POST, yields=_POSTS, results_per_call=1000),
    Facet(name="reposts", subject=Subject.POST, yields=_REACTIONS, results_per_call=100),
    Facet(name="quotes", subject=Subject.POST, yields=_POSTS, results_per_call=100),
    Facet(name="likes", subject=Subject.POST, yields=_REACTIONS, results_per_call=100),
    Facet(name="search", subject=Subject.WORD, yields=_POSTS, results_per_call=100, is_incremental=True),
    Facet(name="hashtag", subject=Subject.WORD, yields=_POSTS, results_per_call=100, is_incremental=True),
    Facet(name="people", subject=Subject.WORD, yields=_USERS, results_per_call=100),
    Facet(name="members", subject=Subject.WORD, yields=frozenset({"users", "members"}), results_per_call=100),
    Facet(name="trends", subject=Subject.WORD, yields=frozenset({"users", "trends"}), results_per_call=25),
    Facet(name="repos", subject=Subject.WORD, yields=_USERS, results_per_call=1000),
)


def _table() -> FacetTable:
    # An export has a bucket of its own and does not count in the one that everything else shares.
    return {
        facet.name: msgspec.structs.replace(facet, limits=(_EXPORT,) if facet.name == "repo" else (_ADDRESS,))
        for facet in _FACETS
    }


TABLES = closed_to({"user": _table(), "none": _table()}, {"none": ("search", "hashtag")})
"""Limits go by address, whoever is logged in; who is not logged in is refused `searchPosts`, or its second page."""

_SEARCH = frozenset({"limit", "sort", "since", "until", "author", "mentions", "lang", "domain", "url"})
HINTS = {
    "timeline": frozenset({"limit", "filter"}),
    "followers": frozenset({"limit", "sort"}),
    "following": frozenset({"limit", "sort"}),
    "records": frozenset({"limit", "collection"}),
    "thread": frozenset({"depth", "parentHeight"}),
    "search": _SEARCH,
    "hashtag": _SEARCH,
    **{
        name: frozenset({"limit"})
        for name in ("following_records", "reposts", "quotes", "likes", "people", "members", "lists", "trends", "repos")
    },
}
"""Options a crawl file may set for a facet; any other is left out of the request."""
