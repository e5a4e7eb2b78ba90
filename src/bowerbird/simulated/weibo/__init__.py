"""The Weibo 2.0 dialect of the simulated service: who asks, may they, and which handler answers."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime

from bowerbird.model import Request
from bowerbird.simulated.limiter import Limiter
from bowerbird.simulated.scale import REAL, Scale
from bowerbird.simulated.tokens import IssuedTokens, Token
from bowerbird.simulated.weibo.call import Call, error
from bowerbird.simulated.weibo.eras import ERAS
from bowerbird.simulated.weibo.ids import Ids
from bowerbird.simulated.weibo.limits import FREE, Throttles
from bowerbird.simulated.weibo.payloads import Payloads
from bowerbird.simulated.weibo.statuses import Statuses
from bowerbird.simulated.weibo.users import Users
from bowerbird.simulated.wire import Params, RefusedError, Reply, reply
from bowerbird.simulated.world import World
from bowerbird.simulated.world.posts.crowd import Crowd
from bowerbird.simulated.world.settings import to_ms

__all__ = ["ERAS", "WeiboDialect"]

Handler = Callable[..., Reply]


class WeiboDialect:
    """The 2.0 API over a world, in one of its eras."""

    name = "weibo"

    def __init__(
        self, world: World, limiter: Limiter, tokens: IssuedTokens, *, scale: Scale = REAL, era: str = "classic"
    ) -> None:  # fmt: skip
        self.world = world
        self.domain = "api.weibo.simulated.example"
        self.ids = Ids(world)
        self._tokens = tokens
        self._throttles = Throttles(scale, limiter)
        payloads = Payloads(world, self.ids)
        self.era = era
        users = Users(payloads, ERAS[era])
        self._routes = self._table(users, Statuses(payloads, Crowd(world), users, ERAS[era]))

    def handle(self, request: Request, now: datetime, address: str = "127.0.0.1") -> Reply:
        """Answers one request as of now, counting it against both limits."""
        try:
            return self._handle(request, Params(request), now, address)
        except RefusedError as refused:
            return refused.reply

    def failure(self, status: int) -> Reply:
        """What this server says when it is not well."""
        return error({401: 21332, 429: 10023, 500: 10001, 503: 10002}[status])

    def is_shown(self, visibility: str) -> bool:
        """Posts for a group are listed to those in it, marked as what they are: nobody may keep them."""
        return visibility != "private"

    def account_key(self, account: int) -> str:
        return str(self.ids.user(account))

    def post_key(self, number: int) -> str:
        return str(self.ids.post(number))

    def account_number(self, key: str) -> int | None:
        return self.ids.account(key)

    def handle_of(self, account: int, now: datetime) -> str:
        return self.world.profiles.at(account, to_ms(now)).handle

    def own(self, token: Token) -> int:
        """The account of a token's owner: the one it names by id, or for `user7` the world's seventh."""
        account = self.ids.account(token.account)
        digits = re.sub(r"\D", "", token.account)
        return account if account is not None else int(digits or 0) % len(self.world)

    def _handle(self, request: Request, params: Params, now: datetime, address: str) -> Reply:
        token = self._who(request, params)
        endpoint, handler, arguments = self._route(request)
        refused = 0 if endpoint in FREE else self._throttles.spend(token, address, now)
        if refused:
            return error(refused, request.path)
        moment = to_ms(self.world.settings.moment(now))
        return handler(Call(request.path, params, token, moment, now, address, self.own(token)), *arguments)

    def _who(self, request: Request, params: Params) -> Token:
        """The token in the header or, as most did, in the address."""
        scheme, _, rest = request.headers.get("authorization", "").partition(" ")
        value = rest.strip() if scheme.lower() == "oauth2" else params.get("access_token")
        if not value:
            raise RefusedError(error(10006, request.path))
        token = self._tokens.get(value)
        if token is None or token.state in ("revoked", "disabled"):
            raise RefusedError(error(21332, request.path))
        if token.state == "expired":
            raise RefusedError(error(21327, request.path))
        return token

    def _route(self, request: Request) -> tuple[str, Handler, tuple[str, ...]]:
        match = re.fullmatch(r"/2/([a-z_/]+)\.json", request.path)
        endpoint, arguments = match[1] if match else "", tuple[str, ...]()
        family, _, period = endpoint.partition("/")
        if family == "trends":
            endpoint, arguments = family, (period,)
        if endpoint not in self._routes:
            raise RefusedError(error(10020, request.path))
        if request.method != "GET":
            raise RefusedError(error(10021, request.path))
        return endpoint, self._routes[endpoint], arguments

    def _status(self, call: Call) -> Reply:
        return reply(self._throttles.status(call.token, call.address, call.arrived_at))

    def _uid(self, call: Call) -> Reply:
        return reply({"uid": self.ids.user(call.own)})

    def _table(self, users: Users, statuses: Statuses) -> dict[str, Handler]:
        return {
            "users/show": users.show,
            "users/domain_show": users.domain_show,
            "users/show_batch": users.show_batch,
            "users/counts": users.counts,
            "friendships/followers/ids": users.follower_ids,
            "friendships/followers": users.followers,
            "friendships/friends/ids": users.friend_ids,
            "friendships/friends": users.friends,
            "friendships/friends/bilateral/ids": users.bilateral_ids,
            "tags": users.tags,
            "tags/tags_batch": users.tags_batch,
            "search/suggestions/users": users.suggestions,
            "statuses/user_timeline": statuses.user_timeline,
            "statuses/show": statuses.show,
            "statuses/show_batch": statuses.show_batch,
            "statuses/repost_timeline": statuses.repost_timeline,
            "statuses/querymid": statuses.query_mid,
            "statuses/public_timeline": statuses.public_timeline,
            "comments/show": statuses.comments,
            "comments/show_batch": statuses.comment_batch,
            "search/topics": statuses.topics,
            "place/nearby_timeline": statuses.nearby,
            "trends": statuses.trends,
            "account/rate_limit_status": self._status,
            "account/get_uid": self._uid,
        }
