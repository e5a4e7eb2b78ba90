"""A store with so many posts in it, made once and kept in the cache folder, and the messages that come next on its stream.

It is filled by bowerbird itself, over the same WebSocket and with the same made-up events as are measured later: rows, indexes
and payloads lie in the file as they do after a stream of that length. Ten million posts take about half an hour, once for each
version of the schema.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

from msgspec import Struct

from benchmarks.streamed import streamed_once
from bowerbird.db.sqlite.library import sqlite_module
from bowerbird.db.tables import SCHEMA_VERSION
from bowerbird.settings import load_settings

_POSTS_PER_EVENT = 0.7


class Filled(Struct, frozen=True):
    """A filled store; it is copied for every pass."""

    path: Path
    following: Path
    posts: int

    @property
    def bytes_per_post(self) -> float:
        return self.path.stat().st_size / self.posts

    def copy(self, path: Path, *, is_cold: bool) -> None:
        """A copy to be measured with; a cold one is on the disk and not in memory."""
        shutil.copyfile(self.path, path)
        path.chmod(0o600)
        with path.open("rb+") as copied:
            os.fsync(copied.fileno())
            if is_cold:
                os.posix_fadvise(copied.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def filled(posts: int, fill: Callable[[str, int, Path], None]) -> Filled:
    """The store with at least so many posts, made now if it is not there yet."""
    folder = load_settings().cache_folder / "benchmarks"
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"stream-{SCHEMA_VERSION}-{posts}.db"
    following = path.with_suffix(".messages")
    if not path.exists():
        unfinished = path.with_suffix(".unfinished")
        for ending in ("", "-wal", "-shm"):
            unfinished.with_name(unfinished.name + ending).unlink(missing_ok=True)
        count = round(posts / _POSTS_PER_EVENT)
        print(f"filling a store with {posts:,} posts from {count:,} events; it is kept as {path}", flush=True)
        with streamed_once(count, following) as served:
            fill(served.base, count, unfinished)
        unfinished.rename(path)
    return Filled(path, following, _counted(path))


def _counted(path: Path) -> int:
    connection = sqlite_module().connect(path)
    try:
        return int(connection.execute("select count(*) from posts").fetchone()[0])
    finally:
        connection.close()
