"""The PDS's limits: fixed windows that begin with the first call, by address; exports and logins have their own."""

from __future__ import annotations

from datetime import datetime, timedelta

from bowerbird.model import WindowKind
from bowerbird.simulated.limiter import Limiter, Throttle, Verdict
from bowerbird.simulated.scale import Scale

_FIVE = timedelta(minutes=5)


class Throttles:
    """Which throttles one request falls under, and on whose account."""

    def __init__(self, scale: Scale, limiter: Limiter) -> None:
        self._limiter = limiter

        def throttle(name: str, allowance: int, window: timedelta) -> Throttle:
            return scale.throttle(name, allowance, window, WindowKind.FIRST_CALL)

        self.address = throttle("global-ip", 3_000, _FIVE)
        self.export = throttle("sync-get-repo", 6_000, _FIVE)
        self.login = throttle("create-session", 30, _FIVE)
        self.login_day = throttle("create-session-day", 300, timedelta(days=1))
        self._windows = {each.name: each.window for each in (self.address, self.export, self.login, self.login_day)}

    def spend(self, method: str, who: str, address: str, now: datetime) -> Verdict:
        """Counts the request; `who` is the account that logs in."""
        charges = [(self.export if method == "com.atproto.sync.getRepo" else self.address, address)]
        if method == "com.atproto.server.createSession":
            charges += [(self.login, f"{who}-{address}"), (self.login_day, f"{who}-{address}")]
        return self._limiter.spend(charges, now)

    def headers(self, verdict: Verdict, now: datetime) -> dict[str, str]:
        """What every answer says of the tightest limit; a refused one also when to come back."""
        # As xrpc-server does it: the fraction of the second is cut off, so the window ends up to a second after what is said.
        reset = int(verdict.reset_at.timestamp())
        said = {
            "ratelimit-limit": str(verdict.limit),
            "ratelimit-remaining": str(verdict.remaining),
            "ratelimit-reset": str(reset),
            "ratelimit-policy": f"{verdict.limit};w={int(self._windows[verdict.name].total_seconds())}",
        }
        if not verdict.is_allowed:
            said["retry-after"] = str(max(1, -int(-(verdict.reset_at - now).total_seconds() // 1)))
        return said
