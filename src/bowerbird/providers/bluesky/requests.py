"""An ask as an XRPC query."""

from __future__ import annotations

from bowerbird.model import Ask, Facet, Progress, Request
from bowerbird.providers.base import page_size
from bowerbird.providers.bluesky.facets import HINTS
from bowerbird.providers.bluesky.syntax import FOLLOW, POST, REPOST

_METHODS = {
    "profiles": "app.bsky.actor.getProfiles",
    "profile": "app.bsky.actor.getProfile",
    "followers": "app.bsky.graph.getFollowers",
    "following": "app.bsky.graph.getFollows",
    "following_records": "com.atproto.repo.listRecords",
    "timeline": "app.bsky.feed.getAuthorFeed",
    "records": "com.atproto.repo.listRecords",
    "repo": "com.atproto.sync.getRepo",
    "status": "com.atproto.sync.getRepoStatus",
    "lists": "app.bsky.graph.getLists",
    "posts": "app.bsky.feed.getPosts",
    "thread": "app.bsky.feed.getPostThread",
    "reposts": "app.bsky.feed.getRepostedBy",
    "quotes": "app.bsky.feed.getQuotes",
    "likes": "app.bsky.feed.getLikes",
    "search": "app.bsky.feed.searchPosts",
    "hashtag": "app.bsky.feed.searchPosts",
    "people": "app.bsky.actor.searchActors",
    "members": "app.bsky.graph.getList",
    "trends": "app.bsky.unspecced.getTrends",
    "repos": "com.atproto.sync.listRepos",
}
_SINGLE = frozenset({"profiles", "profile", "posts", "status", "repo", "thread"})
_NAMES = {"members": "list", "search": "q", "people": "q", "status": "did", "repo": "did"}
"""What a method calls its target, where it is not `actor` or `uri`."""
_DEFAULTS = {
    "timeline": {"filter": "posts_with_replies"},
    "search": {"sort": "latest"},
    "hashtag": {"sort": "latest"},
    "thread": {"depth": "100", "parentHeight": "100"},
}
COLLECTIONS = frozenset({POST, REPOST})
"""What `records` can read as posts."""

Query = tuple[tuple[str, str], ...]
LARGEST_REPO = 32 * 1024 * 1024


def build(ask: Ask, facet: Facet) -> Request:
    """The request for one call."""
    path = f"/xrpc/{_METHODS[facet.name]}"
    query = _subject(ask, facet)
    if facet.name not in _SINGLE:
        query += (("limit", str(page_size(ask, facet))),)
    return Request(path=path, query=(*query, *_position(facet, ask.progress), *_hints(ask, facet)))


def _subject(ask: Ask, facet: Facet) -> Query:
    target = ask.targets[0]
    match facet.name:
        case "profiles":
            return tuple(("actors", each.removeprefix("@")) for each in ask.targets)
        case "posts":
            return tuple(("uris", each) for each in ask.targets)
        case "hashtag":
            return ("q", f"#{target}"), ("tag", target)
        case "records":
            return ("repo", target), ("collection", collection(ask))
        case "following_records":
            return ("repo", target), ("collection", FOLLOW)
        case "trends" | "repos":
            return ()
    usual = "uri" if facet.subject == "post" else "actor"
    return ((_NAMES.get(facet.name, usual), target.removeprefix("@") if usual == "actor" else target),)


def collection(ask: Ask) -> str:
    """Which records a raw timeline lists: posts, unless the crawl's hint asks for reposts."""
    chosen = ask.hints.get("collection", POST)
    return chosen if chosen in COLLECTIONS else POST


def _position(facet: Facet, progress: Progress) -> Query:
    if facet.name == "repo":
        return (("since", progress.newest),) if progress.newest else ()
    since: Query = (("since", progress.newest),) if facet.name in ("search", "hashtag") and progress.newest else ()
    return (*since, ("cursor", progress.cursor)) if progress.cursor else since


def _hints(ask: Ask, facet: Facet) -> Query:
    taken = {"limit", "collection"} | ({"since"} if ask.progress.newest else set())
    allowed = HINTS.get(facet.name, frozenset()) - taken
    chosen = {name: value for name, value in ask.hints.items() if name in allowed}
    return tuple(sorted({**_DEFAULTS.get(facet.name, {}), **chosen}.items()))
