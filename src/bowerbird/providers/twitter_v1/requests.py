"""An ask as a request to the classic Twitter API."""

from __future__ import annotations

from bowerbird.model import Ask, Facet, Progress, Request
from bowerbird.providers.base import page_size, path_segment
from bowerbird.providers.page import key_before
from bowerbird.providers.twitter_v1.facets import HINTS

_PATHS = {
    "profiles": "users/lookup",
    "profile": "users/show",
    "followers": "followers/ids",
    "following": "friends/ids",
    "followers_list": "followers/list",
    "following_list": "friends/list",
    "timeline": "statuses/user_timeline",
    "liked": "favorites/list",
    "lists": "lists/ownerships",
    "posts": "statuses/lookup",
    "post": "statuses/show/{}",
    "reposts": "statuses/retweets/{}",
    "reposters": "statuses/retweeters/ids",
    "search": "search/tweets",
    "hashtag": "search/tweets",
    "people": "users/search",
    "members": "lists/members",
    "list_timeline": "lists/statuses",
}
_CURSORED = frozenset({"followers", "following", "followers_list", "following_list", "lists", "reposters", "members"})
_SINGLE = frozenset({"profiles", "profile", "posts", "post"})
_IDS = frozenset({"followers", "following", "reposters"})
_EXTENDED = ("tweet_mode", "extended")
_DEFAULTS = {"timeline": {"include_rts": "true"}, "search": {"result_type": "recent"}, "hashtag": {"result_type": "recent"}}

CIRCLE = "geocode:"
"""How a search target begins that is a circle and no words."""
POSITIONS = frozenset({"since_id", "max_id", "cursor", "page"})

Query = tuple[tuple[str, str], ...]


def build(ask: Ask, facet: Facet) -> Request:
    """The request for one call."""
    path = f"/1.1/{_PATHS[facet.name].format(path_segment(ask.targets[0]))}.json"
    form = ("stringify_ids", "true") if facet.name in _IDS else _EXTENDED
    if facet.name in _SINGLE:
        return Request(path=path, query=(*_subject(ask, facet), form))
    size = ("count", str(page_size(ask, facet)))
    return Request(path=path, query=(*_subject(ask, facet), size, *_position(facet, ask.progress), *_hints(ask), form))


def split(cursor: str | None) -> tuple[str | None, int]:
    """Our own cursor of a post list: the next `max_id`, and how many posts were listed before it."""
    position, _, seen = (cursor or "").partition("/")
    return position or None, int(seen) if seen.isascii() and seen.isdigit() and len(seen) < 10 else 0


def joined(position: str, seen: int) -> str:
    return f"{position}/{seen}"


def _subject(ask: Ask, facet: Facet) -> Query:
    target = ask.targets[0]
    match facet.name:
        case "profiles":
            return _users(ask.targets)
        case "posts":
            return (("id", ",".join(ask.targets)),)
        case "post" | "reposts":
            return ()
        case "reposters":
            return (("id", target),)
        case "search" if target.startswith(CIRCLE):
            # The documentation's own example of a search by place alone has an empty `q`.
            return ("q", ""), ("geocode", target.removeprefix(CIRCLE))
        case "search" | "people":
            return (("q", target),)
        case "hashtag":
            return (("q", f"#{target}"),)
        case "members" | "list_timeline":
            return _list(target)
    return _users((target,))


def _users(targets: tuple[str, ...]) -> Query:
    ids = ",".join(target for target in targets if not target.startswith("@"))
    names = ",".join(target[1:] for target in targets if target.startswith("@"))
    return tuple(pair for pair in (("user_id", ids), ("screen_name", names)) if pair[1])


def _list(target: str) -> Query:
    owner, _, slug = target.partition("/")
    return (("owner_screen_name", owner), ("slug", slug)) if slug else (("list_id", target),)


def _position(facet: Facet, progress: Progress) -> Query:
    if facet.name in _CURSORED:
        return (("cursor", progress.cursor or "-1"),)
    if facet.name == "people":
        return (("page", progress.cursor or "1"),)
    position, _ = split(progress.cursor)
    query: list[tuple[str, str]] = []
    if facet.is_incremental and progress.newest:
        # `since_id` excludes its own post: one less brings the known post back as proof that the list was reached.
        query.append(("since_id", key_before(progress.newest)))
    if position:
        query.append(("max_id", position))
    return tuple(query)


def _hints(ask: Ask) -> Query:
    allowed = HINTS.get(ask.facet, frozenset()) - {"limit"}
    chosen = {name: value for name, value in ask.hints.items() if name in allowed}
    return tuple(sorted({**_DEFAULTS.get(ask.facet, {}), **chosen}.items()))
