"""An ask as a request to the X API v2, with the fields and expansions that the mapping reads."""

from __future__ import annotations

from datetime import datetime, timedelta

from bowerbird.model import Ask, Facet, Progress, Request
from bowerbird.providers.base import page_size, path_segment
from bowerbird.providers.x.facets import HINTS, SMALLEST_PAGES
from bowerbird.providers.x.ids import is_key, taken_in

_PATHS = {
    "profiles": "users",
    "profile": "users/{}",
    "handles": "users/by",
    "followers": "users/{}/followers",
    "following": "users/{}/following",
    "timeline": "users/{}/tweets",
    "mentions": "users/{}/mentions",
    "liked": "users/{}/liked_tweets",
    "lists": "users/{}/owned_lists",
    "posts": "tweets",
    "post": "tweets/{}",
    "thread": "tweets/search/recent",
    "reposts": "tweets/{}/retweets",
    "reposters": "tweets/{}/retweeted_by",
    "quotes": "tweets/{}/quote_tweets",
    "likes": "tweets/{}/liking_users",
    "search": "tweets/search/recent",
    "search_all": "tweets/search/all",
    "hashtag": "tweets/search/recent",
    "people": "users/search",
    "members": "lists/{}/members",
    "list_timeline": "lists/{}/tweets",
    "trends": "trends/by/woeid/{}",
    "volumes": "tweets/counts/recent",
    "usage": "usage/tweets",
}
_SINGLE = frozenset({"profiles", "profile", "handles", "posts", "post"})
_NEXT_TOKEN = frozenset({"thread", "search", "search_all", "hashtag", "people", "volumes"})
_RECENT = frozenset({"thread", "search", "hashtag"})
_WINDOW = timedelta(days=7) - timedelta(hours=1)
"""Recent search refuses a `since_id` older than seven days; the hour is for clocks that differ."""

POSITIONS = frozenset({"since_id", "pagination_token", "next_token"})

Query = tuple[tuple[str, str], ...]

_USER_FIELDS = (
    "created_at,description,entities,id,location,most_recent_tweet_id,name,pinned_tweet_id,profile_image_url,protected,"
    "public_metrics,url,username,verified,verified_type,withheld"
)
_POST_FIELDS = (
    "attachments,author_id,conversation_id,created_at,edit_history_tweet_ids,entities,geo,id,in_reply_to_user_id,lang,"
    "note_tweet,possibly_sensitive,public_metrics,referenced_tweets,text,withheld"
)
_EXPANSIONS = (
    "author_id,attachments.media_keys,attachments.poll_ids,geo.place_id,referenced_tweets.id,referenced_tweets.id.author_id"
)
_BESIDES: Query = (
    ("media.fields", "alt_text,media_key,preview_image_url,type,url,variants"),
    ("place.fields", "country,country_code,full_name,geo,id,name,place_type"),
    ("poll.fields", "end_datetime,id,options,voting_status"),
)
_OF_USERS: Query = (("user.fields", _USER_FIELDS),)
OF_POSTS: Query = (("tweet.fields", _POST_FIELDS), ("expansions", _EXPANSIONS), *_OF_USERS, *_BESIDES)
_OTHER_FIELDS: dict[str, Query] = {
    "lists": (("list.fields", "created_at,description,follower_count,id,member_count,name,owner_id,private"),),
    "volumes": (),
}
_RENAMED_USER_FIELDS = _USER_FIELDS.replace("tweet_id", "post_id")
_RENAMED_OF_USERS: Query = (("user.fields", _RENAMED_USER_FIELDS),)
_RENAMED_OF_POSTS: Query = (
    ("post.fields", _POST_FIELDS.replace("tweet", "post")),
    ("expansions", "author_id,attachments.media_keys,attachments.poll_ids,geo.place_id,referenced_posts"),
    *_RENAMED_OF_USERS,
    *_BESIDES,
)


def build(ask: Ask, facet: Facet, now: datetime | None = None) -> Request:
    """The request for one call; `now` tells how far back a recent search may reach."""
    path = f"/2/{_path(ask, facet)}"
    if facet.name == "usage":
        return Request(path=path, query=_hints(ask))
    if facet.name == "trends":
        return Request(path=path, query=(("max_trends", str(page_size(ask, facet))), ("trend.fields", "trend_name,tweet_count")))
    query = (*_subject(ask, facet), *_fields(ask, facet))
    if facet.name == "volumes":
        return Request(path=path, query=(*query, *_position(facet, ask.progress, now), *_hints(ask)))
    if facet.name in _SINGLE:
        return Request(path=path, query=query)
    size = max(page_size(ask, facet), SMALLEST_PAGES.get(facet.name, 1))
    place = (*_position(facet, ask.progress, now), *_hints(ask))
    return Request(path=path, query=(*query, ("max_results", str(size)), *place))


def _path(ask: Ask, facet: Facet) -> str:
    target = ask.targets[0]
    if facet.name == "profile" and target.startswith("@"):
        return f"users/by/username/{path_segment(target[1:])}"
    return _PATHS[facet.name].format(path_segment(target))


def _subject(ask: Ask, facet: Facet) -> Query:
    target = ask.targets[0]
    match facet.name:
        case "profiles" | "posts":
            return (("ids", ",".join(ask.targets)),)
        case "handles":
            return (("usernames", ",".join(each.removeprefix("@") for each in ask.targets)),)
        case "search" | "search_all" | "people" | "volumes":
            return (("query", target),)
        case "hashtag":
            return (("query", f"#{target}"),)
        case "thread":
            return (("query", f"conversation_id:{target}"),)
    return ()


def _fields(ask: Ask, facet: Facet) -> Query:
    if facet.name in _OTHER_FIELDS:
        return _OTHER_FIELDS[facet.name]
    is_renamed = ask.hints.get("spelling") == "post"
    if "posts" in facet.yields:
        return _RENAMED_OF_POSTS if is_renamed else OF_POSTS
    return _RENAMED_OF_USERS if is_renamed else _OF_USERS


def _position(facet: Facet, progress: Progress, now: datetime | None) -> Query:
    query: list[tuple[str, str]] = []
    if facet.is_incremental and progress.newest and _is_reachable(facet, progress.newest, now):
        # Exclusive: every post that is returned is paid for, so the known one is not asked for again.
        query.append(("since_id", progress.newest))
    if progress.cursor:
        query.append(("next_token" if facet.name in _NEXT_TOKEN else "pagination_token", progress.cursor))
    return tuple(query)


def _is_reachable(facet: Facet, newest: str, now: datetime | None) -> bool:
    # A list's timeline has no `since_id`: a revisit of it ends at the first page that shows a known post.
    if not is_key(newest) or facet.name == "list_timeline":
        return False
    at = taken_in(newest)
    return facet.name not in _RECENT or now is None or (at is not None and at > now - _WINDOW)


def _hints(ask: Ask) -> Query:
    allowed = HINTS.get(ask.facet, frozenset()) - {"limit", "spelling"}
    return tuple(sorted((name, value) for name, value in ask.hints.items() if name in allowed))
