"""Which provider and facet reads a recorded call, by its path; and which calls hold nothing for a crawler, with the reason."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from msgspec import Struct

from bowerbird.evaluate.recordings.cassettes import Exchange

OWN_ACCOUNT = "the token's own account"
SERVER = "the server itself"
PART = "a part of a post, which the post itself brings"
ROOM = "an audio room: no post, and gone when it is over"
TAG = "a hashtag's own page: its posts come from the facet `hashtag`"
ONE_LIST = "one list by itself: the facet `lists` of its owner brings it"
OPERATORS = "jobs for those who already hold data"
ARCHIVE = "counts over the whole archive, for academic access that is no longer given"

_ID = r"(?P<target>[^/]+?)"
_KEY = r"(?P<target>(?!(?:relationships|familiar_followers)\b)[^/]+?)"
"""Keys are whatever a server writes: numbers, ULIDs, flakes. Two words stand where they do, and ask about the token's account."""
_MASTODON = {
    r"/api/v1/accounts/lookup": "profile",
    r"/api/v1/accounts/verify_credentials": "profile",
    r"/api/v1/accounts/search": "directory",
    rf"/api/v1/accounts/{_ID}/followers": "followers",
    rf"/api/v1/accounts/{_ID}/following": "following",
    rf"/api/v1/accounts/{_ID}/statuses": "timeline",
    rf"/api/v1/accounts/{_ID}/featured_tags": "tags",
    rf"/api/v1/accounts/{_KEY}": "profile",
    r"/api/v1/accounts": "profiles",
    rf"/api/v1/statuses/{_ID}/context": "thread",
    rf"/api/v1/statuses/{_ID}/history": "versions",
    rf"/api/v1/statuses/{_ID}/reblogged_by": "reposts",
    rf"/api/v1/statuses/{_ID}/favourited_by": "likes",
    rf"/api/v1/statuses/{_ID}/quotes": "quotes",
    rf"/api/v1/statuses/{_KEY}": "post",
    r"/api/v1/statuses": "posts",
    rf"/api/v1/timelines/tag/{_ID}": "hashtag",
    r"/api/v1/timelines/link": "link",
    rf"/api/v1/timelines/(?:public|home|list/{_ID})": "public",
    r"/api/v1/trends/statuses": "trending",
    r"/api/v1/trends(?:/(?P<target>tags|links))?": "trends",
    r"/api/v1/(?:bookmarks|favourites)": "quotes",
    rf"/api/v1/(?:blocks|mutes|endorsements|follow_requests|suggestions|lists/{_ID}/accounts)": "likes",
    r"/api/v1/directory": "directory",
    r"/api/v[12]/search": "people",
}
"""Own lists of users or posts are read by the facet whose pages have the same form."""

_TWITTER = {
    "users/lookup": "profiles",
    "users/show": "profile",
    "account/verify_credentials": "profile",
    "lists/(?:members|subscribers)/show": "profile",
    "followers/ids": "followers",
    "friends/ids": "following",
    "followers/list": "followers_list",
    "friends/list": "following_list",
    "statuses/(?:user|home|mentions)_timeline": "timeline",
    "statuses/retweets_of_me": "timeline",
    "favorites/list": "liked",
    "statuses/lookup": "posts",
    "statuses/show": "post",
    rf"statuses/retweets/{_ID}": "reposts",
    "search/tweets": "search",
    "users/search": "people",
    "lists/(?:members|subscribers)": "members",
    "blocks/list": "members",
    "lists/(?:ownerships|memberships|subscriptions)": "lists",
    "statuses/retweeters/ids": "reposters",
    "lists/statuses": "list_timeline",
}
_X = {
    "users/by": "handles",
    "users/by/username/(?P<name>[^/]+)": "profile",
    "users/me": "profile",
    "users/search": "people",
    "users": "profiles",
    f"users/{_ID}/followers": "followers",
    f"users/{_ID}/following": "following",
    f"users/{_ID}/(?:tweets|posts|bookmarks|timelines/reverse_chronological)": "timeline",
    f"users/{_ID}/mentions": "mentions",
    f"users/{_ID}/liked_(?:tweets|posts)": "liked",
    f"users/{_ID}/(?:muting|blocking)": "members",
    f"users/{_ID}/(?:owned_lists|list_memberships|followed_lists|pinned_lists)": "lists",
    "(?:tweets|posts)/counts/recent": "volumes",
    r"users/(?P<target>\d+)": "profile",
    "(?:tweets|posts)/search/recent": "search",
    "(?:tweets|posts)/search/all": "search_all",
    f"(?:tweets|posts)/{_ID}/retweeted_by": "reposters",
    f"(?:tweets|posts)/{_ID}/retweets": "reposts",
    f"(?:tweets|posts)/{_ID}/quote_(?:tweets|posts)": "quotes",
    f"(?:tweets|posts)/{_ID}/liking_users": "likes",
    r"(?:tweets|posts)/(?P<target>\d+)": "post",
    "tweets|posts": "posts",
    f"lists/{_ID}/(?:members|followers)": "members",
    f"lists/{_ID}/(?:tweets|posts)": "list_timeline",
    f"trends/by/woeid/{_ID}": "trends",
    "usage/tweets": "usage",
}
_WEIBO = {
    "users/show_batch": "profiles",
    "users/(?:domain_)?show": "profile",
    "users/counts": "counts",
    "friendships/followers/ids": "followers",
    "friendships/friends/ids": "following",
    "friendships/followers": "followers_list",
    "friendships/friends": "following_list",
    "statuses/(?:user|home|friends)_timeline": "timeline",
    "statuses/show_batch": "posts",
    "statuses/show": "post",
    "statuses/repost_timeline": "reposts",
    "comments/show": "thread",
    "comments/show_batch": "comments",
    "search/topics": "search",
    "statuses/public_timeline": "public",
    "tags(?:/tags_batch)?": "tags",
    "trends/(?P<target>hourly|daily|weekly)": "trends",
    "account/rate_limit_status": "limits",
}

