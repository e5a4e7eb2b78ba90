"""One request to the v2 dialect: its parameters, checked, and its place in a list."""

from __future__ import annotations

from datetime import UTC, datetime

from msgspec import Struct

from bowerbird.simulated.tokens import Token
from bowerbird.simulated.wire import Params
from bowerbird.simulated.world.posts.rows import number_of
from bowerbird.simulated.world.settings import to_ms
from bowerbird.simulated.x_v2.fields import Asked
from bowerbird.simulated.x_v2.problems import invalid

FARTHEST = (1 << 63) - 1
_DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUV"
_VEIL = 0x2545_F491_4F6C_DD1D
"""Tokens look opaque: the position is hidden behind a fixed pattern."""


class Call(Struct, frozen=True):
    """What a handler needs to know; `now` is the world's time in ms."""

    params: Params
    token: Token
    now: int
    arrived_at: datetime
    """By the server's clock, which goes on where the world's time stands still."""
    asked: Asked
    body: bytes = b""

    def size(self, default: int, least: int, most: int, name: str = "max_results") -> int:
        text = self.params.get(name)
        if not text:
            return default
        if not text.isascii() or not text.isdigit() or not least <= int(text[:9]) <= most:
            message = f"The `{name}` query parameter value [{text}] is not between {least} and {most}"
            raise invalid(name, text, message)
        return int(text)

    def position(self) -> int | None:
        """Where the page starts, from whichever of the two names the token has."""
        for name in ("pagination_token", "next_token"):
            if text := self.params.get(name):
                return _position(name, text)
        return None

    def bounds(self) -> tuple[int, int]:
        """Post numbers that exclude each other's ends: below `until_id` and the page's position, above `since_id`."""
        below = min(self._id("until_id", FARTHEST), self._moment("end_time", FARTHEST))
        above = max(self._id("since_id", 0), self._moment("start_time", 1) - 1)
        position = self.position()
        return below if position is None else min(below, position), above

    def _id(self, name: str, default: int) -> int:
        text = self.params.get(name)
        if not text:
            return default
        return int(checked_id(name, text))

    def _moment(self, name: str, default: int) -> int:
        """A time of RFC 3339 as the first post number that can be so young."""
        text = self.params.get(name)
        if not text:
            return default
        try:
            when = datetime.fromisoformat(text)
        except ValueError:
            raise invalid(name, text, f"The `{name}` query parameter value [{text}] is not a valid RFC 3339 time") from None
        return max(number_of(to_ms(when if when.tzinfo else when.replace(tzinfo=UTC)), 0), 1)


def checked_id(name: str, text: str) -> str:
    if not text.isascii() or not text.isdigit() or len(text) > 19:
        raise invalid(name, text, f"The `{name}` query parameter value [{text}] is not valid")
    return text


def page_token(position: int) -> str:
    """Sixteen characters that lead on from a position."""
    rest, digits = position ^ _VEIL, ""
    for _ in range(13):
        rest, digit = divmod(rest, 32)
        digits = _DIGITS[digit] + digits
    return digits + "ZZZ"


def _position(name: str, text: str) -> int:
    if len(text) != 16 or not text.endswith("ZZZ") or set(text[:13]) - set(_DIGITS):
        raise invalid(name, text, f"The `{name}` query parameter value [{text}] is not valid")
    return int(text[:13], 32) ^ _VEIL
