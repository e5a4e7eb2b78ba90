"""An ask as a request to a Mastodon server."""

from __future__ import annotations

from bowerbird.model import Ask, Facet, Progress, Request
from bowerbird.providers.common.asking.paths import page_size, segment
from bowerbird.providers.mastodon.facets import HINTS

_PATHS = {
    "profiles": "/api/v1/accounts",
    "profile": "/api/v1/accounts/{}",
    "followers": "/api/v1/accounts/{}/followers",
    "following": "/api/v1/accounts/{}/following",
    "timeline": "/api/v1/accounts/{}/statuses",
    "posts": "/api/v1/statuses",
    "post": "/api/v1/statuses/{}",
    "thread": "/api/v1/statuses/{}/context",
    "versions": "/api/v1/statuses/{}/history",
    "reposts": "/api/v1/statuses/{}/reblogged_by",
    "likes": "/api/v1/statuses/{}/favourited_by",
    "quotes": "/api/v1/statuses/{}/quotes",
    "hashtag": "/api/v1/timelines/tag/{}",
    "public": "/api/v1/timelines/public",
    "search": "/api/v2/search",
    "people": "/api/v2/search",
    "directory": "/api/v1/directory",
    "link": "/api/v1/timelines/link",
    "trending": "/api/v1/trends/statuses",
    "trends": "/api/v1/trends/{}",
    "tags": "/api/v1/accounts/{}/featured_tags",
}
_SINGLE = frozenset({"profile", "post", "thread", "versions", "tags"})
ALONE = {"profiles": "profile", "posts": "post"}
"""Batches, and the facet whose route asks for the same one by one."""
_BATCH = frozenset(ALONE)
_OFFSET = frozenset({"search", "people", "directory", "trending"})
_INCREMENTAL = frozenset({"timeline", "hashtag", "public", "link"})
_LISTS = frozenset({"any", "all", "none"})

SCOPES = ("all", "local", "remote")
"""Whose posts or accounts, in what asks about everybody."""

TRENDING = ("tags", "links")
"""What trends besides posts."""

POSITIONS = frozenset({"page", "min_id", "max_id", "since_id"})
"""Parameters that make a request count against the paging throttle."""

Query = tuple[tuple[str, str], ...]


def build(ask: Ask, facet: Facet) -> Request:
    """The request for one call; positions appear only where they are needed, because they cost the tighter throttle."""
    target = ask.targets[0]
    if facet.name == "profile" and target.startswith("@"):
        return Request(path="/api/v1/accounts/lookup", query=(("acct", target[1:]),))
    if facet.name == "trends" and target not in TRENDING:
        target = TRENDING[0]
    path = _PATHS[route(ask, facet)].format(segment(scope_and_tags(target)[1][0] if facet.name == "hashtag" else target))
    if route(ask, facet) in _BATCH:
        return Request(path=path, query=tuple(("id[]", each) for each in ask.targets))
    if route(ask, facet) in _SINGLE:
        return Request(path=path)
    size = ("limit", str(page_size(ask, facet)))
    return Request(path=path, query=(*_subject(facet.name, target), size, *_position(facet.name, ask.progress), *_hints(ask)))


def route(ask: Ask, facet: Facet) -> str:
    """The facet whose route is asked: a batch of one, on a server that takes no batches, is asked for as what it is."""
    is_alone = facet.objects_per_call == 1 and len(ask.targets) == 1
    return ALONE.get(facet.name, facet.name) if is_alone else facet.name


def is_paged(ask: Ask, facet: Facet) -> bool:
    """Whether the request carries a position; asked after every page, when nobody needs the request yet."""
    asked = route(ask, facet)
    if asked in _BATCH or asked in _SINGLE:
        return False
    return any(name in POSITIONS for name, _ in _position(facet.name, ask.progress))


def _subject(facet: str, target: str) -> Query:
    match facet:
        case "search":
            return ("q", target), ("type", "statuses")
        case "people":
            return ("q", target), ("type", "accounts")
        case "link":
            return (("url", target),)
        case "hashtag":
            scope, tags = scope_and_tags(target)
            return *_within(scope), *(("any[]", tag) for tag in tags[1:])
        case "public" | "directory":
            scope, _, kind = target.partition(":")
            return *_within(scope), *((("only_media", "true"),) if kind == "media" else ())
    return ()


def scope_and_tags(target: str) -> tuple[str, list[str]]:
    """The parts of a hashtag's target: `local:birds,trees` is either of the two, by the server's own people."""
    scope, mark, tags = target.rpartition(":")
    return (scope, tags.split(",")) if mark and scope in SCOPES else ("all", target.split(","))


def _within(scope: str) -> Query:
    return ((scope, "true"),) if scope in SCOPES[1:] else ()


def _position(facet: str, progress: Progress) -> Query:
    if facet in _OFFSET:
        since: Query = (("min_id", progress.newest),) if facet == "search" and progress.newest else ()
        return (*since, ("offset", progress.cursor)) if progress.cursor else since
    cursor = progress.cursor
    if cursor is None:
        # A revisit's first page goes unpositioned too: the newest page tells as much, at the price of no paging token.
        return ()
    if facet in _INCREMENTAL and progress.newest:
        return ("max_id", cursor), ("since_id", progress.newest)
    return (("max_id", cursor),)


def _hints(ask: Ask) -> Query:
    allowed = HINTS.get(ask.facet, frozenset()) - {"limit"}
    query: list[tuple[str, str]] = []
    for name, value in sorted(ask.hints.items()):
        if name in allowed and name in _LISTS:
            query += [(f"{name}[]", word.strip()) for word in value.split(",") if word.strip()]
        elif name in allowed:
            query.append((name, value))
    return tuple(query)
