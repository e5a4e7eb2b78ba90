"""The Bluesky dialect of the simulated service: AppView and PDS behind one address, asked over XRPC."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from bowerbird.model import Request
from bowerbird.simulated.bluesky.actors import Actors
from bowerbird.simulated.bluesky.call import Call, error, invalid, refuse
from bowerbird.simulated.bluesky.feeds import Feeds
from bowerbird.simulated.bluesky.ids import Ids
from bowerbird.simulated.bluesky.limits import Throttles
from bowerbird.simulated.bluesky.payloads import Payloads
from bowerbird.simulated.bluesky.repos import Repos
from bowerbird.simulated.bluesky.sessions import LoginSessions, read_login
from bowerbird.simulated.bluesky.streams import Streams
from bowerbird.simulated.feeds import Feed
from bowerbird.simulated.limiter import Limiter
from bowerbird.simulated.scale import REAL, Scale
from bowerbird.simulated.tokens import IssuedTokens, Token
from bowerbird.simulated.wire import Params, RefusedError, Reply
from bowerbird.simulated.world import World
from bowerbird.simulated.world.posts.crowd import Crowd
from bowerbird.simulated.world.settings import to_ms

__all__ = ["BlueskyDialect"]

Handler = Callable[[Call], Reply]

_PREFIX = "/xrpc/"
_CREATE, _REFRESH = "com.atproto.server.createSession", "com.atproto.server.refreshSession"
_FAILURES = {
    # An expired token is a bad request here.
    401: (400, "ExpiredToken", "Token has expired"),
    429: (429, "RateLimitExceeded", "Rate Limit Exceeded"),
    500: (500, "InternalServerError", "Internal Server Error"),
    503: (503, "NotEnoughResources", "Not Enough Resources"),
}


class BlueskyDialect:
    """XRPC over a world; ids are DIDs and at-uris that carry the world's numbers."""

    name = "bluesky"

    def __init__(
        self, world: World, limiter: Limiter, tokens: IssuedTokens, *, scale: Scale = REAL, oversized: float = 0.0
    ) -> None:
        """`oversized`: which part of its streams' messages is larger than a client may take."""
        self.world = world
        self.domain = "simulated.example"
        self.ids = Ids(world, self.domain)
        self._throttles = Throttles(scale, limiter)
        self._sessions = LoginSessions(tokens, self.domain)
        payloads = Payloads(world, self.ids)
        self.actors = Actors(payloads)
        self._streams = Streams(payloads, oversized)
        self._queries = self._table(payloads, Crowd(world))

    def handle(self, request: Request, now: datetime, address: str = "127.0.0.1") -> Reply:
        """Answers one request as of now, counting it against every limit it falls under."""
        method = request.path.removeprefix(_PREFIX)
        login = read_login(request.body) if method == _CREATE else None
        verdict = self._throttles.spend(method, login.identifier if login else "", address, now)
        limits = self._throttles.headers(verdict, now)
        if not verdict.is_allowed:
            return self.failure(429).adding(limits)
        try:
            answer = self._answer(method, request, now, address)
        except RefusedError as refused:
            answer = refused.reply
        return answer.adding(limits)

    def stream(self, request: Request, now: datetime, address: str) -> Feed | Reply | None:
        """Jetstream and the firehose are open to everybody and counted by nobody."""
        return self._streams.open(request, now)

    def failure(self, status: int) -> Reply:
        """What this server says when it is not well."""
        return error(*_FAILURES[status])

    def is_shown(self, visibility: str) -> bool:
        """All posts are alike here: everything is public."""
        return True

    def account_key(self, account: int) -> str:
        return self.ids.did(account)

    def post_key(self, number: int) -> str:
        return self.ids.post(number)

    def account_number(self, key: str) -> int | None:
        return self.ids.account(key)

    def handle_of(self, account: int, now: datetime) -> str:
        return self.ids.handle(account, to_ms(now))

    def _answer(self, method: str, request: Request, now: datetime, address: str) -> Reply:
        moment = to_ms(self.world.settings.moment(now))
        bearer = _bearer(request)
        if method in (_CREATE, _REFRESH) and request.method == "POST":
            call = Call(Params(request), None, moment, now, address, request.body)
            return self._sessions.create(call) if method == _CREATE else self._sessions.renew(call, bearer)
        handler = self._queries.get(method) if request.path.startswith(_PREFIX) else None
        if handler is None:
            raise refuse(404, "XRPCNotSupported", "XRPCNotSupported")
        if request.method != "GET":
            raise invalid(f"Incorrect HTTP method ({request.method}) expected GET")
        token: Token | None = self._sessions.who(bearer, now) if bearer else None
        return handler(Call(Params(request), token, moment, now, address))

    def _table(self, payloads: Payloads, crowd: Crowd) -> dict[str, Handler]:
        actors = self.actors
        feeds, repos = Feeds(payloads, crowd, actors), Repos(payloads, actors)
        return {
            "app.bsky.actor.getProfile": actors.profile,
            "app.bsky.actor.getProfiles": actors.profiles,
            "app.bsky.actor.searchActors": actors.search,
            "com.atproto.identity.resolveHandle": actors.resolve,
            "app.bsky.graph.getFollowers": actors.followers,
            "app.bsky.graph.getFollows": actors.follows,
            "app.bsky.graph.getLists": actors.lists,
            "app.bsky.graph.getList": actors.list_members,
            "app.bsky.feed.getAuthorFeed": feeds.author_feed,
            "app.bsky.feed.getPosts": feeds.posts,
            "app.bsky.feed.getPostThread": feeds.thread,
            "app.bsky.feed.getRepostedBy": feeds.reposted_by,
            "app.bsky.feed.getLikes": feeds.likes,
            "app.bsky.feed.getQuotes": feeds.quotes,
            "app.bsky.feed.searchPosts": feeds.search,
            "app.bsky.unspecced.getTrends": feeds.trends,
            "com.atproto.repo.listRecords": repos.list_records,
            "com.atproto.repo.getRecord": repos.record,
            "com.atproto.sync.getRepo": repos.export,
            "com.atproto.sync.getRepoStatus": repos.status,
            "com.atproto.sync.listRepos": repos.list_repos,
            "network.bsky.jetstream.getZstdDictionary": self._streams.dictionary,
        }


def _bearer(request: Request) -> str:
    scheme, _, value = request.headers.get("authorization", "").partition(" ")
    return value.strip() if scheme.lower() == "bearer" else ""
