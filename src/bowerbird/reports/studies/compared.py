"""Compare two collections: common and exclusive posts and authors, by day and in total."""

from __future__ import annotations

from datetime import date, timedelta
from typing import Any

import numpy as np
from msgspec import Struct

from bowerbird.clock import EPOCH
from bowerbird.reports.studies.collections import UNDATED, Collection

Hashes = np.ndarray[Any, np.dtype[np.uint64]]


class Alike(Struct, frozen=True, kw_only=True):
    """Numbers of items only in the first, only in the second, and in both."""

    first_only: int = 0
    second_only: int = 0
    both: int = 0

    @property
    def jaccard(self) -> float | None:
        """The share of common items (Jaccard), or None without items."""
        whole = self.first_only + self.second_only + self.both
        return self.both / whole if whole else None


class Alone(Struct, frozen=True, kw_only=True):
    """Properties of the posts that only one collection has."""

    reposts: int
    gone: int
    """Deleted later, or of deleted accounts: a later collection could not contain them."""


class ComparedDay(Struct, frozen=True, kw_only=True):
    """Posts and authors of one day; None for unknown times."""

    day: date | None
    posts: Alike
    authors: Alike


class Comparison(Struct, frozen=True, kw_only=True):
    """The comparison of two collections."""

    posts: Alike
    authors: Alike
    first_alone: Alone
    second_alone: Alone
    days: tuple[ComparedDay, ...]


def compare(first: Collection, second: Collection) -> Comparison:
    """Compare posts by id, and authors by the days on which they have posts."""
    return Comparison(
        posts=_alike(first.ids, second.ids),
        authors=_alike(np.unique(first.authors), np.unique(second.authors)),
        first_alone=_alone(first, second),
        second_alone=_alone(second, first),
        days=tuple(_day(number, first, second) for number in np.union1d(first.days, second.days).tolist()),
    )


def day_of(number: int) -> date | None:
    return None if number == UNDATED else (EPOCH + timedelta(days=number)).date()


def _day(number: int, first: Collection, second: Collection) -> ComparedDay:
    mine, theirs = first.days == number, second.days == number
    return ComparedDay(
        day=day_of(number),
        posts=_alike(first.ids[mine], second.ids[theirs]),
        authors=_alike(np.unique(first.authors[mine]), np.unique(second.authors[theirs])),
    )


def _alike(first: Hashes, second: Hashes) -> Alike:
    both = int(np.intersect1d(first, second, assume_unique=True).size)
    return Alike(first_only=first.size - both, second_only=second.size - both, both=both)


def _alone(one: Collection, other: Collection) -> Alone:
    lone = np.isin(one.ids, other.ids, invert=True, assume_unique=True)
    return Alone(reposts=int(one.reposts[lone].sum()), gone=int(one.gone[lone].sum()))
