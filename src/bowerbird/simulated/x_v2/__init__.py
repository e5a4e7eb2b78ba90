"""The X API v2 dialect of the simulated service: who asks, may they, and which handler answers."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime
from urllib.parse import unquote

from bowerbird.errors import UserError
from bowerbird.model import Request, WindowKind
from bowerbird.simulated.limiter import Limiter
from bowerbird.simulated.scale import REAL, Scale
from bowerbird.simulated.tokens import Token, TokenBook
from bowerbird.simulated.twitter_v1.call import account_number, user_key
from bowerbird.simulated.wire import Params, RefusedError, Reply
from bowerbird.simulated.world import World
from bowerbird.simulated.world.settings import to_ms
from bowerbird.simulated.x_v2.answers import Answers
from bowerbird.simulated.x_v2.call import Call
from bowerbird.simulated.x_v2.fields import PARAMETERS, asked
from bowerbird.simulated.x_v2.limits import Throttles, headers
from bowerbird.simulated.x_v2.meter import Budget, Meter
from bowerbird.simulated.x_v2.payloads import Payloads
from bowerbird.simulated.x_v2.problems import invalid, not_enrolled, plain, wrong_kind
from bowerbird.simulated.x_v2.tweets import Tweets
from bowerbird.simulated.x_v2.users import Users

__all__ = ["Budget", "XV2Dialect"]

Handler = Callable[..., Reply]
Routes = dict[str, tuple[re.Pattern[str], Handler]]

_OAUTH_FIELD = re.compile(r'(\w+)="([^"]*)"')
_OWN_PARAMETERS = """ids usernames query max_results pagination_token next_token since_id until_id start_time end_time exclude
sort_order max_trends days"""
_PARAMETERS = PARAMETERS | frozenset(_OWN_PARAMETERS.split())
_MARKS = {"x-access-level": "read", "api-version": "2.167"}
_UNMETERED = frozenset({"usage/tweets", "users/me"})
_SPELLINGS = ("tweet", "post")


class XV2Dialect:
    """The v2 API over a world; accounts and posts have the ids that the classic dialect gives them."""

    name = "x"

    def __init__(
        self,
        world: World,
        limiter: Limiter,
        tokens: TokenBook,
        *,
        scale: Scale = REAL,
        spelling: str = "tweet",
        budget: Budget = Budget(),  # noqa: B008  a frozen value
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
        self._routes = self._table(users, Tweets(payloads, self._answers, users))

    def handle(self, request: Request, now: datetime, address: str = "127.0.0.1") -> Reply:
        """Answers one request as of now, counting it against every limit it falls under."""
        try:
            return self._handle(request, Params(request), now)
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
        if not self._throttles.allows(endpoint, token):
            raise wrong_kind(token.kind)
        spent = self._throttles.spend(endpoint, token, now)
        answer = self._answer(endpoint, handler, arguments, params, token, now) if spent.is_allowed else plain(429)
        return answer.adding({**headers(spent.window), **_MARKS})

    def _answer(
        self, endpoint: str, handler: Handler, arguments: tuple[str, ...], params: Params, token: Token, now: datetime
    ) -> Reply:
        is_about_posts = "tweets" in endpoint and not endpoint.endswith(("liking_users", "retweeted_by"))
        refusal = None if endpoint in _UNMETERED else self.meter.refusal(token.app, is_about_posts, now)
        if refusal is not None:
            return refusal
        try:
            _check_names(params)
            call = Call(params, token, to_ms(self.world.settings.moment(now)), now, asked(params))
            return handler(call, *arguments)
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
            if match is not None and request.method == "GET":
                return endpoint, handler, tuple(unquote(each) for each in match.groups())
        raise RefusedError(plain(404))

    def _usage(self, call: Call) -> Reply:
        usage = self.meter.usage(call.token.app, call.arrived_at, call.size(7, 1, 90, "days"))
        return self._answers.body({"data": usage})

    def _table(self, users: Users, tweets: Tweets) -> Routes:
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
        }
        return {
            endpoint: (re.compile("/2/" + re.sub(r":\w+", "([^/]+)", endpoint)), handler) for endpoint, handler in table.items()
        }


def _check_names(params: Params) -> None:
    """A parameter that nobody knows is an error, not ignored."""
    for name, value in params.pairs:
        if name not in _PARAMETERS:
            raise invalid(name, value, f"The query parameter [{name}] is not one of [{','.join(sorted(_PARAMETERS))}]")
