"""The bounded part of the frontier in memory: tasks claimed ahead of their calls.

The published crawlers kept half of each circular queue in memory and half in the database. Here the database always knows
every task; memory holds only a block already leased to this worker, so that one claim serves many calls. The block stays as
small as one call while limits set the pace, and grows only while calls follow each other closely: order is exact where it
matters.
"""

from __future__ import annotations

from collections import deque
from datetime import datetime, timedelta
from functools import partial

from bowerbird.model import Draw, Task, Turn
from bowerbird.ports import Transaction

LARGEST_BLOCK = 512
"""Tasks of a lane's band that are held at most, unless a crawl file says otherwise or one call takes more."""
_CLOSE = timedelta(milliseconds=250)

Band = tuple[Turn, float, float]


class Held:
    """Blocks of claimed tasks by lane and priority band, each usable until its hold runs out."""

    def __init__(self, most: int = LARGEST_BLOCK) -> None:
        self._most = most
        self._tasks: dict[Band, deque[Task]] = {}
        self._usable_until: dict[Band, datetime] = {}
        self._block: dict[Band, int] = {}
        self._claimed_at: dict[Band, datetime] = {}
        self._lapsed: list[Task] = []
        """Held for too long to be asked about."""

    def take(self, tx: Transaction, turn: Turn, draw: Draw, now: datetime) -> list[Task]:
        """Up to `draw.count` tasks that are already ours; they are held again if the transaction fails."""
        band = (turn, draw.low, draw.high)
        tasks = self._tasks.get(band)
        if not tasks:
            return []
        if now >= self._usable_until[band]:
            self._lapse(band)
            return []
        taken = [tasks.popleft() for _ in range(min(draw.count, len(tasks)))]
        tx.on_rollback(partial(self._put_back, band, taken, self._usable_until[band]))
        return taken

    def _lapse(self, band: Band) -> None:
        self._lapsed += self._tasks.pop(band)

    def lapsed(self, tx: Transaction, now: datetime) -> list[Task]:
        """What was held for too long, which is then no longer held; it must be given back, or it would lose its place."""
        for band in [band for band in self._tasks if now >= self._usable_until[band]]:
            self._lapse(band)
        lapsed, self._lapsed = self._lapsed, []
        tx.on_rollback(partial(self._still_lapsed, lapsed))
        return lapsed

    def _still_lapsed(self, tasks: list[Task]) -> None:
        self._lapsed += tasks

    def _put_back(self, band: Band, tasks: list[Task], usable_until: datetime) -> None:
        held = self._tasks.setdefault(band, deque())
        # Never beyond its own hold, whatever has come beside it since.
        self._usable_until[band] = min(usable_until, self._usable_until[band]) if held else usable_until
        held.extendleft(reversed(tasks))

    def claim_size(self, turn: Turn, draw: Draw, now: datetime) -> int:
        """How many to claim next: doubled while claims follow closely, otherwise just what is asked for."""
        band = (turn, draw.low, draw.high)
        last = self._claimed_at.get(band)
        is_close = last is not None and now - last < _CLOSE
        size = min(self._block.get(band, draw.count) * 2, max(self._most, draw.count)) if is_close else draw.count
        self._block[band] = size
        self._claimed_at[band] = now
        return max(size, draw.count)

    def keep(self, tx: Transaction, turn: Turn, draw: Draw, tasks: list[Task], usable_until: datetime) -> None:
        """Holds what the transaction claims; it is not ours if that fails."""
        band = (turn, draw.low, draw.high)
        self._tasks.setdefault(band, deque()).extend(tasks)
        self._usable_until[band] = usable_until
        tx.on_rollback(partial(self._remove, band, tasks))

    def _remove(self, band: Band, tasks: list[Task]) -> None:
        gone = {task.task for task in tasks}
        self._tasks[band] = deque(task for task in self._tasks.get(band, ()) if task.task not in gone)

    def drop(self, tx: Transaction, lane: int | None = None) -> list[Task]:
        """What is held, of one lane or of all, which is then no longer held; it is held again if the transaction fails."""
        dropped: list[Task] = []
        for band in [band for band in self._tasks if lane is None or band[0].lane == lane]:
            if tasks := list(self._tasks.pop(band)):
                tx.on_rollback(partial(self._put_back, band, tasks, self._usable_until[band]))
                dropped += tasks
        return dropped

    def drop_targets(self, tx: Transaction, lane: int, targets: frozenset[str]) -> list[Task]:
        """The same for some targets of a lane."""
        dropped: list[Task] = []
        for band in [band for band in self._tasks if band[0].lane == lane]:
            if tasks := [task for task in self._tasks[band] if task.target in targets]:
                self._remove(band, tasks)
                tx.on_rollback(partial(self._put_back, band, tasks, self._usable_until[band]))
                dropped += tasks
        return dropped

    def clear(self) -> None:
        """Nothing of it is ours any more."""
        self._tasks.clear()
        self._lapsed.clear()
