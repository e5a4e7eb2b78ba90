"""When what was committed to a SQLite file is on the disk, and who waits for that."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from concurrent.futures import Executor
from contextlib import suppress
from functools import partial
from pathlib import Path

from bowerbird.errors import StoreError

_sync = getattr(os, "fdatasync", os.fsync)
"""Without the times of the file where that can be had: it is what SQLite itself calls."""


class LogFile:
    """Makes durable what commits have written to the log.

    SQLite does the same within a commit (`synchronous = full`), but nobody can write meanwhile. The log is the same file as long
    as a connection is open, and SQLite holds no locks on it: closing this descriptor gives up none, as closing one of the
    database would.
    """

    def __init__(self, where: str) -> None:
        self.path = Path(f"{where}-wal")
        self._descriptor: int | None = None
        self._is_found = False
        """Whether its folder is on the disk too, without which nobody finds a new file after a power cut."""

    def size(self) -> int:
        """0 where nobody can tell: whoever waits for the disk will hear why."""
        try:
            return os.fstat(self._open()).st_size
        except OSError:
            return 0

    def is_there(self) -> bool:
        """Whether the log that was opened still has its name: what is written to another one is lost."""
        if self._descriptor is None:
            return True
        try:
            return os.path.samestat(os.fstat(self._descriptor), os.stat(self.path))  # noqa: PTH116 - before every transaction
        except OSError:
            return False

    def sync(self) -> None:
        """Returns when everything that was written by now is on the disk; an `OSError` means that it may not be."""
        _sync(self._open())
        if not self._is_found:
            _sync_folder(self.path.parent)
            self._is_found = True

    def close(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def _open(self) -> int:
        if self._descriptor is None:
            self._descriptor = os.open(self.path, os.O_RDWR)
        return self._descriptor


Written = tuple[asyncio.Future[None], BaseException | None]
"""A committed transaction: who waits for it, and what went wrong after its commit."""


class Disk:
    """Lets a thread wait for the disk, once for all that was committed by then; what comes meanwhile is next."""

    def __init__(self, log: LogFile, thread: Executor) -> None:
        self._log = log
        self._thread = thread
        self._written: list[Written] = []
        self._syncing: asyncio.Future[None] | None = None
        self.failure: StoreError | None = None
        """The disk did not keep what was written: nothing can be promised any more."""

    def keep(self, written: Sequence[Written]) -> None:
        """Lets go those who wait for these transactions when they are on the disk."""
        self._written += written
        self._sync()

    async def end(self) -> None:
        """Waits until nobody waits any more."""
        while self._syncing is not None:
            await asyncio.wait([self._syncing])

    def _sync(self) -> None:
        if self._syncing is not None or not self._written:
            return
        written, self._written = self._written, []
        self._syncing = asyncio.get_running_loop().run_in_executor(self._thread, self._log.sync)
        self._syncing.add_done_callback(partial(self._has_synced, written))

    def _has_synced(self, written: Sequence[Written], synced: asyncio.Future[None]) -> None:
        self._syncing = None
        if error := synced.exception():
            # What a failed write has left on the disk nobody can tell, not even by trying again.
            self.failure = StoreError(
                f"the disk did not keep what was written to {self._log.path}: {error}.",
                "Check the disk, then start again: bowerbird goes on with whatever was kept",
            )
        for durable, broken in written:
            let_go(durable, self.failure or broken)
        self._sync()


def let_go(durable: asyncio.Future[None], error: BaseException | None) -> None:
    """Ends the wait of one transaction, unless it was cancelled: what that wrote is kept or not like everything else."""
    if not durable.done():
        if error is None:
            durable.set_result(None)
        else:
            durable.set_exception(error)


def _sync_folder(folder: Path) -> None:
    """As far as that can be had: not every file system knows it, and some folders may be written and not read."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
