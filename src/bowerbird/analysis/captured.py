"""Which part of what people wrote is stored, by a random sample of accounts: over posts, over accounts, by activity. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import sqrt
from statistics import fmean

from msgspec import Struct

from bowerbird.analysis.agreement import share_of
from bowerbird.analysis.sampling import t_quantile

CLASSES = {"1 h": 1, "3 h": 3, "6 h": 6, "12 h": 12, "1 d": 24, "3 d": 72, "6 d": 144, "12 d": 288, "24 d": 576, "1 y": 8_760}
"""Mean time between two posts of an account, below: those of TwitterEcho's own measurement (Oliveira 2011, table 5.6)."""
LONGER = "longer"
PUBLISHED = (0.752, 0.802)
"""What TwitterEcho captured: over all posts, and as a mean over accounts."""


class Wrote(Struct, frozen=True):
    """One account: how many posts it wrote in how many hours, and how many of them are stored."""

    wrote: int
    had: int
    hours: float


class Part(Struct, frozen=True):
    """A share with its 95 % interval."""

    share: float
    low: float
    high: float


class Captured(Struct, frozen=True, kw_only=True):
    """Shares of one class of accounts, or of all."""

    under: str
    """Their posts are less than this apart on average; empty: all accounts."""
    accounts: int
    wrote: int
    had: int
    posts: Part
    per_account: Part

    @property
    def lost(self) -> int:
        return self.wrote - self.had


def captured(accounts: Sequence[Wrote]) -> tuple[Captured, ...]:
    """All accounts that wrote something, then class by class."""
    wrote = [each for each in accounts if each.wrote]
    if not wrote:
        return ()
    return (_captured("", wrote), *_classes(wrote))


def _classes(accounts: Sequence[Wrote]) -> Iterator[Captured]:
    least = 0.0
    for name, most in (*CLASSES.items(), (LONGER, float("inf"))):
        own = [each for each in accounts if least <= each.hours / each.wrote < most]
        if own:
            yield _captured(name, own)
        least = most


def _captured(under: str, accounts: Sequence[Wrote]) -> Captured:
    wrote, had = sum(each.wrote for each in accounts), sum(each.had for each in accounts)
    shares = [each.had / each.wrote for each in accounts]
    mean = fmean(shares)
    spread = sqrt(sum((share - mean) ** 2 for share in shares) / max(len(shares) - 1, 1) / len(shares))
    return Captured(
        under=under,
        accounts=len(accounts),
        wrote=wrote,
        had=had,
        posts=_part(had / wrote, _error(accounts, had / wrote), len(accounts)),
        per_account=_part(mean, spread, len(accounts)),
    )


def _error(accounts: Sequence[Wrote], share: float) -> float:
    """Of a share over all posts, where accounts were drawn and not posts: posts of one account are alike."""
    count = len(accounts)
    residuals = sum((each.had - share * each.wrote) ** 2 for each in accounts)
    return sqrt(count / max(count - 1, 1) * residuals) / sum(each.wrote for each in accounts)


def _part(share: float, error: float, accounts: int) -> Part:
    if error == 0 or accounts < 2:
        # No two accounts differ: then only their number tells how far the truth may be.
        told = share_of(round(share * accounts), accounts)
        return Part(round(share, 4), min(told.low, round(share, 4)), max(told.high, round(share, 4)))
    half = t_quantile(accounts - 1) * error
    return Part(round(share, 4), round(max(0.0, share - half), 4), round(min(1.0, share + half), 4))
