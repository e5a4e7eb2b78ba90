"""One SQLite file: WAL, one writer, readers beside it.

Statements run on the event loop's own thread: a hop to another one would cost as much as they take, and virtual time stays
deterministic. What may take long is waited for without blocking the loop: another process that holds the write lock, and the
disk. A commit to a file runs in a thread while the loop goes on with other work; in virtual time it runs on the loop.
"""

from __future__ import annotations

import asyncio
import os
import sqlite3 as standard
from collections.abc import AsyncIterator, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec

from bowerbird.db.addresses import public
from bowerbird.db.hooks import Hooks
from bowerbird.db.migrate import migrate
from bowerbird.db.private import create_private, make_private
from bowerbird.db.sqlite.transaction import SqliteTransaction
from bowerbird.errors import Busy, DiskFull, StoreError
from bowerbird.model import Backoff
from bowerbird.ports import Clock, Transaction

SAFE_VERSION = (3, 51, 3)
"""Earlier ones can corrupt a WAL when it is reset while another connection reads (fixed upstream in 3.51.3)."""

_TURNS = 3
"""So many turns of the loop a commit to a file waits for company: a turn without work takes no time, and one with an answer to
settle brings a transaction that needs no commit of its own."""
_PATIENCE = timedelta(seconds=30)
_WAITS = Backoff(first=timedelta(milliseconds=5), most=timedelta(milliseconds=250))
_LOG_KEPT = timedelta(minutes=1)
"""How long the write-ahead log may hold what the tables no longer do."""
_LOG_SIZE = 512 * 1024 * 1024
"""Bytes after which the write-ahead log is written into the file: a page that changes often is written there once."""
_WRITER_CACHE, _READER_CACHE = 256 * 1024, 64 * 1024
"""Kilobytes of the file that a connection may keep in memory."""
_LOG_RETRY = timedelta(seconds=5)
"""When somebody was just reading from it."""
_blank: list[Any] = []
"""Once there is one, a database in memory with our tables and no rows. Others are copies of it: to make tables takes longer than
most of what is rehearsed or tested in memory."""


def sqlite_module() -> Any:
    """The standard library's SQLite where it is safe, otherwise the one that pysqlite3 carries."""
    if standard.sqlite_version_info >= SAFE_VERSION:
        return standard
    try:
        import pysqlite3
    except ImportError:
        return standard
    return pysqlite3


