"""An ask as a request to Weibo."""

from __future__ import annotations

from bowerbird.model import Ask, Facet, Progress, Request
from bowerbird.providers.base import page_size
from bowerbird.providers.page import key_before
from bowerbird.providers.weibo.facets import HINTS

_PATHS = {
    "profiles": "users/show_batch",
    "profile": "users/show",
    "counts": "users/counts",
    "followers": "friendships/followers/ids",
    "following": "friendships/friends/ids",
    "followers_list": "friendships/followers",
    "following_list": "friendships/friends",
    "mutuals": "friendships/friends/bilateral/ids",
    "timeline": "statuses/user_timeline",
    "tags": "tags",
    "posts": "statuses/show_batch",
    "post": "statuses/show",
    "reposts": "statuses/repost_timeline",
    "thread": "comments/show",
    "comments": "comments/show_batch",
    "search": "search/topics",
    "hashtag": "search/topics",
    "people": "search/suggestions/users",
    "public": "statuses/public_timeline",
    "nearby": "place/nearby_timeline",
    "trends": "trends",
    "limits": "account/rate_limit_status",
}
_BATCHES = {"profiles": "uids", "counts": "uids", "posts": "ids", "comments": "cids"}
_CURSORED = frozenset({"followers", "following", "followers_list", "following_list"})
_NUMBERED = frozenset({"mutuals", "search", "hashtag", "nearby"})
_DESCENDING = frozenset({"timeline", "reposts", "thread"})
_WHOLE = (("isGetLongText", "1"),)
"""Asks for the whole text of long posts, where the interface gives it; others pass over it."""
_WITH_POSTS = frozenset({"timeline", "posts", "post", "reposts", "search", "hashtag", "public", "nearby"})
_UNSIZED = frozenset({"profile", "tags", "post", "trends", "limits"})

POSITIONS = frozenset({"since_id", "max_id", "cursor", "page"})
PERIODS = ("hourly", "daily", "weekly")

Query = tuple[tuple[str, str], ...]


def build(ask: Ask, facet: Facet) -> Request:
    """The request for one call."""
    if facet.name in _BATCHES:
        batch = (_BATCHES[facet.name], ",".join(ask.targets))
        return Request(path=_path(_PATHS[facet.name]), query=(batch, *_whole(facet)))
    if facet.name in _UNSIZED:
        return _unsized(ask, facet)
    size = ("count", str(page_size(ask, facet)))
    query = (*_subject(facet.name, ask.targets[0]), size, *_whole(facet), *_position(facet, ask.progress), *_hints(ask))
    return Request(path=_path(_PATHS[facet.name]), query=query)


def _whole(facet: Facet) -> Query:
    return _WHOLE if facet.name in _WITH_POSTS else ()


def split(cursor: str | None) -> tuple[str | None, int]:
    """Our own cursor of a list: where it goes on, and how many items were listed before."""
    position, _, seen = (cursor or "").partition("/")
    return position or None, int(seen) if seen.isascii() and seen.isdigit() and len(seen) < 10 else 0


def joined(position: str, seen: int) -> str:
    return f"{position}/{seen}"


def _path(name: str) -> str:
    return f"/2/{name}.json"


def _unsized(ask: Ask, facet: Facet) -> Request:
    target = ask.targets[0]
    match facet.name:
        case "profile" if target.startswith("@/"):
            return Request(path=_path("users/domain_show"), query=(("domain", target[2:]),))
        case "tags" if len(ask.targets) > 1:
            return Request(path=_path("tags/tags_batch"), query=(("uids", ",".join(ask.targets)),))
        case "tags":
            return Request(path=_path("tags"), query=(("uid", target), ("count", "200")))
        case "post":
            return Request(path=_path(_PATHS["post"]), query=(("id", target), *_whole(facet)))
        case "trends":
            return Request(path=_path(f"trends/{target if target in PERIODS else PERIODS[0]}"))
        case "limits":
            return Request(path=_path(_PATHS["limits"]))
    return Request(path=_path(_PATHS[facet.name]), query=_subject(facet.name, target))


def _subject(facet: str, target: str) -> Query:
    match facet:
        case "reposts" | "thread":
            return (("id", target),)
        case "search" | "hashtag" | "people":
            return (("q", target),)
        case "nearby":
            latitude, _, longitude = target.partition(",")
            return ("lat", latitude), ("long", longitude)
        case "public":
            return ()
    return (("screen_name", target[1:]),) if target.startswith("@") else (("uid", target),)


def _position(facet: Facet, progress: Progress) -> Query:
    position, _ = split(progress.cursor)
    if facet.name in _CURSORED:
        return (("cursor", position or "0"),)
    if facet.name in _NUMBERED:
        return (("page", position or "1"),)
    query: list[tuple[str, str]] = []
    if facet.name in _DESCENDING and progress.newest:
        # `since_id` excludes its own post: one less brings the known post back as proof that the list was reached.
        query.append(("since_id", key_before(progress.newest)))
    if facet.name in _DESCENDING and position:
        query.append(("max_id", position))
    return tuple(query)


def _hints(ask: Ask) -> Query:
    allowed = HINTS.get(ask.facet, frozenset()) - {"limit", "era"}
    return tuple(sorted((name, value) for name, value in ask.hints.items() if name in allowed))
