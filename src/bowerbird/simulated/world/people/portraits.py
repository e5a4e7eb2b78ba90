"""What a server writes about accounts, kept as long as it would write the same."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

from bowerbird.simulated.world.passing.changes import Changes

T = TypeVar("T")

_KEPT = 50_000


class Portraits(Generic[T]):
    """By account and form: what was written at a time, and until when that holds. Nobody may change what is given out."""

    def __init__(self, changes: Changes) -> None:
        self._changes = changes
        self._kept: dict[tuple[int, Hashable], tuple[int, int, T]] = {}

    def of(self, account: int, form: Hashable, now: int, write: Callable[[int, int], T]) -> T:
        """The account as of now, written by `write(account, now)` unless it would only write the same again."""
        kept = self._kept.get((account, form))
        if kept is not None and kept[0] <= now < kept[1]:
            return kept[2]
        if len(self._kept) >= _KEPT:
            self._kept.clear()
        written = write(account, now)
        self._kept[account, form] = (now, self._changes.next_after(account, now), written)
        return written

    def clear(self) -> None:
        self._kept.clear()