class SqliteDatabase:
    """The default database: one file (or memory) that one process writes and any may read."""

    dialect = "sqlite"

    def __init__(self, where: str, clock: Clock, module: Any, *, waits_for_disk: bool = True) -> None:
        self._where = where
        self._clock = clock
        self._module = module
        self._waits = _WAITS
        # In WAL mode `normal` writes the log at every commit, and waits for the disk only when it is emptied.
        self._synchronous = "full" if waits_for_disk else "normal"
        self._writer = self._connect()
        self._readers: list[Any] = []
        self._idle: list[Any] = []
        """Those of them that nobody reads with just now."""
        self._lock = asyncio.Lock()
        self._ended: list[tuple[asyncio.Future[None], Hooks]] = []
        """Transactions that wait for their commit, in their order."""
        self._turns = 0 if where == ":memory:" or clock.is_virtual else _TURNS
        self._thread = ThreadPoolExecutor(1, "commit") if self._turns and waits_for_disk else None
        self._committing: asyncio.Future[BaseException | None] | None = None
        """The commit that the thread is busy with; nobody else touches the writer meanwhile."""
        self._is_closed = False
        self._file = self._found()
        # At once: what a process left in the log when it was killed is none of anybody's business either.
        self._empty_log_at = clock.now()

    @classmethod
    def open(cls, where: str, clock: Clock, *, waits_for_disk: bool = True) -> SqliteDatabase:
        module = sqlite_module()
        _bind_quickly(module)
        if where != ":memory:":
            _check_place(Path(where), module)
        try:
            if where != ":memory:":
                create_private(Path(where))
            database = cls(where, clock, module, waits_for_disk=waits_for_disk)
        except (module.Error, OSError) as error:
            raise StoreError(
                f"cannot open the database {public(where)}: {error}. Check the path, its permissions and the disk."
            ) from error
        if where != ":memory:":
            # Only now: what is no database is somebody else's business.
            make_private(Path(where))
        return database

    def _connect(self) -> Any:
        # Patient while it opens: another process may be turning the same new file into a WAL database.
        connection = self._module.connect(
            self._where, isolation_level=None, timeout=5, cached_statements=512, check_same_thread=False
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
            connection.execute(f"pragma wal_autocheckpoint = {_LOG_SIZE // page}")
        connection.execute("pragma busy_timeout = 0")
        return connection

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[Transaction]:
        """Transactions that end within one turn of the loop share a commit; each returns only when it is durable."""
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
        if self._thread is None:
            error = self._write_down()
            self._tell(error)
            # After everybody was told: what is durable stays so, whatever becomes of the log.
            if error is None:
                self._empty_log()
            return
        self._committing = asyncio.get_running_loop().run_in_executor(self._thread, self._write_and_tidy)
        # The first to hear of it: whoever waits for the writer finds everybody told.
        self._committing.add_done_callback(self._has_committed)

    def _write_down(self) -> BaseException | None:
        """Makes durable what has ended, or undoes it and says why."""
        try:
            self._writer.execute("commit")
        except Exception as error:
            self._roll_back(self._writer)
            return self._translated(error)
        return None

    def _write_and_tidy(self) -> BaseException | None:
        """The same in the thread, and the log besides: what goes wrong with that is not said of the commit."""
        error = self._write_down()
        if error is None:
            with suppress(Exception):
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

    def _empty_log(self) -> None:
        """Every minute the log is written into the database and cut to nothing: deleted content stands in it until then."""
        now = self._clock.now()
        if self._where == ":memory:" or now < self._empty_log_at:
            return
        try:
            is_busy = bool(self._writer.execute("pragma wal_checkpoint(truncate)").fetchone()[0])
        except self._module.Error:
            # The commit is durable without it; what ails the disk is said by the next statement.
            is_busy = True
        self._empty_log_at = now + (_LOG_RETRY if is_busy else _LOG_KEPT)

    def _tell(self, error: BaseException | None) -> None:
        """Lets go all who wait for the commit that just ended, well or not."""
        ended, self._ended = self._ended, []
        if error is None:
            for durable, hooks in ended:
                _end(durable, hooks.committed, None)
        else:
            # The last first, as within each of them: a later one may have built upon what an earlier one did.
            for durable, hooks in reversed(ended):
                _end(durable, hooks.rolled_back, error)

    @asynccontextmanager
    async def reading(self) -> AsyncIterator[Transaction]:
        if self._where == ":memory:":
            async with self.transaction() as tx:
                yield tx
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
                f"the database {self._where} was deleted or replaced while it was open, and nothing can be kept. "
                "Put the file back (`bowerbird restore` makes one of a backup) and start again"
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
            return DiskFull(f"the database {self._where}, or the disk it is on, can only be read. Make it writable again.")
        if "full" in words or "disk I/O" in words or "unable to open" in words:
            return DiskFull(f"the database {self._where} cannot be written: {words}. Free some space or check permissions.")
        return error

    async def time(self) -> datetime | None:
        return None

    def any(self, kind: str) -> str:
        return "in (select value from json_each(?))"

    def members(self, values: Sequence[Any]) -> Any:
        return msgspec.json.encode(values).decode()

    async def migrate(self) -> None:
        is_blank = self._where == ":memory:" and not self._writer.execute("select count(*) from sqlite_master").fetchone()[0]
        if is_blank and _blank:
            _blank[0].backup(self._writer)
        async with self.transaction() as tx:
            await migrate(tx, self.dialect, self._clock.now())
        if is_blank and not _blank:
            _blank.append(self._connect())
            self._writer.backup(_blank[0])

    async def close(self) -> None:
        await self._committed()
        self._commit()
        await self._committed()
        self._is_closed = True
        if self._thread is not None:
            self._thread.shutdown()
        for connection in (*self._readers, self._writer):
            connection.close()


def _end(durable: asyncio.Future[None], hooks: Callable[[], None], error: BaseException | None) -> None:
    """Calls one transaction's hooks, then lets it go; a hook that breaks is its own affair, and others are told all the same."""
    try:
        hooks()
    except Exception as broken:
        error = error or broken
    # One that was cancelled waits no longer; what it wrote is kept or not like everything else.
    if not durable.done():
        if error is None:
            durable.set_result(None)
        else:
            durable.set_exception(error)


def _bind_quickly(module: Any) -> None:
    """Spares the driver its search for somebody who would adapt a null or a blob: that takes ten times as long as to bind it."""
    module.register_adapter(type(None), {None: None}.get)
    module.register_adapter(bytes, bytes)


def _check_place(path: Path, module: Any) -> None:
    if module.sqlite_version_info < SAFE_VERSION:
        wanted = ".".join(map(str, SAFE_VERSION))
        raise StoreError(
            f"SQLite {module.sqlite_version} can corrupt a database that is read while it is written; bowerbird needs {wanted} "
            "or newer. Install it with: pip install pysqlite3"
        )
    if not path.parent.is_dir():
        raise StoreError(f"the folder {path.parent} for the database {path.name} does not exist: create it first")
