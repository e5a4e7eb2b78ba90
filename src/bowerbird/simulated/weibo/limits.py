"""Requests per hour and user, and per hour and address; no header tells of them, one endpoint does."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from bowerbird.model import WindowKind
from bowerbird.simulated.limiter import Limiter, Verdict
from bowerbird.simulated.scale import Scale
from bowerbird.simulated.tokens import Token

FREE = frozenset({"account/rate_limit_status", "account/get_uid"})
_BEIJING = timedelta(hours=8)


class Throttles:
    """Counts each user's and each address's calls; windows end on the hour."""

    def __init__(self, scale: Scale, limiter: Limiter) -> None:
        hour = timedelta(hours=1)
        self._limiter = limiter
        self._user = scale.throttle("user", 150, hour, WindowKind.ALIGNED)
        self._address = scale.throttle("address", 10_000, hour, WindowKind.ALIGNED)

    def spend(self, token: Token, address: str, now: datetime) -> int:
        """Counts one call; 0, or the code with which it is refused."""
        verdict = self._limiter.spend([(self._user, _who(token)), (self._address, address)], now)
        if verdict.is_allowed:
            return 0
        return 10023 if verdict.name == self._user.name else 10022

    def status(self, token: Token, address: str, now: datetime) -> dict[str, Any]:
        user, ip = self._limiter.look(self._user, _who(token), now), self._limiter.look(self._address, address, now)
        return {
            "api_rate_limits": [],
            "ip_limit": ip.limit,
            "limit_time_unit": "HOURS",
            "remaining_ip_hits": ip.remaining,
            "remaining_user_hits": user.remaining,
            "reset_time": f"{user.reset_at + _BEIJING:%Y-%m-%d %H:%M:%S}",
            "reset_time_in_seconds": _seconds_left(user, now),
            "user_limit": user.limit,
        }


def _seconds_left(verdict: Verdict, now: datetime) -> int:
    return int((verdict.reset_at - now).total_seconds())


def _who(token: Token) -> str:
    return f"{token.account}/{token.app}"
