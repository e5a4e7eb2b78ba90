"""How long to wait before the next try. The one rule for it: who waits differently has other numbers, not other code."""

from __future__ import annotations

from datetime import timedelta
from hashlib import blake2b

from msgspec import Struct

_MOST_DOUBLINGS = 30


class Backoff(Struct, frozen=True, gc=False):
    """How long to wait after so many failures in a row. Pure: the same values give the same wait."""

    first: timedelta
    most: timedelta
    is_linear: bool = False
    jitter: float = 0.0
    """By which share at most a wait is made longer, so that what failed together is not tried again together."""

    def wait(self, failures: int, seed: str | None = None) -> timedelta:
        """The n-th failure in a row waits n times `first`, or twice as long as the one before; never more than `most`, and never
        less than without jitter: a network's own rule is the least that it accepts. Without a seed there is no jitter."""
        factor = failures if self.is_linear else 2 ** min(failures - 1, _MOST_DOUBLINGS)
        bare = min(self.first * max(factor, 0), self.most)
        return bare if seed is None else bare * (1 + self.jitter * _share(seed, failures))


def _share(seed: str, failures: int) -> float:
    """A number from 0 up to 1, drawn from the seed."""
    digest = blake2b(f"{failures} {seed}".encode(errors="surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest) / 2**64
