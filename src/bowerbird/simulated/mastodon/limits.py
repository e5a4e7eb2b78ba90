"""Mastodon's throttles (rack_attack): all that apply count at once, and the headers describe the tightest."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Protocol

from bowerbird.model import WindowKind
from bowerbird.simulated.limiter import Limiter, Throttle, Verdict
from bowerbird.simulated.mastodon.flavours.model import Rate
from bowerbird.simulated.scale import Scale
from bowerbird.simulated.tokens import Token
from bowerbird.simulated.wire import Params, Reply, reply

PAGED = ("page", "min_id", "max_id", "since_id")

_FIVE, _FIFTEEN, _TEN = timedelta(minutes=5), timedelta(minutes=15), timedelta(minutes=10)


class Limits(Protocol):
    """A server's limits."""

    def spend(self, path: str, method: str, params: Params, token: Token | None, address: str, now: datetime) -> Verdict | None:
        """Counts the request; None for paths that are not limited."""
        ...

    def refusal(self, verdict: Verdict) -> Reply: ...

    def headers(self, verdict: Verdict, now: datetime) -> dict[str, str]: ...


class PlainLimits:
    """The few limits by address of other software, each with words of its own."""

    def __init__(self, rates: Sequence[Rate], scale: Scale, limiter: Limiter) -> None:
        self._limiter = limiter
        self._rates = {rate.name: rate for rate in rates}
        self._throttles = [
            (scale.throttle(rate.name, rate.allowance, rate.window, WindowKind.ALIGNED), rate.paths) for rate in rates
        ]

    def spend(self, path: str, method: str, params: Params, token: Token | None, address: str, now: datetime) -> Verdict | None:
        charges = [(throttle, network_of(address)) for throttle, paths in self._throttles if path.startswith(paths)]
        return self._limiter.spend(charges, now) if charges else None

    def refusal(self, verdict: Verdict) -> Reply:
        return self._rates[verdict.name].refusal.reply()

    def headers(self, verdict: Verdict, now: datetime) -> dict[str, str]:
        return headers(verdict, now) if self._rates[verdict.name].is_told else {}


class Throttles:
    """Which throttles one request falls under, and on whose account."""

    def __init__(self, scale: Scale, limiter: Limiter) -> None:
        self._limiter = limiter

        def throttle(name: str, allowance: int, window: timedelta) -> Throttle:
            return scale.throttle(name, allowance, window, WindowKind.ALIGNED)

        self.account = throttle("throttle_authenticated_api", 1_500, _FIVE)
        self.token = throttle("throttle_per_token_api", 300, _FIVE)
        self.address = throttle("throttle_unauthenticated_api", 300, _FIVE)
        self.account_paging = throttle("throttle_authenticated_paging", 300, _FIFTEEN)
        self.address_paging = throttle("throttle_unauthenticated_paging", 300, _FIFTEEN)
        self.registration = throttle("throttle_oauth_application_registrations", 5, _TEN)

    def spend(self, path: str, method: str, params: Params, token: Token | None, address: str, now: datetime) -> Verdict | None:
        """Counts the request; None for paths that are not limited."""
        charges = self._charges(path, method, params, token, network_of(address))
        return self._limiter.spend(charges, now) if charges else None

    def refusal(self, verdict: Verdict) -> Reply:
        return reply({"error": "Too many requests"}, 429)

    def headers(self, verdict: Verdict, now: datetime) -> dict[str, str]:
        return headers(verdict, now)

    def _charges(self, path: str, method: str, params: Params, token: Token | None, address: str) -> list[tuple[Throttle, str]]:
        if not path.startswith("/api"):
            return []
        user = token.account if token is not None and token.kind == "user" else ""
        charges = [(self.account, user)] if user else [(self.address, address)]
        if token is not None:
            charges.append((self.token, token.value))
        if any(params.has(name) for name in PAGED):
            charges.append((self.account_paging, user) if user else (self.address_paging, address))
        if path == "/api/v1/apps" and method == "POST":
            charges.append((self.registration, address))
        return charges


def network_of(address: str) -> str:
    """Whom an address stands for: itself, or the /64 it belongs to for IPv6."""
    return ":".join(address.split(":")[:4]) + "::/64" if address.count(":") >= 4 else address


def headers(verdict: Verdict, now: datetime) -> dict[str, str]:
    # The real server adds whole seconds to the time of the request, so the fraction is the request's own.
    reset = verdict.reset_at.replace(microsecond=now.microsecond) if not verdict.reset_at.microsecond else verdict.reset_at
    return {
        "x-ratelimit-limit": str(verdict.limit),
        "x-ratelimit-remaining": str(verdict.remaining),
        "x-ratelimit-reset": reset.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
    }
