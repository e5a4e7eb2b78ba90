"""What can be asked of the X API v2, how often, and what it costs: data, after the published tables (pay-per-use, 2026)."""

from __future__ import annotations

from datetime import timedelta

import msgspec

from bowerbird.model import Facet, Limit, Side, Subject, WindowKind
from bowerbird.model.money import DEFAULT_DOLLARS, thousandths
from bowerbird.providers.base import FacetTable
from bowerbird.providers.x.billing import BY_CALL, PRICES, resource

_USERS = frozenset({"users"})
_POSTS = frozenset({"users", "posts"})
_EDGES = frozenset({"users", "relations"})
_REACTIONS = frozenset({"users", "reactions"})
_TRENDS = frozenset({"trends"})
_LISTS = frozenset({"lists"})

_RECENT = timedelta(days=7)
"""How far back search goes without access to the whole archive."""

_FACETS = (
    Facet(
        name="profiles",
        subject=Subject.USER,
        is_own_route=True,
        yields=_USERS,
        is_lookup=True,
        objects_per_call=100,
        results_per_call=100,
    ),
    Facet(name="profile", subject=Subject.USER, is_own_route=True, yields=_USERS, is_lookup=True),
    Facet(
        name="handles",
        subject=Subject.USER,
        is_own_route=True,
        yields=_USERS,
        is_lookup=True,
        objects_per_call=100,
        results_per_call=100,
    ),
    Facet(name="followers", subject=Subject.USER, yields=_EDGES, results_per_call=1000, side=Side.FOLLOWERS, tells_counters=True),
    Facet(name="following", subject=Subject.USER, yields=_EDGES, results_per_call=1000, side=Side.FOLLOWING, tells_counters=True),
    Facet(name="timeline", subject=Subject.USER, yields=_POSTS, results_per_call=100, total_results=3200, is_incremental=True),
    Facet(name="mentions", subject=Subject.USER, yields=_POSTS, results_per_call=100, total_results=800, is_incremental=True),
    Facet(name="liked", subject=Subject.USER, yields=_POSTS, results_per_call=100),
    Facet(name="lists", subject=Subject.USER, yields=_LISTS, results_per_call=100),
    Facet(name="posts", subject=Subject.POST, is_own_route=True, yields=_POSTS, objects_per_call=100, results_per_call=100),
    Facet(name="post", subject=Subject.POST, is_own_route=True, yields=_POSTS),
    Facet(name="thread", subject=Subject.POST, yields=_POSTS, results_per_call=100, is_incremental=True),
    Facet(name="reposts", subject=Subject.POST, yields=_POSTS, results_per_call=100),
    Facet(name="reposters", subject=Subject.POST, yields=_REACTIONS, results_per_call=100),
    Facet(name="quotes", subject=Subject.POST, yields=_POSTS, results_per_call=100),
    Facet(name="likes", subject=Subject.POST, yields=_REACTIONS, results_per_call=100, total_results=100),
    Facet(name="search", subject=Subject.WORD, yields=_POSTS, results_per_call=100, reach=_RECENT, is_incremental=True),
    Facet(name="search_all", subject=Subject.WORD, yields=_POSTS, results_per_call=500, is_incremental=True),
    Facet(name="hashtag", subject=Subject.WORD, yields=_POSTS, results_per_call=100, reach=_RECENT, is_incremental=True),
    Facet(name="people", subject=Subject.WORD, yields=_USERS, results_per_call=1000),
    Facet(name="members", subject=Subject.WORD, yields=frozenset({"users", "members"}), results_per_call=100),
    Facet(
        name="list_timeline", subject=Subject.WORD, yields=_POSTS, results_per_call=100, total_results=800, is_incremental=True
    ),
    Facet(name="trends", subject=Subject.WORD, yields=_TRENDS, results_per_call=50),
    Facet(name="volumes", subject=Subject.WORD, yields=frozenset({"volumes"}), results_per_call=168),
    Facet(name="usage", subject=Subject.WORD, yields=frozenset()),
)

