"""Requests per 15 minutes of every endpoint, per user and per app, and the one search a second that no header tells of."""

from __future__ import annotations

from datetime import datetime, timedelta

from msgspec import Struct

from bowerbird.model import WindowKind
from bowerbird.simulated.limiter import Limiter, Verdict
from bowerbird.simulated.scale import Scale
from bowerbird.simulated.tokens import Token

ALLOWANCES: dict[str, tuple[int, int]] = {
    "users": (900, 300),
    "users/by": (900, 300),
    "users/by/username/:username": (900, 300),
    "users/search": (900, 0),
    "users/me": (75, 0),
    "users/:id": (900, 300),
    "users/:id/followers": (300, 300),
    "users/:id/following": (300, 300),
    "users/:id/tweets": (900, 10_000),
    "users/:id/mentions": (300, 450),
    "users/:id/liked_tweets": (75, 0),
    "users/:id/owned_lists": (15, 15),
    "users/:id/list_memberships": (75, 75),
    "users/:id/followed_lists": (15, 15),
    "tweets": (5_000, 3_500),
    "tweets/search/recent": (300, 450),
    "tweets/search/all": (0, 300),
    "tweets/counts/recent": (0, 300),
    "tweets/:id": (900, 450),
    "tweets/:id/retweeted_by": (75, 75),
    "tweets/:id/retweets": (75, 75),
    "tweets/:id/quote_tweets": (75, 75),
    "tweets/:id/liking_users": (75, 0),
    "lists/:id": (75, 75),
    "lists/:id/members": (900, 900),
    "lists/:id/tweets": (900, 900),
    "trends/by/woeid/:woeid": (0, 75),
    "usage/tweets": (0, 50),
    "tweets/search/stream": (0, 50),
    "tweets/sample/stream": (0, 50),
    "tweets/search/stream/rules": (0, 450),
    "POST tweets/search/stream/rules": (0, 100),
}
"""Endpoint (with its method if not GET): (user, app); 0 means that kind of authentication has no access."""

WINDOW = timedelta(minutes=15)
_BY_THE_SECOND = "tweets/search/all"


class Spent(Struct, frozen=True):
    """Whether a call may go on, and the window that the headers tell about either way."""

    is_allowed: bool
    window: Verdict


class Throttles:
    """Counts calls per endpoint: all of an app's together, each user's apart."""

    def __init__(self, scale: Scale, limiter: Limiter, kind: WindowKind) -> None:
        self._limiter = limiter
        self._endpoint = {
            (endpoint, who): scale.throttle(f"{endpoint}[{who}]", allowance, WINDOW, kind)
            for endpoint, pair in ALLOWANCES.items()
            for who, allowance in zip(("user", "app"), pair, strict=True)
            if allowance
        }
        self._second = scale.throttle(f"{_BY_THE_SECOND}[second]", 1, timedelta(seconds=1), WindowKind.FIRST_CALL)

    def allows(self, endpoint: str, token: Token) -> bool:
        """Whether this kind of authentication may use the endpoint at all."""
        return (endpoint, token.kind) in self._endpoint

    def spend(self, endpoint: str, token: Token, now: datetime) -> Spent:
        throttle, who = self._endpoint[endpoint, token.kind], _who(token)
        window = self._limiter.look(throttle, who, now)
        if endpoint == _BY_THE_SECOND and window.is_allowed and not self._limiter.spend([(self._second, who)], now).is_allowed:
            return Spent(False, window)
        window = self._limiter.spend([(throttle, who)], now)
        return Spent(window.is_allowed, window)


def _who(token: Token) -> str:
    return f"app:{token.app}" if token.kind == "app" else token.value


def headers(verdict: Verdict) -> dict[str, str]:
    return {
        "x-rate-limit-limit": str(verdict.limit),
        "x-rate-limit-remaining": str(verdict.remaining),
        "x-rate-limit-reset": str(-(-verdict.reset_at.timestamp() // 1)).removesuffix(".0"),
    }
