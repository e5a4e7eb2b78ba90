"""One request to the Mastodon dialect, with its paging read, and the errors it may end in."""

from __future__ import annotations

from collections.abc import Callable
from urllib.parse import quote

import numpy as np
from msgspec import Struct

from bowerbird.simulated.mastodon.limits import PAGED
from bowerbird.simulated.mastodon.reasons import NEEDS_USER
from bowerbird.simulated.tokens import Token
from bowerbird.simulated.wire import Params, RefusedError, reply
from bowerbird.simulated.world.people.population import Array
from bowerbird.simulated.world.world import FAR

Read = Callable[[str], int | None]


def integer(text: str) -> int | None:
    """The number that a position is; None where it is none."""
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= 20 else None


def refuse(status: int, message: str, reason: str = "") -> RefusedError:
    """A refusal in Mastodon's words; `reason`: by what a flavour finds its own, where that is not the message."""
    return RefusedError(reply({"error": message}, status), reason or message)


class Call(Struct, frozen=True):
    """What a handler needs to know: the parameters, who asks, and the world's time in ms."""

    path: str
    base: str
    params: Params
    token: Token | None
    now: int

    @property
    def is_user(self) -> bool:
        return self.token is not None and self.token.kind == "user"

    def require_user(self) -> None:
        """401 without a token, 422 with one that stands for no user."""
        if self.token is None:
            raise refuse(401, NEEDS_USER)
        if self.token.kind != "user":
            raise refuse(422, NEEDS_USER)

    def limit(self, default: int) -> int:
        """Results wanted: more than twice the default is silently clipped."""
        wanted = self.params.integer("limit", default)
        if wanted < 0 or self.params.integer("offset", 0) < 0:
            raise refuse(400, "Pagination values for `offset` and `limit` must be positive")
        return min(wanted, 2 * default)

    def links(self, first: str | None, last: str | None, *, prev: str = "since_id") -> dict[str, str]:
        """The `Link` header: `next` starts below `last`, `prev` above `first`; None leaves one out."""
        ends = ((last, "max_id", "next"), (first, prev, "prev"))
        parts = [f'<{self._url(name, value)}>; rel="{rel}"' for value, name, rel in ends if value is not None]
        return {"link": ", ".join(parts)} if parts else {}

    def page(self, ids: Array, limit: int, read: Read = integer) -> Array:
        """Places of the ids the request asks for, of ids in rising order; newest first. `read`: what a position stands for."""
        top, since, lowest = (
            self._position(name, read, default) for name, default in (("max_id", FAR), ("since_id", 0), ("min_id", 0))
        )
        low = int(np.searchsorted(ids, max(since, lowest), side="right"))
        high = max(low, int(np.searchsorted(ids, top)))
        low, high = (low, min(high, low + limit)) if lowest else (max(low, high - limit), high)
        return np.arange(high - 1, low - 1, -1)

    def _position(self, name: str, read: Read, default: int) -> int:
        place = read(self.params.get(name))
        return min(default if place is None else place, 1 << 62)

    def _url(self, name: str, value: str) -> str:
        kept = [(key, text) for key, text in self.params.pairs if key not in PAGED]
        query = "&".join(f"{quote(key, safe='[]')}={quote(text)}" for key, text in [*kept, (name, value)])
        return f"{self.base}{self.path}?{query}"
