"""A server's own ids: the time above, whose it is below; the salt makes every server's different.

Mastodon's are numbers (48 bits of time, 16 below), GoToSocial's ULIDs (48 and 80 bits, 26 letters), Pleroma's flakes (64 and
64 bits, in base 62). Whichever the form, ids rise with the time a post was written.
"""

from __future__ import annotations

from zlib import crc32

from bowerbird.simulated.world import World
from bowerbird.simulated.world.posts.rows import SNOWFLAKE_EPOCH, author_of, ms_of, number_of

_LARGEST = (1 << 62) - 1
FIRST_FOLLOW = 7_000_000
"""Follows, reblogs and favourites have ids of their own in the server's tables; they appear only in `Link` headers."""

_CROCKFORD = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_BASE_62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_ULID_LENGTH, _FLAKE_LENGTH = 26, 18


class Ids:
    """Turns the world's numbers into a server's ids and back; here as Mastodon has them."""

    def __init__(self, world: World, domain: str) -> None:
        self._world = world
        self._salt = crc32(domain.encode()) & 0xFFFF

    def post(self, number: int) -> str:
        return self._join(ms_of(number), author_of(number))

    def account(self, account: int) -> str:
        return self._join(int(self._world.people.created[account]), account)

    def number(self, text: str) -> int | None:
        """The number a post of this id would have; None if it cannot be one of ours."""
        parts = self._split(text)
        if parts is None:
            return None
        ms, author = parts
        return min(max(0, number_of(ms, author)), _LARGEST) if ms >= SNOWFLAKE_EPOCH else 0

    def account_number(self, text: str) -> int | None:
        parts = self._split(text)
        if parts is None:
            return None
        ms, account = parts
        return account if account < len(self._world) and int(self._world.people.created[account]) == ms else None

    def row(self, value: int) -> str:
        """The id of a row of one of the server's other tables."""
        return str(value)

    def place(self, text: str) -> int | None:
        """The row's number again; None if it is none."""
        return int(text) if text.isascii() and text.isdecimal() and len(text) <= 20 else None

    def _join(self, ms: int, account: int) -> str:
        return str((ms << 16) | ((account & 0xFFFF) ^ self._salt))

    def _split(self, text: str) -> tuple[int, int] | None:
        if not text.isascii() or not text.isdecimal() or len(text) > 19:
            return None
        value = int(text)
        ms = value >> 16
        return ms, ((ms & 3) << 16) | ((value & 0xFFFF) ^ self._salt)


class _Letters(Ids):
    """Ids in letters, all of the same length, so that they sort as what they stand for."""

    digits: str
    length: int
    low: int
    """Bits below the time."""

    def row(self, value: int) -> str:
        return self._written(value)

    def place(self, text: str) -> int | None:
        return self._value(text)

    def _join(self, ms: int, account: int) -> str:
        return self._written((ms << self.low) | (self._salt << 32) | account)

    def _split(self, text: str) -> tuple[int, int] | None:
        value = self._value(text)
        return None if value is None else (value >> self.low, value & 0xFFFFFFFF & ((1 << 22) - 1))

    def _written(self, value: int) -> str:
        found = ""
        for _ in range(self.length):
            value, digit = divmod(value, len(self.digits))
            found = self.digits[digit] + found
        return found

    def _value(self, text: str) -> int | None:
        if len(text) != self.length or any(each not in self.digits for each in text):
            return None
        value = 0
        for each in text:
            value = value * len(self.digits) + self.digits.index(each)
        return value


class Ulids(_Letters):
    """GoToSocial's."""

    digits, length, low = _CROCKFORD, _ULID_LENGTH, 80


class Flakes(_Letters):
    """Pleroma's."""

    digits, length, low = _BASE_62, _FLAKE_LENGTH, 64


FORMS = {"snowflake": Ids, "ulid": Ulids, "flake": Flakes}
