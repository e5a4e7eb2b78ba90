"""The Mastodon REST dialect of the simulated service: who asks, may they, and which handler answers."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime

from bowerbird.model import Request
from bowerbird.simulated.feeds import Feed
from bowerbird.simulated.limiter import Limiter
from bowerbird.simulated.mastodon.accounts import Accounts
from bowerbird.simulated.mastodon.call import NOT_FOUND, Call, refuse
from bowerbird.simulated.mastodon.discovery import Discovery
from bowerbird.simulated.mastodon.federation import Vantage
from bowerbird.simulated.mastodon.limits import Throttles, headers
from bowerbird.simulated.mastodon.oauth import OAuth
from bowerbird.simulated.mastodon.payloads import Payloads
from bowerbird.simulated.mastodon.statuses import Statuses
from bowerbird.simulated.mastodon.streams import Streams
from bowerbird.simulated.mastodon.timelines import Timelines
from bowerbird.simulated.scale import REAL, Scale
from bowerbird.simulated.tokens import Token, TokenBook
from bowerbird.simulated.wire import Params, RefusedError, Reply, reply
from bowerbird.simulated.world import World
from bowerbird.simulated.world.crowd import Crowd
from bowerbird.simulated.world.settings import to_ms

__all__ = ["MastodonDialect"]

Handler = Callable[..., Reply]

_BAD_TOKENS = {
    "revoked": (401, "The access token was revoked"),
    "expired": (401, "The access token expired"),
    "disabled": (403, "Your login is currently disabled"),
}

_FAILURES = {
    401: "The access token is invalid",
    429: "Too many requests",
    500: "Internal Server Error",
    503: "There was a temporary problem serving your request, please try again",
}


class MastodonDialect:
    """One Mastodon server over a world; its ids depend on its domain."""

    name = "mastodon"

    def __init__(
        self,
        world: World,
        limiter: Limiter,
        tokens: TokenBook,
        *,
        scale: Scale = REAL,
        domain: str = "simulated.example",
        servers: tuple[str, ...] = (),
    ) -> None:
        """`servers`: the domains of all servers that share the world, this one among them; alone if none is named."""
        self.world = world
        self.domain = domain
        self.vantage = Vantage(world, domain, servers)
        self.ids = self.vantage.ids
        self._tokens = tokens
        self._throttles = Throttles(scale, limiter)
        payloads = Payloads(self.vantage)
        self.files_are_at = payloads.files_are_at
        self._streams = Streams(payloads, tokens)
        self._routes = self._table(payloads, Crowd(world))

    def handle(self, request: Request, now: datetime, address: str = "127.0.0.1") -> Reply:
        """Answers one request as of now, counting it against every limit it falls under."""
        params = Params(request)
        token, problem = self._who(request)
        verdict = self._throttles.spend(request.path, request.method, params, token, address, now)
        limits = headers(verdict, now) if verdict is not None else {}
        if verdict is not None and not verdict.is_allowed:
            return reply({"error": "Too many requests"}, 429, limits)
        try:
            if problem is not None:
                raise problem
            moment = to_ms(self.world.settings.moment(now))
            answer = self._route(request, Call(request.path, f"https://{self.domain}", params, token, moment))
        except RefusedError as refused:
            answer = refused.reply
        return answer.adding(limits)

    def stream(self, request: Request, now: datetime, address: str = "127.0.0.1") -> Feed | Reply | None:
        """A connection to one of the streams, a refusal, or None for a path that is no stream. The API's limits are not asked."""
        return self._streams.open(request, now)

    def failure(self, status: int) -> Reply:
        """What this server says when it is not well."""
        return reply({"error": _FAILURES[status]}, status)

    def is_shown(self, visibility: str) -> bool:
        """Whether a visitor gets to see posts sent in this way."""
        return visibility != "private"

    def account_key(self, account: int) -> str:
        return self.ids.account(account)

    def post_key(self, number: int) -> str:
        return self.ids.post(number)

    def account_number(self, key: str) -> int | None:
        return self.ids.account_number(key)

    def handle_of(self, account: int, now: datetime) -> str:
        return self.world.profiles.at(account, to_ms(now)).first_handle

    def _who(self, request: Request) -> tuple[Token | None, RefusedError | None]:
        scheme, _, value = request.headers.get("authorization", "").partition(" ")
        value = value.strip() if scheme.lower() == "bearer" else ""
        if not value:
            return None, None
        token = self._tokens.get(value)
        if token is None:
            return None, refuse(401, "The access token is invalid")
        if token.state != "good":
            return None, refuse(*_BAD_TOKENS[token.state])
        if not any(scope.split(":")[0] == "read" for scope in token.scopes):
            return token, refuse(403, "This action is outside the authorized scopes")
        return token, None

    def _route(self, request: Request, call: Call) -> Reply:
        for method, pattern, handler in self._routes:
            match = pattern.fullmatch(request.path)
            if match is not None and method == request.method:
                return handler(call, *match.groups())
        raise refuse(404, NOT_FOUND)

    def _table(self, payloads: Payloads, crowd: Crowd) -> list[tuple[str, re.Pattern[str], Handler]]:
        accounts, statuses, oauth = Accounts(payloads), Statuses(payloads), OAuth(self._tokens)
        timelines, discovery = Timelines(payloads, crowd), Discovery(payloads, crowd, self._tokens, self.domain)
        table: dict[str, Handler] = {
            "/api/v1/accounts": accounts.batch,
            "/api/v1/accounts/lookup": accounts.lookup,
            "/api/v1/accounts/search": discovery.accounts,
            "/api/v1/accounts/verify_credentials": discovery.verify,
            "/api/v1/apps/verify_credentials": discovery.verify_app,
            "/api/v1/accounts/:key/followers": accounts.followers,
            "/api/v1/accounts/:key/following": accounts.following,
            "/api/v1/accounts/:key/statuses": accounts.statuses,
            "/api/v1/accounts/:key/featured_tags": accounts.featured_tags,
            "/api/v1/accounts/:key": accounts.one,
            "/api/v1/statuses": statuses.batch,
            "/api/v1/statuses/:key/context": statuses.context,
            "/api/v1/statuses/:key/history": statuses.history,
            "/api/v1/statuses/:key/reblogged_by": statuses.reblogged_by,
            "/api/v1/statuses/:key/favourited_by": statuses.favourited_by,
            "/api/v1/statuses/:key/quotes": statuses.quotes,
            "/api/v1/statuses/:key": statuses.one,
            "/api/v1/timelines/public": timelines.public,
            "/api/v1/timelines/link": timelines.link,
            "/api/v1/timelines/tag/:key": timelines.tag,
            "/api/v1/trends": timelines.trending_tags,
            "/api/v1/trends/tags": timelines.trending_tags,
            "/api/v1/trends/statuses": timelines.trending_statuses,
            "/api/v1/trends/links": timelines.trending_links,
            "/api/v2/search": discovery.search,
            "/api/v1/directory": discovery.directory,
            "/api/v2/instance": discovery.instance,
            "/api/v1/instance": discovery.instance_v1,
            "/api/v1/instance/rules": discovery.rules,
            "/api/v1/instance/peers": discovery.peers,
            "/api/v1/favourites": discovery.nothing,
            "/api/v1/lists": discovery.nothing,
            "/.well-known/nodeinfo": discovery.nodeinfo,
            "/nodeinfo/2.0": discovery.nodeinfo_two,
            "/robots.txt": discovery.robots,
            "/oauth/authorize": oauth.authorize,
        }
        routes = [("GET", path, handler) for path, handler in table.items()]
        routes += [("POST", "/api/v1/apps", oauth.register), ("POST", "/oauth/token", oauth.token)]
        return [(method, re.compile(re.escape(path).replace(":key", "([^/]+)")), handler) for method, path, handler in routes]
