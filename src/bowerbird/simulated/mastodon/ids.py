"""A Mastodon server's own ids: 48 bits of time, 16 below; the salt makes every server's different."""

from __future__ import annotations

from zlib import crc32

from bowerbird.simulated.world import World
from bowerbird.simulated.world.rows import SNOWFLAKE_EPOCH, author_of, ms_of, number_of

_LARGEST = (1 << 62) - 1
FIRST_FOLLOW = 7_000_000
"""Follows, reblogs and favourites have ids of their own in the server's tables; they appear only in `Link` headers."""


class Ids:
    """Turns the world's numbers into this server's ids and back."""

    def __init__(self, world: World, domain: str) -> None:
        self._world = world
        self._salt = crc32(domain.encode()) & 0xFFFF

    def post(self, number: int) -> str:
        return str(self._join(ms_of(number), author_of(number)))

    def account(self, account: int) -> str:
        return str(self._join(int(self._world.people.created[account]), account))

    def number(self, text: str) -> int | None:
        """The number a post of this id would have; None if it cannot be one of ours."""
        if not text.isascii() or not text.isdecimal() or len(text) > 19:
            return None
        ms, author = self._split(int(text))
        return min(max(0, number_of(ms, author)), _LARGEST) if ms >= SNOWFLAKE_EPOCH else 0

    def account_number(self, text: str) -> int | None:
        if not text.isascii() or not text.isdecimal() or len(text) > 19:
            return None
        ms, account = self._split(int(text))
        return account if account < len(self._world) and int(self._world.people.created[account]) == ms else None

    def _join(self, ms: int, account: int) -> int:
        return (ms << 16) | ((account & 0xFFFF) ^ self._salt)

    def _split(self, value: int) -> tuple[int, int]:
        ms = value >> 16
        return ms, ((ms & 3) << 16) | ((value & 0xFFFF) ^ self._salt)
