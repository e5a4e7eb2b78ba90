"""The classic Twitter v1.1 REST dialect of the simulated service: who asks, may they, and which handler answers."""

from __future__ import annotations

import re
from base64 import b64decode
from collections.abc import Callable
from datetime import datetime
from typing import Any
from urllib.parse import unquote

from bowerbird.model import Request, WindowKind
from bowerbird.simulated.feeds import Feed
from bowerbird.simulated.limiter import Limiter
from bowerbird.simulated.scale import REAL, Scale
from bowerbird.simulated.tokens import IssuedTokens, Token
from bowerbird.simulated.twitter_v1.call import Call, account_number, error, refuse, user_key
from bowerbird.simulated.twitter_v1.limits import ALLOWANCES, Throttles, headers
from bowerbird.simulated.twitter_v1.payloads import Payloads, stamp
from bowerbird.simulated.twitter_v1.streams import CALM, PATHS, Manner, Streams
from bowerbird.simulated.twitter_v1.tweets import Tweets
from bowerbird.simulated.twitter_v1.users import Users
from bowerbird.simulated.wire import Params, RefusedError, Reply, reply
from bowerbird.simulated.world import World
from bowerbird.simulated.world.posts.crowd import Crowd
from bowerbird.simulated.world.settings import to_ms

__all__ = ["Manner", "TwitterV1Dialect"]

Handler = Callable[..., Reply]

_OAUTH_FIELD = re.compile(r'(\w+)="([^"]*)"')
_REASONS = {200: "200 OK", 400: "400 Bad Request", 401: "401 Unauthorized", 403: "403 Forbidden", 404: "404 Not Found"}


