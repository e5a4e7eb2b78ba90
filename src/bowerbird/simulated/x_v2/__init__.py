"""The X API v2 dialect of the simulated service: who asks, may they, and which handler answers."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime
from urllib.parse import unquote

from msgspec.structs import replace

from bowerbird.errors import UserError
from bowerbird.model import Request, WindowKind
from bowerbird.simulated.feeds import Feed
from bowerbird.simulated.limiter import Limiter
from bowerbird.simulated.scale import REAL, Scale
from bowerbird.simulated.tokens import IssuedTokens, Token
from bowerbird.simulated.twitter_v1.call import account_number, user_key
from bowerbird.simulated.wire import Params, RefusedError, Reply
from bowerbird.simulated.world import World
from bowerbird.simulated.world.posts.crowd import Crowd
from bowerbird.simulated.world.settings import to_ms
from bowerbird.simulated.x_v2.answers import Answers
from bowerbird.simulated.x_v2.call import Call
from bowerbird.simulated.x_v2.fields import NOTHING, PARAMETERS, asked
from bowerbird.simulated.x_v2.limits import Throttles, headers
from bowerbird.simulated.x_v2.meter import Budget, Meter
from bowerbird.simulated.x_v2.payloads import Payloads
from bowerbird.simulated.x_v2.problems import invalid, not_enrolled, plain, wrong_kind
from bowerbird.simulated.x_v2.querying.counts import Counts
from bowerbird.simulated.x_v2.querying.queries import Queries
from bowerbird.simulated.x_v2.querying.rules import Rules
from bowerbird.simulated.x_v2.streams import FILTERED, SAMPLED, Manner, Streams
from bowerbird.simulated.x_v2.tweets import Tweets
from bowerbird.simulated.x_v2.users import Users

__all__ = ["Budget", "Manner", "XV2Dialect"]

Handler = Callable[..., Reply]
Routes = dict[str, tuple[re.Pattern[str], Handler]]

_OAUTH_FIELD = re.compile(r'(\w+)="([^"]*)"')
_OWN_PARAMETERS = """ids usernames query max_results pagination_token next_token since_id until_id start_time end_time exclude
sort_order granularity max_trends days backfill_minutes dry_run delete_all"""
_PARAMETERS = PARAMETERS | frozenset(_OWN_PARAMETERS.split())
_MARKS = {"x-access-level": "read", "api-version": "2.167"}
_UNMETERED = frozenset({"usage/tweets", "users/me", "tweets/search/stream/rules", "POST tweets/search/stream/rules"})
_SPELLINGS = ("tweet", "post")
_STREAMS = {f"/2/{endpoint}": endpoint for endpoint in (FILTERED, SAMPLED)}


class XV2Dialect:
    """The v2 API over a world; accounts and posts have the ids that the classic dialect gives them."""

    name = "x"

    def __init__(
        self,
        world: World,
        limiter: Limiter,
        tokens: IssuedTokens,
        *,
        scale: Scale = REAL,
        spelling: str = "tweet",
        budget: Budget = Budget(),  # noqa: B008  a frozen value
        manner: Manner = Manner(),  # noqa: B008  a frozen value
    ) -> None:
        if spelling not in _SPELLINGS:
            raise UserError(f"The v2 API is spelled {' or '.join(_SPELLINGS)}, not {spelling!r}.")
        self.world = world
        self.domain = "api.simulated.example"
        self.meter = Meter(budget)
        self._tokens = tokens
        self._throttles = Throttles(scale, limiter, WindowKind.FIRST_CALL)
        payloads = Payloads(world)
        self._answers = Answers(payloads, self.meter, spelling)
        users = Users(world, self._answers)
        self._rules = Rules(Queries(payloads, Crowd(world), for_streams=True))
        self._streams = Streams(self._answers, self._rules, self.meter, manner)
        self._routes = self._table(users, Tweets(payloads, self._answers, users), Counts(payloads, self._answers))

    def handle(self, request: Request, now: datetime, address: str = "127.0.0.1") -> Reply:
        """Answers one request as of now, counting it against every limit it falls under."""
        try:
            return self._handle(request, Params(request), now)
        except RefusedError as refused:
            return refused.reply

    def stream(self, request: Request, now: datetime, address: str = "127.0.0.1") -> Feed | Reply | None:
        """A connection to one of the streams, a refusal, or None for a path that is no stream."""
        if request.method != "GET" or request.path not in _STREAMS:
            return None
        try:
            return self._open(_STREAMS[request.path], request, now)
        except RefusedError as refused:
            return refused.reply

    def failure(self, status: int) -> Reply:
        """What this server says when it is not well."""
        return plain(status)

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
        token = self._who(request)
        endpoint, handler, arguments = self._route(request)
        is_allowed, limits = self._spend(endpoint, token, now)
        answer = plain(429)
        if is_allowed:
            call = Call(params, token, to_ms(self.world.settings.moment(now)), now, NOTHING, request.body)
            answer = self._answer(endpoint, lambda asking: handler(asking, *arguments), call)
        return answer.adding(limits)

    def _open(self, endpoint: str, request: Request, now: datetime) -> Feed | Reply:
        token, params = self._who(request), Params(request)
        is_allowed, limits = self._spend(endpoint, token, now)
        if not is_allowed:
            return plain(429).adding(limits)
        refusal = self.meter.refusal(token.app, True, now)
        if refusal is not None:
            return refusal.adding(limits)
        _check_names(params)
        call = Call(params, token, to_ms(self.world.settings.moment(now)), now, asked(params))
        return self._streams.open(endpoint, call, limits)

    def _spend(self, endpoint: str, token: Token, now: datetime) -> tuple[bool, dict[str, str]]:
        """Whether the call may go on, and the headers that tell of its limit."""
        if not self._throttles.allows(endpoint, token):
            raise wrong_kind(token.kind)
        spent = self._throttles.spend(endpoint, token, now)
        return spent.is_allowed, {**headers(spent.window), **_MARKS}

    def _answer(self, endpoint: str, handler: Handler, call: Call) -> Reply:
        is_about_posts = "tweets" in endpoint and not endpoint.endswith(("liking_users", "retweeted_by"))
        is_metered = endpoint not in _UNMETERED
        refusal = self.meter.refusal(call.token.app, is_about_posts, call.arrived_at) if is_metered else None
        if refusal is not None:
            return refusal
        try:
            _check_names(call.params)
            return handler(replace(call, asked=asked(call.params)))
        except RefusedError as refused:
            return refused.reply

    def _who(self, request: Request) -> Token:
        """An app's bearer, a user's bearer of OAuth 2, or a user's OAuth 1.0a keys."""
        scheme, _, rest = request.headers.get("authorization", "").partition(" ")
        token: Token | None = None
        if scheme.lower() == "bearer":
            token = self._tokens.get(rest.strip())
        elif scheme.lower() == "oauth":
            fields = {name: unquote(value) for name, value in _OAUTH_FIELD.findall(rest)}
            token = self._tokens.get(fields.get("oauth_token", ""))
            if token is not None and (token.kind != "user" or token.consumer_key != fields.get("oauth_consumer_key")):
                token = None
        if token is None or token.state in ("revoked", "expired"):
            raise RefusedError(plain(401))
        if token.state == "disabled":
            raise not_enrolled()
        return token

    def _route(self, request: Request) -> tuple[str, Handler, tuple[str, ...]]:
        for endpoint, (pattern, handler) in self._routes.items():
            match = pattern.fullmatch(request.path)
            if match is not None and request.method == ("POST" if endpoint.startswith("POST ") else "GET"):
                return endpoint, handler, tuple(unquote(each) for each in match.groups())
        raise RefusedError(plain(404))

    def _usage(self, call: Call) -> Reply:
        usage = self.meter.usage(call.token.app, call.arrived_at, call.size(7, 1, 90, "days"))
        return self._answers.body({"data": usage})

    def _table(self, users: Users, tweets: Tweets, counts: Counts) -> Routes:
        """In this order: a name such as `by` or `search` is never taken for an id."""
        table: dict[str, Handler] = {
            "users": users.by_ids,
            "users/by": users.by_names,
            "users/by/username/:username": users.by_name,
            "users/search": users.search,
            "users/me": users.me,
            "users/:id": users.by_id,
            "users/:id/followers": users.followers,
            "users/:id/following": users.following,
            "users/:id/tweets": tweets.timeline,
            "users/:id/mentions": tweets.mentions,
            "users/:id/liked_tweets": tweets.liked,
            "users/:id/owned_lists": users.owned_lists,
            "users/:id/list_memberships": users.memberships,
            "users/:id/followed_lists": users.followed_lists,
            "tweets": tweets.by_ids,
            "tweets/search/recent": tweets.recent,
            "tweets/search/all": tweets.archive,
            "tweets/counts/recent": counts.recent,
            "tweets/:id": tweets.by_id,
            "tweets/:id/retweeted_by": tweets.reposters,
            "tweets/:id/retweets": tweets.reposts,
            "tweets/:id/quote_tweets": tweets.quotes,
            "tweets/:id/liking_users": tweets.likers,
            "lists/:id": users.show_list,
            "lists/:id/members": users.members,
            "lists/:id/tweets": tweets.list_timeline,
            "trends/by/woeid/:woeid": tweets.trends,
            "usage/tweets": self._usage,
            "tweets/search/stream/rules": self._rules.listed,
            "POST tweets/search/stream/rules": self._rules.changed,
        }
        return {endpoint: (_pattern(endpoint.removeprefix("POST ")), handler) for endpoint, handler in table.items()}


def _pattern(endpoint: str) -> re.Pattern[str]:
    return re.compile("/2/" + re.sub(r":\w+", "([^/]+)", endpoint))


def _check_names(params: Params) -> None:
    """A parameter that nobody knows is an error, not ignored."""
    for name, value in params.pairs:
        if name not in _PARAMETERS:
            raise invalid(name, value, f"The query parameter [{name}] is not one of [{','.join(sorted(_PARAMETERS))}]")
