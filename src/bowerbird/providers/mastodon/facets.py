"""What can be asked of a Mastodon server, and how often: data, after the server's own throttles."""

from __future__ import annotations

from datetime import timedelta

from bowerbird.model import Facet, Limit, Side, Subject
from bowerbird.providers.common.asking.tables import closed_to, tables_of

_WINDOW = timedelta(minutes=5)
_PAGING_WINDOW = timedelta(minutes=15)

_TOKEN = Limit(bucket="{service}/{credential}/token", allowance=300, window=_WINDOW)
_ACCOUNT = Limit(bucket="{service}/account:{account}/account", allowance=1500, window=_WINDOW)
ADDRESS = "{service}/address"
"""The bucket of all who ask from one address."""
_ADDRESS = Limit(bucket=ADDRESS, allowance=300, window=_WINDOW)
_ACCOUNT_PAGING = Limit(bucket="{service}/account:{account}/paging", allowance=300, window=_PAGING_WINDOW, only_paged=True)
_ADDRESS_PAGING = Limit(bucket="{service}/address/paging", allowance=300, window=_PAGING_WINDOW, only_paged=True)

_USERS = frozenset({"users"})
_POSTS = frozenset({"users", "posts"})
_RELATIONS = frozenset({"users", "relations"})
_REACTIONS = frozenset({"users", "reactions"})

_FACETS = (
    Facet(
        name="profiles",
        subject=Subject.USER,
        is_own_route=True,
        yields=_USERS,
        is_lookup=True,
        objects_per_call=40,
        results_per_call=40,
    ),
    Facet(name="profile", subject=Subject.USER, is_own_route=True, yields=_USERS, is_lookup=True),
    Facet(
        name="followers", subject=Subject.USER, yields=_RELATIONS, results_per_call=80, side=Side.FOLLOWERS, tells_counters=True
    ),
    Facet(
        name="following", subject=Subject.USER, yields=_RELATIONS, results_per_call=80, side=Side.FOLLOWING, tells_counters=True
    ),
    Facet(name="timeline", subject=Subject.USER, yields=_POSTS, results_per_call=40, is_incremental=True),
    Facet(name="posts", subject=Subject.POST, is_own_route=True, yields=_POSTS, objects_per_call=20, results_per_call=20),
    Facet(name="post", subject=Subject.POST, is_own_route=True, yields=_POSTS),
    Facet(name="thread", subject=Subject.POST, yields=_POSTS, results_per_call=8192),
    Facet(name="versions", subject=Subject.POST, yields=frozenset({"versions"}), results_per_call=100),
    Facet(name="reposts", subject=Subject.POST, yields=_REACTIONS, results_per_call=80),
    Facet(name="likes", subject=Subject.POST, yields=_REACTIONS, results_per_call=80),
    Facet(name="quotes", subject=Subject.POST, yields=_POSTS, results_per_call=40),
    Facet(name="hashtag", subject=Subject.WORD, yields=_POSTS, results_per_call=40, is_incremental=True),
    Facet(name="search", subject=Subject.WORD, yields=_POSTS, results_per_call=40, is_incremental=True),
    Facet(name="people", subject=Subject.WORD, yields=_USERS, results_per_call=40),
    Facet(name="public", subject=Subject.WORD, yields=_POSTS, results_per_call=40, is_incremental=True),
    Facet(name="directory", subject=Subject.WORD, yields=_USERS, results_per_call=80),
    Facet(name="link", subject=Subject.WORD, yields=_POSTS, results_per_call=40, is_incremental=True),
    Facet(name="trending", subject=Subject.WORD, yields=_POSTS, results_per_call=40),
    Facet(name="trends", subject=Subject.WORD, yields=frozenset({"trends"}), results_per_call=20, total_results=20),
    Facet(name="tags", subject=Subject.USER, yields=frozenset({"user_tags"}), results_per_call=100),
)

_USERS_ONLY = ("search", "quotes")
"""Without a user the search for posts is answered with an empty list, and the quotes of a post with a refusal."""

# A token without a user (client credentials) has its own throttle and shares the address's as well.
TABLES = closed_to(
    tables_of(
        _FACETS,
        {
            "user": (_TOKEN, _ACCOUNT, _ACCOUNT_PAGING),
            "app": (_TOKEN, _ADDRESS, _ADDRESS_PAGING),
            "none": (_ADDRESS, _ADDRESS_PAGING),
        },
    ),
    {"app": _USERS_ONLY, "none": _USERS_ONLY},
)

HINTS = {
    "timeline": frozenset({"limit", "exclude_replies", "exclude_reblogs", "only_media", "tagged"}),
    "hashtag": frozenset({"limit", "any", "all", "none", "local", "remote", "only_media"}),
    "public": frozenset({"limit", "only_media"}),
    "search": frozenset({"limit", "account_id"}),
    "people": frozenset({"limit", "resolve"}),
    "directory": frozenset({"limit", "order"}),
    **{
        name: frozenset({"limit"})
        for name in ("followers", "following", "reposts", "likes", "quotes", "link", "trending", "trends")
    },
}
"""Options a crawl file may set for a facet; any other is left out of the request."""
