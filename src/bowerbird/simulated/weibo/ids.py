"""Weibo ids of the world's accounts and posts: the seconds stand above 22 bits, as in the real ones."""

from __future__ import annotations

from bowerbird.simulated.world import World
from bowerbird.simulated.world.posts.rows import author_of, ms_of, number_of

_OFFSET = 515_483_463
_LOW = 22
_FIRST_USER, _USER_STEP = 1_000_000_007, 37
_COMMENT = 1 << 58
"""A comment is a reply of the world under an id of its own."""


class Ids:
    """Below the second come its part and the author, so that a post is found again without an index."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._author_bits = max(1, (len(world) - 1).bit_length())
        self._parts = 1 << min(10, _LOW - self._author_bits)

    def user(self, account: int) -> int:
        return _FIRST_USER + _USER_STEP * account

    def account(self, text: str) -> int | None:
        if not _is_id(text):
            return None
        account, rest = divmod(int(text) - _FIRST_USER, _USER_STEP)
        return account if rest == 0 and 0 <= account < len(self._world) else None

    def post(self, number: int) -> int:
        seconds, ms = divmod(ms_of(number), 1000)
        return ((seconds - _OFFSET) << _LOW) | (ms * self._parts // 1000 << self._author_bits) | author_of(number)

    def comment(self, number: int) -> int:
        return self.post(number) | _COMMENT

    def numbers(self, text: str) -> list[int]:
        """The numbers that a post, or a comment, of this id may have: one, unless the world is large."""
        if not _is_id(text):
            return []
        key = int(text) & ~_COMMENT
        author, part = key & ((1 << self._author_bits) - 1), (key >> self._author_bits) % self._parts
        ms = ((key >> _LOW) + _OFFSET) * 1000
        first, end = -(-part * 1000 // self._parts), -(-(part + 1) * 1000 // self._parts)
        return [number_of(ms + each, author) for each in range(first, end)]


def _is_id(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) <= 19
