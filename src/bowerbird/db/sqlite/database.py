"""One SQLite file: WAL, one writer, readers beside it.

Statements run on the event loop's own thread: a hop to another one would cost as much as they take, and virtual time stays
deterministic. What may take long is waited for without blocking the loop: another process that holds the write lock, and the
disk. A commit writes to the log of the file; a thread then waits until the log is on the disk, while the next transactions are
written already. In virtual time everything happens on the loop.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec

from bowerbird.db.addresses import public
from bowerbird.db.files.private import create_private, make_private
from bowerbird.db.hooks import Hooks
from bowerbird.db.sqlite.disk import Disk, LogFile, let_go
from bowerbird.db.sqlite.library import bind_quickly, check_place, sqlite_module, what_to_check
from bowerbird.db.sqlite.transaction import SqliteTransaction
from bowerbird.db.tables import create_tables
from bowerbird.errors import Busy, DiskFull, StoreError
from bowerbird.model import Backoff
from bowerbird.ports import Clock, Transaction

_TURNS = 3
"""So many turns of the loop a commit to a file waits for company: a turn without work takes no time, and one with an answer to
settle brings a transaction that needs no commit of its own."""
_FEW = 1_000
"""Changed rows that are written down in about a millisecond; a commit of more runs in a thread."""
_PATIENCE = timedelta(seconds=30)
_WAITS = Backoff(first=timedelta(milliseconds=5), most=timedelta(milliseconds=250))
_LOG_KEPT = timedelta(minutes=1)
"""How long the write-ahead log may hold what the tables no longer do."""
_LOG_SIZE = 512 * 1024 * 1024
"""Bytes after which the write-ahead log is written into the file: a page that changes often is written there once."""
_WRITER_CACHE, _READER_CACHE = 256 * 1024, 64 * 1024
"""Kilobytes of the file that a connection may keep in memory."""
_STATEMENTS = 2048
"""Prepared statements that a connection keeps. Creating the tables takes 200, and the driver never drops one that was used as
often as later ones: with less room, a process that created its store would prepare the statements of each page again."""
_LOG_RETRY = timedelta(seconds=5)
"""When somebody was just reading from it."""
_blank: list[Any] = []
"""Once there is one, a database in memory with our tables and no rows. Others are copies of it: to make tables takes longer than
most of what is rehearsed or tested in memory."""


class SqliteDatabase:
    """The default database: one file (or memory) that one process writes and any may read."""

    dialect = "sqlite"

    def __init__(
        self, where: str, clock: Clock, module: Any, *, waits_for_disk: bool = True, log: type[LogFile] = LogFile
    ) -> None:
        self._where = where
        self._clock = clock
        self._module = module
        self._waits = _WAITS
        self._turns = 0 if where == ":memory:" or clock.is_virtual else _TURNS
        self._thread = ThreadPoolExecutor(1, "disk") if self._turns and waits_for_disk else None
        # In WAL mode `normal` writes the log at every commit, and waits for the disk only when it is emptied.
        self._synchronous = "full" if waits_for_disk and self._thread is None else "normal"
        self._writer = self._connect()
        # As SQLite names it: the log stands beside the file itself, not beside a link to it.
        self._log = log(self._writer.execute("pragma database_list").fetchone()[2])
        self._disk = Disk(self._log, self._thread) if self._thread is not None else None
        self._readers: list[Any] = []
        self._idle: list[Any] = []
        """Those of them that nobody reads with just now."""
        self._lock = asyncio.Lock()
        self._ended: list[tuple[asyncio.Future[None], Hooks]] = []
        """Transactions that wait for their commit, in their order."""
        self._changes = 0
        """How many rows had ever been changed when the transaction under way began."""
        self._committing: asyncio.Future[BaseException | None] | None = None
        """The commit that the thread is busy with; nobody else touches the writer meanwhile."""
        self._is_closed = False
        self._file = self._found()
        # At once: what a process left in the log when it was killed is none of anybody's business either.
        self._emptied_at = self._empty_log_at = clock.now()

    @classmethod
    def open(cls, where: str, clock: Clock, *, waits_for_disk: bool = True) -> SqliteDatabase:
        module = sqlite_module()
        bind_quickly(module)
        if where != ":memory:":
            check_place(where, module)
        try:
            if where != ":memory:":
                create_private(Path(where))
            database = cls(where, clock, module, waits_for_disk=waits_for_disk)
        except (module.Error, OSError) as error:
            raise StoreError(f"cannot open the database {public(where)}: {error}.", what_to_check(where)) from error
        if where != ":memory:":
            # Only now: what is no database is somebody else's business.
            make_private(Path(where))
        return database

    def _connect(self) -> Any:
        # Patient while it opens: another process may be turning the same new file into a WAL database.
        connection = self._module.connect(
            self._where, isolation_level=None, timeout=5, cached_statements=_STATEMENTS, check_same_thread=False
        )
        connection.row_factory = self._module.Row
        connection.execute(f"pragma synchronous = {self._synchronous}")
        for pragma in (f"cache_size = -{_WRITER_CACHE}", "temp_store = memory", "foreign_keys = off"):
            connection.execute(f"pragma {pragma}")
        # Not `fast`: that leaves what was deleted in pages that became free as a whole.
        connection.execute("pragma secure_delete = on")
        if self._where != ":memory:":
            connection.execute("pragma journal_mode = wal")
            page = connection.execute("pragma page_size").fetchone()[0]
            # Where there is a thread it empties the log: SQLite would do so in the middle of a commit, on the loop.
            connection.execute(f"pragma wal_autocheckpoint = {0 if self._thread is not None else _LOG_SIZE // page}")
        connection.execute("pragma busy_timeout = 0")
        return connection

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[Transaction]:
        """Transactions that end within one turn of the loop share a commit; each returns only when it is durable."""
        if self._disk is not None and self._disk.failure is not None:
            raise self._disk.failure
        loop = asyncio.get_running_loop()
        try:
            async with self._lock:
                await self._committed()
                is_joining: bool = self._writer.in_transaction
                mine = SqliteTransaction(self._writer)
                try:
                    if is_joining:
                        self._writer.execute("savepoint mine")
                    else:
                        await self._begin(self._writer, "begin immediate")
                        self._changes = self._writer.total_changes
                    yield mine
                    if is_joining:
                        self._writer.execute("release mine")
                except BaseException as error:
                    self._undo(mine, error, is_joining)
                    raise self._translated(error) from error
                durable: asyncio.Future[None] = loop.create_future()
                self._ended.append((durable, mine))
        finally:
            # Whatever befell this one, others may wait for the commit.
            loop.call_soon(self._commit, self._turns)
        await durable

    def _undo(self, mine: Hooks, error: BaseException, is_joining: bool) -> None:
        is_mine_alone = is_joining and self._writer.in_transaction
        if is_mine_alone:
            self._writer.execute("rollback to mine")
            self._writer.execute("release mine")
        else:
            self._roll_back(self._writer)
        try:
            mine.rolled_back()
        finally:
            if not is_mine_alone:
                # Where others had joined, SQLite itself gave up the whole transaction, and they must know.
                self._tell(self._translated(error))

    def _commit(self, turns: int = 0) -> None:
        """Commits what has ended, after so many more turns of the loop in which others may come to their end too."""
        # Whoever is in the middle of a transaction comes here again at its end.
        if self._lock.locked() or self._committing or self._is_closed or not self._writer.in_transaction:
            return
        if turns:
            asyncio.get_running_loop().call_soon(self._commit, turns - 1)
            return
        if self._thread is not None and (self._is_log_due() or self._writer.total_changes - self._changes > _FEW):
            self._committing = asyncio.get_running_loop().run_in_executor(self._thread, self._write_and_tidy)
            # The first to hear of it: whoever waits for the writer finds everybody told.
            self._committing.add_done_callback(self._has_committed)
            return
        error = self._write_down()
        self._tell(error)
        # After everybody was told: what is durable stays so, whatever becomes of the log.
        if self._thread is None and error is None and self._is_log_due():
            self._empty_log()

    def _write_down(self) -> BaseException | None:
        """Writes what has ended into the log, or undoes it and says why."""
        try:
            self._writer.execute("commit")
        except Exception as error:
            self._roll_back(self._writer)
            return self._translated(error)
        return None

    def _write_and_tidy(self) -> BaseException | None:
        """The same in the thread, and the log besides: what goes wrong with that is not said of the commit."""
        error = self._write_down()
        with suppress(Exception):
            if error is None and self._is_log_due():
                self._empty_log()
        return error

    def _has_committed(self, written: asyncio.Future[BaseException | None]) -> None:
        self._committing = None
        self._tell(written.exception() or written.result())

    async def _committed(self) -> None:
        """Waits until the thread has let go of the writer."""
        if self._committing is not None:
            # Not awaited itself: the commit goes on even if the one who waits for it is cancelled.
            await asyncio.wait([self._committing])

    def _is_log_due(self) -> bool:
        if self._where == ":memory:" or self._has_disk_failed:
            return False
        now = self._clock.now()
        is_full = self._thread is not None and self._log.size() >= _LOG_SIZE
        return now >= self._empty_log_at or (is_full and now >= self._emptied_at + _LOG_RETRY)

    def _empty_log(self) -> None:
        """Every minute the log is written into the database and cut to nothing: deleted content stands in it until then."""
        now = self._clock.now()
        try:
            is_busy = bool(self._writer.execute("pragma wal_checkpoint(truncate)").fetchone()[0])
        except self._module.Error:
            # The commit does not need it; what ails the disk is said by the next statement, or by who waits for the disk.
            is_busy = True
        self._emptied_at, self._empty_log_at = now, now + (_LOG_RETRY if is_busy else _LOG_KEPT)

    def _tell(self, error: BaseException | None) -> None:
        """Calls the hooks of all whose commit just ended, well or not; who has nothing more to wait for is let go."""
        ended, self._ended = self._ended, []
        if error is not None:
            # The last first, as within each of them: a later one may have built upon what an earlier one did.
            for durable, hooks in reversed(ended):
                let_go(durable, _called(hooks.rolled_back) or error)
            return
        # Now, and not when it is on the disk: the next transaction reads what these wrote, and memory must say the same.
        written = [(durable, _called(hooks.committed)) for durable, hooks in ended]
        if self._disk is not None:
            self._disk.keep(written)
            return
        for durable, broken in written:
            let_go(durable, broken)

    @asynccontextmanager
    async def reading(self) -> AsyncIterator[Transaction]:
        if self._where == ":memory:":
            async with self.transaction() as tx:
                self._writer.execute("pragma query_only = on")
                try:
                    yield tx
                finally:
                    self._writer.execute("pragma query_only = off")
            return
        reader = self._idle.pop() if self._idle else self._new_reader()
        try:
            # From its first look on it sees what was committed by then, and nothing that is written meanwhile.
            reader.execute("begin")
            yield SqliteTransaction(reader)
        except self._module.OperationalError as error:
            raise self._translated(error) from error
        finally:
            self._has_read(reader)

    def _new_reader(self) -> Any:
        """A connection for one who reads: its view is its own, so two who read at the same time have one each."""
        reader = self._connect()
        # Only the writer checkpoints (see SAFE_VERSION).
        reader.execute("pragma wal_autocheckpoint = 0")
        reader.execute("pragma query_only = on")
        reader.execute(f"pragma cache_size = -{_READER_CACHE}")
        # Reports and exports may sort millions of rows: on disk, so that memory stays bounded.
        reader.execute("pragma temp_store = file")
        self._readers.append(reader)
        return reader

    def _has_read(self, reader: Any) -> None:
        if not self._is_closed:
            self._roll_back(reader)
            self._idle.append(reader)

    def _found(self) -> tuple[int, int] | None:
        """Which file stands at our path; None when there is none."""
        if self._where == ":memory:":
            return None
        try:
            found = os.stat(self._where)  # noqa: PTH116 - before every transaction, and a `Path` takes ten times as long to make
        except OSError:
            return None
        return found.st_dev, found.st_ino

    async def _begin(self, connection: Any, statement: str) -> None:
        if self._found() != self._file:
            # The open file has no name any more: whatever is still written to it is lost when it is closed.
            raise StoreError(
                f"the database {self._where} was deleted or replaced while it was open, and nothing can be kept.",
                "Put the file back (`bowerbird restore` makes one of a backup) and start again",
                code="file_changed",
            )
        if not self._log.is_there():
            raise StoreError(
                f"the log {self._log.path} of the database was deleted or replaced while it was open, and nothing more can be "
                "kept.",
                "Start again: bowerbird goes on with what the database holds, and asks again for what only the log had",
                code="file_changed",
            )
        failures, give_up = 0, self._clock.now() + _PATIENCE
        while True:
            try:
                connection.execute(statement)
                return
            except self._module.OperationalError as error:
                translated = self._translated(error)
                if not isinstance(translated, Busy) or self._clock.now() >= give_up:
                    raise translated from error
            failures += 1
            await self._clock.sleep_until(self._clock.now() + self._waits.wait(failures))

    def _roll_back(self, connection: Any) -> None:
        if connection.in_transaction:
            connection.execute("rollback")

    def _translated(self, error: BaseException) -> BaseException:
        words = str(error) if isinstance(error, self._module.OperationalError) else ""
        if "locked" in words or "busy" in words:
            return Busy(f"the database {self._where} is locked by another process")
        if "readonly" in words:
            return DiskFull(
                f"the database {self._where}, or the disk it is on, can only be read.",
                "Make it writable again.",
                code="file_unwritable",
            )
        if "full" in words or "disk I/O" in words or "unable to open" in words:
            return DiskFull(f"the database {self._where} cannot be written: {words}.", "Free some space or check permissions.")
        return error

    async def time(self) -> datetime | None:
        return None

    def any(self, kind: str) -> str:
        return "in (select value from json_each(?))"

    def members(self, values: Sequence[Any]) -> Any:
        return msgspec.json.encode(values).decode()

    async def create_tables(self) -> None:
        is_blank = self._where == ":memory:" and not self._writer.execute("select count(*) from sqlite_master").fetchone()[0]
        if is_blank and _blank:
            _blank[0].backup(self._writer)
        async with self.transaction() as tx:
            await create_tables(tx, self.dialect, self._clock.now())
        if is_blank and not _blank:
            _blank.append(self._connect())
            self._writer.backup(_blank[0])

    async def close(self) -> None:
        await self._committed()
        self._commit()
        await self._committed()
        if self._disk is not None:
            await self._disk.end()
        self._is_closed = True
        self._tell(StoreError(f"the database {self._where} was closed before this was written"))
        if self._thread is not None:
            self._thread.shutdown()
        self._log.close()
        for connection in (*self._readers, self._writer, *self._closed_last()):
            connection.close()

    @property
    def _has_disk_failed(self) -> bool:
        return self._disk is not None and self._disk.failure is not None

    def _closed_last(self) -> list[Any]:
        """Where the disk failed, a connection that cannot write: the last one that can would empty the log into the database as
        it closes, without asking whether the disk has kept the log. The next start does ask: it goes by the sums in it."""
        if not self._has_disk_failed:
            return []
        try:
            last = self._module.connect(f"{Path(self._where).absolute().as_uri()}?mode=ro", uri=True)
            last.execute("select 1 from sqlite_master").fetchone()
        except (self._module.Error, OSError):
            return []
        return [last]


def _called(hooks: Callable[[], None]) -> BaseException | None:
    """Calls one transaction's hooks; one that breaks is its own affair, and others are told all the same."""
    try:
        hooks()
    except Exception as broken:
        return broken
    return None
