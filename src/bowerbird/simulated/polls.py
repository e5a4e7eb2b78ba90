"""Questions that some posts put, and how they stand at a time: drawn from the post's own number, as everything else is."""

from __future__ import annotations

from msgspec import Struct

from bowerbird.simulated.world.hashing import mix
from bowerbird.simulated.world.posts.rows import POST, Row

_ONE_IN = 24
_TITLES = ("yes", "no", "perhaps", "ask me later")
_HOUR = 3_600_000
_LENGTHS = (_HOUR, 24 * _HOUR, 72 * _HOUR)


class Ballot(Struct, frozen=True, gc=False):
    """One poll as of a time."""

    key: str
    options: tuple[tuple[str, int], ...]
    ends_ms: int
    is_closed: bool
    is_multiple: bool

    @property
    def votes(self) -> int:
        return sum(votes for _, votes in self.options)


def ballot(row: Row, now: int) -> Ballot | None:
    """The poll of a post; votes come in evenly until it ends."""
    draw = mix(row.number, 0x90)
    if row.kind != POST or draw % _ONE_IN:
        return None
    length = _LENGTHS[(draw >> 8) % len(_LENGTHS)]
    passed = min(max(now - row.ms, 0), length)
    titles = _TITLES[: 2 + (draw >> 16) % 3]
    options = tuple((title, (draw >> (20 + 6 * place) & 63) * passed // length) for place, title in enumerate(titles))
    return Ballot(str(row.number), options, row.ms + length, passed == length, bool(draw >> 60 & 1))
