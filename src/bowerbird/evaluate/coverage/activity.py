"""Shares captured per post, per account and by how much accounts write: the table that TwitterEcho's author printed."""

from __future__ import annotations

from typing import Any

import numpy as np
from msgspec import Struct

from bowerbird.simulated.world.people.population import Array

NEWEST = 200
"""Posts of each account that TwitterEcho's measurement asked for at most (Oliveira 2011, section 5.2.3)."""
_HOURS = {"1 h": 1, "3 h": 3, "6 h": 6, "12 h": 12, "1 d": 24, "3 d": 72, "6 d": 144, "12 d": 288, "24 d": 576, "1 y": 8_760}
"""Mean time between two posts of an account, below: the classes of table 5.6."""


class Activity(Struct, frozen=True):
    """Accounts whose posts are less than `under` apart on average."""

    under: str
    users: int
    posts: float
    per_user: float


class Measured(Struct, frozen=True):
    """Shares over all posts, as a mean over accounts, and both by activity."""

    posts: float
    per_user: float
    by_activity: tuple[Activity, ...]


_TABLE = (
    ("1 h", 127, 0.751, 0.740), ("3 h", 217, 0.729, 0.728), ("6 h", 216, 0.721, 0.717), ("12 h", 277, 0.772, 0.763),
    ("1 d", 378, 0.772, 0.768), ("3 d", 725, 0.815, 0.832), ("6 d", 358, 0.805, 0.843), ("12 d", 228, 0.842, 0.873),
    ("24 d", 82, 0.835, 0.887), ("1 y", 57, 0.852, 0.904),
)  # fmt: skip
PUBLISHED = Measured(0.752, 0.802, tuple(Activity(*row) for row in _TABLE))
"""What TwitterEcho captured, measured on what its accounts still showed at the end (section 5.2.3, table 5.6)."""


class Tallies(Struct, frozen=True):
    """How many posts each account wrote and how many of them were captured."""

    wrote: Array
    had: Array

    @property
    def per_user(self) -> float:
        return self.share_of(self.wrote > 0)[1]

    def share_of(self, who: Array) -> tuple[float, float]:
        """Over all posts of these accounts, and as the mean over them."""
        wrote, had = self.wrote[who], self.had[who]
        if not wrote.sum():
            return 0.0, 0.0
        return round(float(had.sum() / wrote.sum()), 4), round(float((had / wrote).mean()), 4)


def tallied(author: Array, is_found: Array, accounts: int) -> Tallies:
    return Tallies(np.bincount(author, minlength=accounts), np.bincount(author[is_found], minlength=accounts))


def measured(author: Array, is_found: Array, accounts: int, days: float) -> Measured:
    """`author` and whether each post was found, in the order of authors and then of time."""
    wrote = np.bincount(author, minlength=accounts)
    last = np.cumsum(wrote)[author]
    is_new = last - np.arange(len(author)) <= NEWEST
    tallies = tallied(author[is_new], is_found[is_new], accounts)
    posts, per_user = tallies.share_of(wrote > 0)
    hours = np.divide(days * 24, wrote, out=np.full(accounts, np.inf), where=wrote > 0)
    return Measured(posts, per_user, tuple(_classes(tallies, hours)))


def _classes(tallies: Tallies, hours: Array) -> Any:
    least = 0.0
    for name, most in _HOURS.items():
        who = (least <= hours) & (hours < most)
        if who.any():
            yield Activity(name, int(who.sum()), *tallies.share_of(who))
        least = most
