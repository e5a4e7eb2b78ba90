"""What a store holds, for Python programs: plain dicts and frozen values, one moment or one batch at a time."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from bowerbird.api.loops import LoopThread
from bowerbird.cli.which import find_place, opened_place
from bowerbird.clock import RealClock
from bowerbird.reports.reader import Reader
from bowerbird.reports.status.summary import CrawlReport, Summary


class StoredData:
    """A store opened for reading: it never writes, and never holds up a crawl that does. Close it, or use it in a `with`."""

    def __init__(self, where: str | Path) -> None:
        """`where`: a store, an address of a database, or a crawl file."""
        self._loop = LoopThread()
        try:
            self._opened = opened_place(find_place(str(where)), RealClock())
            self._reader = Reader(self._loop.run(self._opened.__aenter__()))
        except BaseException:
            self._loop.close()
            raise

    def posts(self, *, raw: bool = False) -> Iterator[dict[str, Any]]:
        """Every post with its author's id and handle, tags, mentions and media; of deleted ones the id and the times remain.
        `raw`: with the payload as the network sent it."""
        yield from self._loop.iterate(self._reader.posts(with_raw=raw))

    def users(self, *, raw: bool = False) -> Iterator[dict[str, Any]]:
        """Every account that was heard of; those known by name alone have `seen_at` None."""
        yield from self._loop.iterate(self._reader.users(with_raw=raw))

    def relations(self) -> Iterator[dict[str, Any]]:
        """Who follows whom, with when it was seen and when it ended."""
        yield from self._loop.iterate(self._reader.relations())

    def crawls(self) -> tuple[CrawlReport, ...]:
        return self._loop.run(self._reader.crawls())

    def summary(self) -> Summary:
        """What `bowerbird status` shows, as values."""
        return self._loop.run(self._reader.summary())

    def history(self, user: str) -> list[dict[str, Any]]:
        """How the profile of the account with this id changed, oldest first."""
        return self._loop.run(self._reader.user_history(user))

    def find_users(self, handle: str) -> list[dict[str, Any]]:
        """The accounts that bear this handle or once bore it, on any network."""
        return self._loop.run(self._reader.users_by_handle(handle))

    def close(self) -> None:
        self._loop.run(self._closed())
        self._loop.close()

    async def _closed(self) -> None:
        await self._opened.__aexit__(None, None, None)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()


def open_store(where: str | Path) -> StoredData:
    """The store of a crawl: its file, the address of its database, or its crawl file."""
    return StoredData(where)
