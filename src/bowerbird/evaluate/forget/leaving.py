"""A simulated world that posts and accounts leave when they are told to, besides whatever happens in it by itself."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from bowerbird.simulated.world import World, WorldSettings
from bowerbird.simulated.world.posts.rows import Row
from bowerbird.simulated.world.world import Availability


class LeavingWorld(World):
    """Deletions, suspensions and opt-outs at a chosen moment. A service that was opened before may have answers of its own kept:
    open another one over the same world."""

    def __init__(self, settings: WorldSettings) -> None:
        super().__init__(settings)
        self._deleted: set[int] = set()
        self._suspended: set[int] = set()

    def delete(self, posts: Collection[int]) -> None:
        self._deleted |= set(posts)

    def suspend(self, accounts: Collection[int]) -> None:
        self._suspended |= set(accounts)

    def opt_out(self, accounts: Collection[int]) -> None:
        """They show the sign of their network from now on, where it has one."""
        for account in accounts:
            self.people.is_noindex[account] = True

    def availability(self, account: int, now: int) -> Availability:
        return Availability.SUSPENDED if account in self._suspended else super().availability(account, now)

    def row(self, number: int, now: int) -> Row | None:
        return None if number in self._deleted else super().row(number, now)

    def newest(self, account: int, now: int) -> Row | None:
        newest = super().newest(account, now)
        return next(self.timeline(account, now), None) if newest and newest.number in self._deleted else newest

    def _written_back(self, account: int, now: int, below: int, above: int) -> Iterator[Row]:
        written = super()._written_back(account, now, below, above)
        return (row for row in written if row.number not in self._deleted)