class TwitterV1Dialect:
    """The v1.1 API over a world."""

    name = "twitter_v1"

    def __init__(
        self,
        world: World,
        limiter: Limiter,
        tokens: IssuedTokens,
        *,
        scale: Scale = REAL,
        manner: Manner = Manner(),  # noqa: B008  a frozen value
    ) -> None:
        self.world = world
        self.domain = "api.simulated.example"
        self._tokens = tokens
        self._throttles = Throttles(scale, limiter, WindowKind.FIRST_CALL)
        payloads = Payloads(world)
        users = Users(payloads)
        self._streams = Streams(payloads, tokens, manner)
        self._routes = self._table(users, Tweets(payloads, Crowd(world), users))

    def handle(self, request: Request, now: datetime, address: str = "127.0.0.1") -> Reply:
        """Answers one request as of now, counting it against every limit it falls under."""
        try:
            return self._handle(request, Params(request), now)
        except RefusedError as refused:
            return refused.reply

    def stream(self, request: Request, now: datetime, address: str = "127.0.0.1") -> Feed | Reply | None:
        """A connection to one of the streams, a refusal, or None for a path that is no stream."""
        if request.path not in PATHS:
            return None
        try:
            params = Params(request)
            token = self._who(request, params)
            if token.kind != "user":
                raise refuse(220)
            if not self._throttles.connect(token, now):
                return CALM
            return self._streams.open(request.path, params, token, now)
        except RefusedError as refused:
            return refused.reply

    def failure(self, status: int) -> Reply:
        """What this server says when it is not well."""
        codes = {401: 89, 429: 88, 500: 131, 503: 130}
        return error(codes[status])

    def is_shown(self, visibility: str) -> bool:
        """All posts are alike here: only whole accounts are protected."""
        return True

    def account_key(self, account: int) -> str:
        return str(user_key(account))

    def post_key(self, number: int) -> str:
        return str(number)

    def account_number(self, key: str) -> int | None:
        return account_number(key, len(self.world))

    def handle_of(self, account: int, now: datetime) -> str:
        return self.world.profiles.at(account, to_ms(now)).handle

    def _handle(self, request: Request, params: Params, now: datetime) -> Reply:
        if request.path == "/oauth2/token" and request.method == "POST":
            return self._app_token(request)
        token = self._who(request, params)
        endpoint, handler, arguments = self._route(request)
        if not self._throttles.allows(endpoint, token):
            raise refuse(220)
        verdict = self._throttles.spend(endpoint, token, now)
        limits = headers(verdict)
        if not verdict.is_allowed:
            return error(88).adding(limits)
        try:
            call = Call(request.path, params, token, to_ms(self.world.settings.moment(now)), now)
            answer = handler(call, *arguments)
        except RefusedError as refused:
            answer = refused.reply
        marks = {"status": _REASONS.get(answer.status, str(answer.status)), "x-access-level": "read"}
        return answer.adding({**limits, **marks})

    def _app_token(self, request: Request) -> Reply:
        """An app-only bearer token for the consumer named in the Basic credentials."""
        scheme, _, text = request.headers.get("authorization", "").partition(" ")
        try:
            consumer = b64decode(text, validate=True).decode().partition(":")[0] if scheme.lower() == "basic" else ""
        except ValueError:
            consumer = ""
        if not consumer.startswith("sim-consumer-"):
            raise refuse(99)
        return reply({"token_type": "bearer", "access_token": self._tokens.issue("app", app=consumer[13:]).value})

    def _who(self, request: Request, params: Params) -> Token:
        scheme, _, rest = request.headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer":
            token, code = self._tokens.get(rest.strip()), 89
            is_known = token is not None and token.kind == "app"
        else:
            fields = dict(_OAUTH_FIELD.findall(rest)) if scheme.lower() == "oauth" else dict(params.pairs)
            if "oauth_consumer_key" not in fields:
                raise refuse(215)
            token, code = self._tokens.get(unquote(fields.get("oauth_token", ""))), 89
            is_known = token is not None and token.kind == "user"
            if token is not None and token.consumer_key != unquote(fields["oauth_consumer_key"]):
                raise refuse(32)
        if token is None or not is_known or token.state in ("revoked", "expired"):
            raise refuse(code)
        if token.state == "disabled":
            raise refuse(64)
        return token

    def _route(self, request: Request) -> tuple[str, Handler, tuple[str, ...]]:
        for endpoint, (methods, pattern, handler) in self._routes.items():
            match = pattern.fullmatch(request.path)
            if match is not None and request.method in methods:
                return endpoint.removesuffix("?"), handler, match.groups()
        raise refuse(34)

    def _rate_limit_status(self, call: Call) -> Reply:
        wanted = [name for name in call.params.get("resources").split(",") if name]
        resources: dict[str, dict[str, Any]] = {}
        for endpoint in ALLOWANCES:
            family = endpoint.split("/")[0]
            if (wanted and family not in wanted) or not self._throttles.allows(endpoint, call.token):
                continue
            verdict = self._throttles.look(endpoint, call.token, call.arrived_at)
            numbers = {"limit": verdict.limit, "remaining": verdict.remaining, "reset": int(verdict.reset_at.timestamp())}
            resources.setdefault(family, {})[f"/{endpoint}"] = numbers
        who = "access_token" if call.token.kind == "user" else "application"
        return reply({"rate_limit_context": {who: call.token.value}, "resources": resources})

    def _verify(self, call: Call) -> Reply:
        name = call.token.account
        return reply(
            {"id": 1, "id_str": "1", "name": name, "screen_name": name, "created_at": stamp(call.now), "protected": False}
        )

    def _empty(self, call: Call) -> Reply:
        """One's own home and mentions: a visitor's account here follows nobody."""
        return reply([])

    def _table(self, users: Users, tweets: Tweets) -> dict[str, tuple[tuple[str, ...], re.Pattern[str], Handler]]:
        get, both = ("GET",), ("GET", "POST")
        table: dict[str, tuple[tuple[str, ...], Handler]] = {
            "users/lookup": (both, users.lookup),
            "users/show": (get, users.show),
            "users/search": (get, users.search),
            "followers/ids": (get, users.follower_ids),
            "followers/list": (get, users.followers),
            "friends/ids": (get, users.friend_ids),
            "friends/list": (get, users.friends),
            "statuses/user_timeline": (get, tweets.user_timeline),
            "statuses/lookup": (both, tweets.lookup),
            "statuses/show/:id": (get, tweets.show),
            "statuses/retweets/:id": (get, tweets.retweets),
            "statuses/retweeters/ids": (get, tweets.retweeters),
            "statuses/mentions_timeline": (get, self._empty),
            "statuses/home_timeline": (get, self._empty),
            "favorites/list": (get, tweets.favorites),
            "search/tweets": (get, tweets.search),
            "lists/members": (get, users.members),
            "lists/statuses": (get, tweets.list_statuses),
            "lists/list": (get, users.lists),
            "lists/show": (get, users.show_list),
            "lists/ownerships": (get, users.ownerships),
            "lists/memberships": (get, users.memberships),
            "lists/subscriptions": (get, users.subscriptions),
            "trends/place": (get, tweets.trends),
            "application/rate_limit_status": (get, self._rate_limit_status),
            "account/verify_credentials": (get, self._verify),
        }
        routes = {
            endpoint: (methods, re.compile(rf"/1\.1/{re.escape(endpoint).replace(':id', '([^/.]+)')}\.json"), handler)
            for endpoint, (methods, handler) in table.items()
        }
        # The same endpoint, and the same limit, with the id as a parameter.
        routes["statuses/show/:id?"] = (get, re.compile(r"/1\.1/statuses/show\.json"), tweets.show)
        return routes
