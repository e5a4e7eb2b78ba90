"""The Mastodon REST dialect of the simulated service: who asks, may they, and which handler answers."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime

from bowerbird.model import Request
from bowerbird.simulated.feeds import Feed
from bowerbird.simulated.limiter import Limiter
from bowerbird.simulated.mastodon.accounts import Accounts
from bowerbird.simulated.mastodon.call import Call, refuse
from bowerbird.simulated.mastodon.discovery import Discovery
from bowerbird.simulated.mastodon.federation import Vantage
from bowerbird.simulated.mastodon.limits import Limits, PlainLimits, Throttles
from bowerbird.simulated.mastodon.oauth import OAuth
from bowerbird.simulated.mastodon.payloads import Payloads
from bowerbird.simulated.mastodon.reasons import NEEDS_USER, NO_ROUTE, WRONG_METHOD
from bowerbird.simulated.mastodon.statuses import Statuses
from bowerbird.simulated.mastodon.streaming.streams import Streams
from bowerbird.simulated.mastodon.timelines import Timelines
from bowerbird.simulated.scale import REAL, Scale
from bowerbird.simulated.tokens import IssuedTokens, Token
from bowerbird.simulated.wire import JSON, Params, RefusedError, Reply, reply
from bowerbird.simulated.world.posts.crowd import Crowd
from bowerbird.simulated.world.settings import to_ms

__all__ = ["MastodonDialect"]

Handler = Callable[..., Reply]

_BAD_TOKENS = {
    "revoked": (401, "The access token was revoked"),
    "expired": (401, "The access token expired"),
    "disabled": (403, "Your login is currently disabled"),
}

_UNROUTED = frozenset({NO_ROUTE, WRONG_METHOD})

_FAILURES = {
    401: "The access token is invalid",
    429: "Too many requests",
    500: "Internal Server Error",
    503: "There was a temporary problem serving your request, please try again",
}


_PAGE = b"<!DOCTYPE html><html lang='en'><head><title>The page you are looking for isn't here.</title></head><body></body></html>"


class Route:
    """One path of the API and what answers there."""

    def __init__(self, method: str, path: str, handler: Handler) -> None:
        self.method, self.path, self.handler = method, path, handler
        self.pattern = re.compile(re.escape(path).replace(":key", "([^/]+)"))


class MastodonDialect:
    """One Mastodon server over a world; its ids depend on its domain."""

    name = "mastodon"

    def __init__(self, vantage: Vantage, limiter: Limiter, tokens: IssuedTokens, *, scale: Scale = REAL) -> None:
        """`vantage`: the world as this server sees it."""
        self.world = vantage.world
        self.domain = vantage.domain
        self.vantage = vantage
        self.flavour = vantage.flavour
        self.ids = vantage.ids
        self._tokens = tokens
        rates = self.flavour.rates
        self._limits: Limits = Throttles(scale, limiter) if rates is None else PlainLimits(rates, scale, limiter)
        payloads = Payloads(vantage)
        self.files_are_at = payloads.files_are_at
        self._streams = Streams(payloads, tokens)
        self._routes = self._table(payloads, Crowd(vantage.world))

    def handle(self, request: Request, now: datetime, address: str = "127.0.0.1") -> Reply:
        """Answers one request as of now, counting it against every limit it falls under."""
        params = Params(request)
        token, problem = self._who(request)
        verdict = self._limits.spend(request.path, request.method, params, token, address, now)
        limits = self._limits.headers(verdict, now) if verdict is not None else {}
        if verdict is not None and not verdict.is_allowed:
            return self._limits.refusal(verdict).adding(limits)
        try:
            moment = to_ms(self.world.settings.moment(now))
            answer = self._route(request, Call(request.path, f"https://{self.domain}", params, token, moment), problem)
        except RefusedError as refused:
            answer = self._worded(refused, request)
            if refused.message in _UNROUTED and self.flavour.software == "mastodon":
                # Only its controllers tell the limits, and none was reached.
                return answer
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

    def _route(self, request: Request, call: Call, problem: RefusedError | None) -> Reply:
        """The answer of the route that the request names, once who asks may ask it."""
        method = "GET" if request.method == "HEAD" else request.method
        for each in self._routes:
            match = each.pattern.fullmatch(request.path)
            if match is not None and method == each.method:
                self._admit(each.path, call, problem)
                return each.handler(call, *match.groups())
        if problem is not None:
            raise problem
        is_wrong_method = request.path in self.flavour.posts_only
        raise refuse(404, WRONG_METHOD if is_wrong_method else NO_ROUTE)

    def _admit(self, path: str, call: Call, problem: RefusedError | None) -> None:
        """Refuses a bad token, and guests where the server wants a user."""
        if problem is not None and not self.flavour.ignores_bad_tokens:
            raise problem
        if self.flavour.open_to_guests is not None and path not in self.flavour.open_to_guests and not call.is_user:
            raise refuse(401, NEEDS_USER)

    def _worded(self, refused: RefusedError, request: Request) -> Reply:
        """The refusal in the words of the server's software."""
        own = self.flavour.refusals.get(refused.message)
        if own is None:
            return refused.reply
        # Rails answers who does not ask for JSON with a page.
        accepts = request.headers.get("accept", JSON)
        if self.flavour.software == "mastodon" and "json" not in accepts:
            return Reply(own.status, _PAGE, {"content-type": "text/html; charset=utf-8"})
        return own.reply()

    def _table(self, payloads: Payloads, crowd: Crowd) -> list[Route]:
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
            "/": discovery.front,
            "/oauth/authorize": oauth.authorize,
        }
        routes = [("GET", path, handler) for path, handler in table.items()]
        routes += [("POST", "/api/v1/apps", oauth.register), ("POST", "/oauth/token", oauth.token)]
        missing = self.flavour.lacks | self.flavour.posts_only
        return [Route(method, path, handler) for method, path, handler in routes if method == "POST" or path not in missing]
