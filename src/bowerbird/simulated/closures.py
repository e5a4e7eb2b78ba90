"""Servers and apps of the central networks that may do less: whole families of routes are refused, the rest is as ever.

Bluesky: a PDS on its own does not know the methods of the AppView (`MethodNotImplemented` of `xrpc-server`). X: an app whose
project is not enrolled for a route gets `client-not-enrolled`, of v1.1 code 453. Weibo: an app without permission gets 10014.
"""

from __future__ import annotations

import re

from msgspec import Struct

from bowerbird.simulated.wire import Reply, reply

_NOT_ENROLLED = {
    "client_id": "27000000",
    "detail": "When authenticating requests to the Twitter API v2 endpoints, you must use keys and tokens from a Twitter "
    "developer App that is attached to a Project. You can create a project via the developer portal.",
    "registration_url": "https://developer.twitter.com/en/docs/projects/overview",
    "title": "Client Forbidden",
    "required_enrollment": "Appropriate Level of API Access",
    "reason": "client-not-enrolled",
    "type": "https://api.twitter.com/2/problems/client-forbidden",
}
_SUBSET = (
    "You currently have access to a subset of X API V2 endpoints and limited v1.1 endpoints (e.g. media post, oauth) only. "
    "If you need access to this endpoint, you may need a different access level."
)


class Closure(Struct, frozen=True, kw_only=True):
    """What is refused, and how."""

    dialect: str
    routes: str
    """Matches the beginning of the paths."""
    status: int
    body: dict[str, object]
    facets: frozenset[str]
    """What a crawl cannot ask for because of it."""

    def answer(self, path: str) -> Reply | None:
        """The refusal, if the path is closed."""
        if re.match(self.routes, path) is None:
            return None
        shown = {"request": path} if self.dialect == "weibo" else {}
        return reply({**shown, **self.body}, self.status)


CLOSURES = {
    "bluesky-pds": Closure(
        dialect="bluesky",
        routes=r"/xrpc/app\.bsky\.|/subscribe|/xrpc/network\.bsky\.",
        status=501,
        body={"error": "MethodNotImplemented", "message": "Method Not Implemented"},
        facets=frozenset({"profile", "profiles", "timeline", "followers", "following", "posts", "thread", "search", "hashtag"}),
    ),
    "x-basic": Closure(
        dialect="x",
        routes=r"/2/users/\d+/(followers|following|liked)|/2/tweets/(\d+/(retweeted|quote|liking)|sample|search/(all|stream))",
        status=403,
        body=dict(_NOT_ENROLLED),
        facets=frozenset({"followers", "following", "reposts", "quotes", "likes"}),
    ),
    "twitter_v1-basic": Closure(
        dialect="twitter_v1",
        routes=r"/1\.1/(followers|friends|search|lists|favorites)/|/1\.1/statuses/(filter|sample|retweet)",
        status=403,
        body={"errors": [{"code": 453, "message": _SUBSET}]},
        facets=frozenset({"followers", "following", "reposts", "search", "hashtag"}),
    ),
    "weibo-limited": Closure(
        dialect="weibo",
        routes=r"/2/(search|friendships|place)/",
        status=403,
        body={"error_code": 10014, "error": "Insufficient app permissions!"},
        facets=frozenset({"followers", "following", "search", "hashtag"}),
    ),
}
