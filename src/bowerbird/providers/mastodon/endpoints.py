"""The endpoints of Mastodon's REST API and their limits: one table."""

from __future__ import annotations

from datetime import timedelta
from enum import Enum
from typing import Any

from msgspec import Struct

from bowerbird.model import Ask, Facet, Limit, Side, Subject
from bowerbird.providers.base import closed_to, tables_of

# Limits, after the server's own throttles

_WINDOW, _PAGING_WINDOW = timedelta(minutes=5), timedelta(minutes=15)
ADDRESS_BUCKET = "{service}/address"
_TOKEN = Limit(bucket="{service}/{credential}/token", allowance=300, window=_WINDOW)
_ACCOUNT = Limit(bucket="{service}/account:{account}/account", allowance=1500, window=_WINDOW)
_ADDRESS = Limit(bucket=ADDRESS_BUCKET, allowance=300, window=_WINDOW)
_ACCOUNT_PAGING = Limit(
    bucket="{service}/account:{account}/paging",
    allowance=300,
    window=_PAGING_WINDOW,
    only_paged=True,
)
_ADDRESS_PAGING = Limit(
    bucket="{service}/address/paging", allowance=300, window=_PAGING_WINDOW, only_paged=True
)

# Endpoints


class Paging(Enum):
    NONE = 0
    LINK = 1
    """`max_id` from the `Link` header: an internal id that cannot be computed."""
    POSTS = 2
    """Newest first; `max_id` is the id of a post, and `since_id` ends the list."""
    OFFSET = 3


class Endpoint(Struct, frozen=True):
    """One row of the table: a facet, its route, and the form of its response."""

    facet: Facet
    path: str
    paging: Paging
    hints: frozenset[str]
    lists: tuple[str, ...]
    """The fields of the response that hold the items; empty if the response is the list itself."""
    is_object: bool
    """The response is one item."""


def _row(
    name: str,
    path: str,
    subject: Subject,
    yields: str,
    size: int = 1,
    paging: Paging = Paging.NONE,
    hints: str = "",
    *,
    lists: tuple[str, ...] = (),
    is_object: bool = False,
    **more: Any,
) -> Endpoint:
    facet = Facet(
        name=name,
        subject=subject,
        yields=frozenset(yields.split()),
        results_per_call=size,
        is_incremental=paging is Paging.POSTS or name == "search",
        **more,
    )
    return Endpoint(facet, path, paging, frozenset(hints.split()), lists, is_object)


_USER, _POST, _WORD = Subject.USER, Subject.POST, Subject.WORD
_LINK, _POSTS, _OFFSET = Paging.LINK, Paging.POSTS, Paging.OFFSET
_TAG_HINTS = "limit any all none local remote only_media"

_ROWS = (
    _row(
        "profiles", "/api/v1/accounts", _USER, "users", 40,
        objects_per_call=40, is_own_route=True, is_lookup=True,
    ),
    _row(
        "profile", "/api/v1/accounts/{}", _USER, "users",
        is_object=True, is_own_route=True, is_lookup=True,
    ),
    _row(
        "followers", "/api/v1/accounts/{}/followers", _USER, "users relations", 80, _LINK, "limit",
        side=Side.FOLLOWERS, tells_counters=True,
    ),
    _row(
        "following", "/api/v1/accounts/{}/following", _USER, "users relations", 80, _LINK, "limit",
        side=Side.FOLLOWING, tells_counters=True,
    ),
    _row(
        "timeline", "/api/v1/accounts/{}/statuses", _USER, "users posts", 40, _POSTS,
        "limit exclude_replies exclude_reblogs only_media tagged",
    ),
    _row(
        "posts", "/api/v1/statuses", _POST, "users posts", 20,
        objects_per_call=20, is_own_route=True,
    ),
    _row("post", "/api/v1/statuses/{}", _POST, "users posts", is_object=True, is_own_route=True),
    _row(
        "thread", "/api/v1/statuses/{}/context", _POST, "users posts", 8192,
        lists=("ancestors", "descendants"),
    ),
    _row("versions", "/api/v1/statuses/{}/history", _POST, "versions", 100),
    _row(
        "reposts", "/api/v1/statuses/{}/reblogged_by", _POST, "users reactions", 80, _LINK, "limit",
    ),
    _row(
        "likes", "/api/v1/statuses/{}/favourited_by", _POST, "users reactions", 80, _LINK, "limit",
    ),
    _row("quotes", "/api/v1/statuses/{}/quotes", _POST, "users posts", 40, _LINK, "limit"),
    _row("hashtag", "/api/v1/timelines/tag/{}", _WORD, "users posts", 40, _POSTS, _TAG_HINTS),
    _row(
        "search", "/api/v2/search", _WORD, "users posts", 40, _OFFSET, "limit account_id",
        lists=("statuses",),
    ),
    _row(
        "people", "/api/v2/search", _WORD, "users", 40, _OFFSET, "limit resolve",
        lists=("accounts",),
    ),
    _row(
        "public", "/api/v1/timelines/public", _WORD, "users posts", 40, _POSTS, "limit only_media",
    ),
    _row("directory", "/api/v1/directory", _WORD, "users", 80, _OFFSET, "limit order"),
    _row("link", "/api/v1/timelines/link", _WORD, "users posts", 40, _POSTS, "limit"),
    _row("trending", "/api/v1/trends/statuses", _WORD, "users posts", 40, _OFFSET, "limit"),
    _row("trends", "/api/v1/trends/{}", _WORD, "trends", 20, hints="limit", total_results=20),
    _row("tags", "/api/v1/accounts/{}/featured_tags", _USER, "user_tags", 100),
)  # fmt: skip
ENDPOINTS = {row.facet.name: row for row in _ROWS}

ONE_BY_ONE = {"profiles": "profile", "posts": "post"}
"""Batch facets, and the facet that requests the same one by one (Mastodon before 4.3, other
software)."""
WITHOUT_OBJECT = frozenset({"public", "directory", "trending", "trends", "search", "people"})
"""Facets that name no object of the server: their 404 is about the route."""
_USERS_ONLY = ("search", "quotes")
"""Without a user, search returns no posts and quotes are refused."""
SCOPES = ("all", "local", "remote")
TRENDS = ("tags", "links")
LIST_HINTS = frozenset({"any", "all", "none"})

_LIMITS = {
    "user": (_TOKEN, _ACCOUNT, _ACCOUNT_PAGING),
    # A token without a user (client credentials) also shares the limits of the address.
    "app": (_TOKEN, _ADDRESS, _ADDRESS_PAGING),
    "none": (_ADDRESS, _ADDRESS_PAGING),
}
TABLES = closed_to(
    tables_of([row.facet for row in _ROWS], _LIMITS), {"app": _USERS_ONLY, "none": _USERS_ONLY}
)


def endpoint_for(ask: Ask, facet: Facet) -> Endpoint:
    """Return the endpoint of a call; a batch of one, on a server without batches, uses the route
    for one object."""
    is_single = facet.objects_per_call == 1 and len(ask.targets) == 1
    return ENDPOINTS[ONE_BY_ONE.get(facet.name, facet.name) if is_single else facet.name]
