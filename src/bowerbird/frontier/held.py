"""The bounded part of the frontier in memory: tasks claimed ahead of their calls.

The published crawlers kept half of each circular queue in memory and half in the database. Here the database always knows
every task; memory holds only a block already leased to this worker, so that one claim serves many calls. The block stays as
small as one call while limits set the pace, and grows only while calls follow each other closely: order is exact where it
matters.
"""

from __future__ import annotations

from collections import deque
from datetime import datetime, timedelta

from bowerbird.model import Draw, Task, Turn

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
        self._before: dict[Band, tuple[tuple[Task, ...], datetime | None]] = {}
        """What was held when the transaction began that leases now, of the bands it has touched."""

    def begin(self) -> None:
        """A new transaction leases: what the last one did is done."""
        self._before.clear()

    def undo(self) -> None:
        """The transaction failed: what was held before it is still ours, what it claimed is not."""
        for band, (tasks, usable_until) in self._before.items():
            self._tasks[band] = deque(tasks)
            if usable_until is not None:
                self._usable_until[band] = usable_until
        self._before.clear()

    def _touch(self, band: Band) -> None:
        if band not in self._before:
            self._before[band] = (tuple(self._tasks.get(band, ())), self._usable_until.get(band))

    def take(self, turn: Turn, draw: Draw, now: datetime) -> list[Task]:
        """Up to `draw.count` tasks that are already ours."""
        band = (turn, draw.low, draw.high)
        self._touch(band)
        tasks = self._tasks.get(band)
        if not tasks:
            return []
        if now >= self._usable_until[band]:
            tasks.clear()
            return []
        return [tasks.popleft() for _ in range(min(draw.count, len(tasks)))]

    def claim_size(self, turn: Turn, draw: Draw, now: datetime) -> int:
        """How many to claim next: doubled while claims follow closely, otherwise just what is asked for."""
        band = (turn, draw.low, draw.high)
        last = self._claimed_at.get(band)
        is_close = last is not None and now - last < _CLOSE
        size = min(self._block.get(band, draw.count) * 2, max(self._most, draw.count)) if is_close else draw.count
        self._block[band] = size
        self._claimed_at[band] = now
        return max(size, draw.count)

    def keep(self, turn: Turn, draw: Draw, tasks: list[Task], usable_until: datetime) -> None:
        band = (turn, draw.low, draw.high)
        self._tasks.setdefault(band, deque()).extend(tasks)
        self._usable_until[band] = usable_until

    def drop(self, lane: int) -> list[Task]:
        """What is held of one lane, which is then no longer held."""
        bands = [band for band in self._tasks if band[0].lane == lane]
        return [task for band in bands for task in self._tasks.pop(band)]

    def empty(self) -> list[Task]:
        """Everything held, which is then no longer held."""
        tasks = [task for held in self._tasks.values() for task in held]
        self._tasks.clear()
        return tasks