_ALLOWED = {
    "profiles": (900, 300),
    "profile": (900, 300),
    "handles": (900, 300),
    "followers": (300, 300),
    "following": (300, 300),
    "timeline": (900, 10_000),
    "mentions": (300, 450),
    "liked": (75, 0),
    "lists": (15, 15),
    "posts": (5_000, 3_500),
    "post": (900, 450),
    "thread": (300, 450),
    "reposts": (75, 75),
    "reposters": (75, 75),
    "quotes": (75, 75),
    "likes": (75, 0),
    "search": (300, 450),
    "search_all": (0, 300),
    "hashtag": (300, 450),
    "people": (900, 0),
    "members": (900, 900),
    "list_timeline": (900, 900),
    "trends": (0, 75),
    "volumes": (0, 300),
    "usage": (0, 50),
}
"""Calls per 15 minutes: with a user's token, with the application's own; 0 where the endpoint refuses that kind."""

SMALLEST_PAGES = {
    "timeline": 5,
    "mentions": 5,
    "liked": 5,
    "quotes": 10,
    "search": 10,
    "search_all": 10,
    "hashtag": 10,
    "thread": 10,
}
"""Asking for less is an error there."""

_POST_CAP = 3_000_000
_MONTH = timedelta(days=31)
_SEARCHES = frozenset({"search", "hashtag", "thread"})
_SECOND = Limit(bucket="{service}/app:{app}/second", allowance=1, window=timedelta(seconds=1), kind=WindowKind.FIRST_CALL)
_CAP = Limit(
    bucket="{service}/app:{app}/posts",
    allowance=_POST_CAP,
    window=_MONTH,
    kind=WindowKind.MONTH,
    per_call=0,
    per_result=1,
    once_a_day=True,
)


def _money(facet: Facet) -> Limit:
    """What the facet costs. One purse for all credentials: nobody may spend twice the budget with two of them. What X bills
    once a day it bills to each application."""
    per_call = BY_CALL.get(facet.name, 0)
    return Limit(
        bucket="{service}/money",
        payer="{service}/app:{app}",
        is_money=True,
        allowance=thousandths(DEFAULT_DOLLARS),
        window=_MONTH,
        kind=WindowKind.MONTH,
        per_call=per_call,
        per_result=0 if per_call else PRICES[resource(facet)],
        once_a_day=not per_call,
    )


def paid_posts(facet: Facet) -> tuple[Limit, ...]:
    """What every post takes besides a call: from the month's cap, and in money.

    The cap comes before the money: of two months, the first bears a refusal.
    """
    return _CAP, _money(facet)


def _limits(facet: Facet, kind: str, allowance: int) -> tuple[Limit, ...]:
    # Hashtags and threads are searches: all three take from the same bucket of the server.
    own = "search" if facet.name in _SEARCHES else "{facet}"
    whose = "{service}/app:{app}/" if kind == "app" else "{service}/{credential}/"
    if whose + own.format(facet=facet.name) == _CAP.bucket:
        own = "{facet}_by_id"
    quarter = Limit(bucket=whose + own, allowance=allowance, window=timedelta(minutes=15), kind=WindowKind.FIRST_CALL)
    second = (_SECOND,) if facet.name == "search_all" else ()
    if facet.name == "usage":
        return (quarter,)
    return (quarter, *second, *(paid_posts(facet) if "posts" in facet.yields else (_money(facet),)))


def _table(kind: str, column: int) -> FacetTable:
    return {
        facet.name: msgspec.structs.replace(
            facet,
            limits=_limits(facet, kind, _ALLOWED[facet.name][column]),
            smallest_page=SMALLEST_PAGES.get(facet.name, 1),
        )
        for facet in _FACETS
        if _ALLOWED[facet.name][column]
    }


TABLES = {"user": _table("user", 0), "app": _table("app", 1)}
ORDER = tuple(facet.name for facet in _FACETS)

_STRETCH = frozenset({"limit", "start_time", "end_time", "until_id", "spelling"})
_SEARCH = _STRETCH | {"sort_order"}
HINTS = {
    **{facet.name: frozenset({"limit", "spelling"}) for facet in _FACETS if facet.results_per_call > 1},
    **dict.fromkeys(("profiles", "profile", "handles", "posts", "post"), frozenset({"spelling"})),
    **dict.fromkeys(("timeline", "mentions"), _STRETCH | {"exclude"}),
    **dict.fromkeys(("search", "search_all", "hashtag", "thread"), _SEARCH),
    "quotes": frozenset({"limit", "exclude", "spelling"}),
    "trends": frozenset({"limit"}),
    "lists": frozenset({"limit"}),
    "volumes": frozenset({"granularity", "start_time", "end_time"}),
    "usage": frozenset({"days"}),
}
"""Options a crawl file may set for a facet; any other is left out of the request."""