_BLUESKY = {
    "app.bsky.actor.getProfiles": "profiles",
    "app.bsky.actor.getProfile": "profile",
    "app.bsky.graph.getFollowers": "followers",
    "app.bsky.graph.getFollows": "following",
    "app.bsky.feed.getAuthorFeed": "timeline",
    "app.bsky.feed.(?:getFeed|getListFeed|getTimeline)": "timeline",
    "app.bsky.graph.getLists": "lists",
    "app.bsky.feed.getPosts": "posts",
    "app.bsky.feed.getPostThread": "thread",
    "app.bsky.feed.getRepostedBy": "reposts",
    "app.bsky.feed.getQuotes": "quotes",
    "app.bsky.feed.getLikes": "likes",
    "app.bsky.feed.searchPosts": "search",
    "app.bsky.actor.searchActors": "people",
    "app.bsky.graph.getList": "members",
    "app.bsky.unspecced.getTrends": "trends",
    "com.atproto.repo.listRecords": "records",
    "com.atproto.sync.getRepo": "repo",
    "com.atproto.sync.getRepoStatus": "status",
    "com.atproto.sync.listRepos": "repos",
}

_ASIDES = {
    OWN_ACCOUNT: (
        r"/api/v\d/(?:notifications|filters|conversations|preferences|markers|push|scheduled_statuses|lists|domain_blocks)(?:/.*)?",
        r"/api/v\d/(?:featured_tags|followed_tags|suggestions)(?:/.*)?",
        rf"/api/v1/accounts/(?:relationships|familiar_followers|{_ID}/lists)",
        r"/xrpc/app\.bsky\.notification\..*",
        r"/xrpc/app\.bsky\.actor\.getPreferences",
        r"/1\.1/(?:direct_messages|saved_searches|friendships|blocks|account)/.*",
        r"/2/dm_.*",
    ),
    SERVER: (
        r"/api/v\d/(?:instance|admin|announcements|custom_emojis)(?:/.*)?",
        r"/(?:nodeinfo|\.well-known|health).*",
        r"/1\.1/(?:application|help|geo)/.*",
        r"/xrpc/com\.atproto\.(?:server|identity|label)\..*",
    ),
    PART: (
        rf"/api/v1/statuses/{_ID}/(?:source|card)",
        r"/api/v1/polls/[^/]+",
        r"/1\.1/statuses/oembed\.json",
    ),
    TAG: (r"/api/v1/tags/[^/]+",),
    ONE_LIST: (r"/1\.1/lists/(?:list|show)\.json", rf"/2/lists/{_ID}"),
    ROOM: (r"/2/spaces(?:/.*)?",),
    ARCHIVE: (r"/2/(?:tweets|posts)/counts/all",),
    OPERATORS: (r"/2/compliance(?:/.*)?",),
}
_TARGETS = (
    "id[]",
    "id",
    "ids",
    "cids",
    "user_id",
    "uid",
    "uids",
    "screen_name",
    "usernames",
    "acct",
    "q",
    "query",
    "list_id",
    "url",
    "actors",
    "actor",
    "uris",
    "uri",
    "list",
    "repo",
    "did",
)
_NAMES = frozenset({"screen_name", "usernames", "acct"})


class Route(Struct, frozen=True):
    """Who reads a call, and about what it asks."""

    provider: str
    facet: str
    targets: tuple[str, ...]


class Aside(Struct, frozen=True):
    """A call that asks for nothing a crawler keeps."""

    reason: str


def _compiled(provider: str, prefix: str, suffix: str, paths: Mapping[str, str]) -> Iterator[tuple[re.Pattern[str], str, str]]:
    for path, facet in paths.items():
        yield re.compile(f"{prefix}(?:{path}){suffix}"), provider, facet


_ROUTES = (
    *_compiled("mastodon", "", "/?", _MASTODON),
    *_compiled("twitter_v1", r"/1\.1/", r"\.json", _TWITTER),
    *_compiled("weibo", "/2/", r"\.json", _WEIBO),
    *_compiled("x", "/2/", "", _X),
    *_compiled("bluesky", "/xrpc/", "", {path.replace(".", r"\."): facet for path, facet in _BLUESKY.items()}),
)
_BESIDES = tuple((re.compile(path), reason) for reason, paths in _ASIDES.items() for path in paths)


def route(exchange: Exchange) -> Route | Aside | None:
    """Who reads this call; None if nobody knows its path."""
    for pattern, provider, facet in _ROUTES:
        found = pattern.fullmatch(exchange.path)
        if found is not None:
            # One path of Mastodon searches for either; the parameter says which.
            chosen = "search" if facet == "people" and ("type", "statuses") in exchange.query else facet
            return Route(provider, chosen, _targets(exchange, found.groupdict()))
    return next((Aside(reason) for pattern, reason in _BESIDES if pattern.fullmatch(exchange.path)), None)


def _targets(exchange: Exchange, named: Mapping[str, str | None]) -> tuple[str, ...]:
    """What the call asked about; for one's own account the answer alone knows."""
    if name := named.get("name"):
        return (f"@{name}",)
    if key := named.get("target"):
        return (key,)
    for name in _TARGETS:
        values = [part for key, value in exchange.query if key == name for part in value.split(",")]
        if values:
            return tuple(f"@{value.removeprefix('@')}" if name in _NAMES else value for value in values)
    return ("self",)
