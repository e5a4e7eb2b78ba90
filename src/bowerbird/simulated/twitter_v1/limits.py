"""Requests per 15 minutes of every v1.1 endpoint, for user and for app authentication, and the daily limit on timelines."""

from __future__ import annotations

from datetime import datetime, timedelta

from bowerbird.model import WindowKind
from bowerbird.simulated.limiter import Limiter, Verdict
from bowerbird.simulated.scale import Scale
from bowerbird.simulated.tokens import Token

DEFAULT = (15, 15)
ALLOWANCES: dict[str, tuple[int, int]] = {
    "users/lookup": (900, 300),
    "users/show": (900, 900),
    "users/search": (900, 0),
    "followers/ids": (15, 15),
    "followers/list": (15, 15),
    "friends/ids": (15, 15),
    "friends/list": (15, 15),
    "statuses/user_timeline": (900, 1_500),
    "statuses/lookup": (900, 300),
    "statuses/show/:id": (900, 900),
    "statuses/retweets/:id": (75, 300),
    "statuses/retweeters/ids": (75, 300),
    "statuses/mentions_timeline": (75, 0),
    "statuses/home_timeline": (15, 0),
    "favorites/list": (75, 75),
    "search/tweets": (180, 450),
    "lists/members": (900, 75),
    "lists/statuses": (900, 900),
    "lists/list": (15, 15),
    "lists/show": (75, 75),
    "lists/ownerships": (15, 15),
    "lists/memberships": (75, 75),
    "lists/subscriptions": (15, 15),
    "trends/place": (75, 75),
    "application/rate_limit_status": (180, 180),
    "account/verify_credentials": (75, 0),
}
"""Endpoint: (user, app); 0 means that kind of authentication has no access."""

WINDOW = timedelta(minutes=15)
_CONNECTIONS = 15
"""Connections to streams per window and credential: never published, so a number of our own."""
_DAILY = {"statuses/user_timeline": 100_000, "statuses/mentions_timeline": 100_000}


class Throttles:
    """Counts each token's calls per endpoint, and an app's timelines per day."""

    def __init__(self, scale: Scale, limiter: Limiter, kind: WindowKind) -> None:
        self._limiter = limiter
        self._endpoint = {
            (endpoint, who): scale.throttle(f"{endpoint}[{who}]", allowance, WINDOW, kind)
            for endpoint, pair in ALLOWANCES.items()
            for who, allowance in zip(("user", "app"), pair, strict=True)
            if allowance
        }
        self._connections = scale.throttle("connections[user]", _CONNECTIONS, WINDOW, kind)
        self._daily = {
            endpoint: scale.throttle(f"{endpoint}[day]", allowance, timedelta(days=1), WindowKind.ALIGNED)
            for endpoint, allowance in _DAILY.items()
        }

    def allows(self, endpoint: str, token: Token) -> bool:
        """Whether this kind of authentication may use the endpoint at all."""
        return (endpoint, token.kind) in self._endpoint

    def spend(self, endpoint: str, token: Token, now: datetime) -> Verdict:
        charges = [(self._endpoint[endpoint, token.kind], token.value)]
        if endpoint in self._daily:
            charges.append((self._daily[endpoint], token.app))
        return self._limiter.spend(charges, now)

    def connect(self, token: Token, now: datetime) -> bool:
        """Counts one more connection to a stream, unless it is one too many."""
        return self._limiter.spend([(self._connections, token.value)], now).is_allowed

    def look(self, endpoint: str, token: Token, now: datetime) -> Verdict:
        return self._limiter.look(self._endpoint[endpoint, token.kind], token.value, now)


def headers(verdict: Verdict) -> dict[str, str]:
    return {
        "x-rate-limit-limit": str(verdict.limit),
        "x-rate-limit-remaining": str(verdict.remaining),
        "x-rate-limit-reset": str(-(-verdict.reset_at.timestamp() // 1)).removesuffix(".0"),
    }
