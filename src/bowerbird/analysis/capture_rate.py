"""Estimate the share of posts that a crawl has stored, from a random sample of accounts."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, sqrt
from statistics import fmean, stdev

from msgspec import Struct, structs

from bowerbird.analysis.agreement import wilson_interval
from bowerbird.analysis.sampling import t_quantile

_CLASSES = {
    "1 h": 1,
    "3 h": 3,
    "6 h": 6,
    "12 h": 12,
    "1 d": 24,
    "3 d": 72,
    "6 d": 144,
    "12 d": 288,
    "24 d": 576,
    "1 y": 8_760,
    "longer": inf,
}
"""Upper bounds of the mean hours between two posts of an account, as in TwitterEcho's evaluation (Oliveira 2011, table 5.6)."""
PUBLISHED = (0.752, 0.802)
"""The shares that TwitterEcho captured: of all posts, and on average per account."""


class AccountPosts(Struct, frozen=True):
    """The posts of one account in a number of hours, and how many of them are stored."""

    wrote: int
    had: int
    hours: float


class Part(Struct, frozen=True):
    """A share with its 95 % interval."""

    share: float
    low: float
    high: float


class Captured(Struct, frozen=True, kw_only=True):
    """The shares of one class of accounts, or of all."""

    under: str
    """Upper bound of the mean time between posts; empty: all accounts."""
    accounts: int
    wrote: int
    had: int
    posts: Part
    per_account: Part

    @property
    def lost(self) -> int:
        return self.wrote - self.had


def capture_rates(sample: Sequence[AccountPosts]) -> tuple[Captured, ...]:
    """Return the shares of all accounts with posts, and then of each class."""
    # Posts that their authors deleted since are stored and no longer counted by the network.
    accounts = [structs.replace(each, had=min(each.had, each.wrote)) for each in sample if each.wrote]
    if not accounts:
        return ()
    rates = [_capture_rate("", accounts)]
    least = 0.0
    for name, most in _CLASSES.items():
        if own := [each for each in accounts if least <= each.hours / each.wrote < most]:
            rates.append(_capture_rate(name, own))
        least = most
    return tuple(rates)


def _capture_rate(under: str, accounts: Sequence[AccountPosts]) -> Captured:
    count = len(accounts)
    wrote, had = sum(each.wrote for each in accounts), sum(each.had for each in accounts)
    share, shares = had / wrote, [each.had / each.wrote for each in accounts]
    # Accounts were sampled, not posts, and the posts of an account are similar.
    residuals = sum((each.had - share * each.wrote) ** 2 for each in accounts)
    error = sqrt(count / max(count - 1, 1) * residuals) / wrote
    mean_error = stdev(shares) / sqrt(count) if count > 1 else 0.0
    return Captured(
        under=under,
        accounts=count,
        wrote=wrote,
        had=had,
        posts=_with_interval(share, error, count),
        per_account=_with_interval(fmean(shares), mean_error, count),
    )


def _with_interval(share: float, error: float, accounts: int) -> Part:
    if error == 0 or accounts < 2:
        # Without differences between accounts, only their number limits the interval.
        low, high = wilson_interval(share, accounts)
    else:
        half_width = t_quantile(accounts - 1) * error
        low, high = max(0.0, share - half_width), min(1.0, share + half_width)
    return Part(round(share, 4), round(low, 4), round(high, 4))
