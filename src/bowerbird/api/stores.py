"""What a store holds, for Python programs: plain dicts and frozen values, one moment or one batch at a time."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from bowerbird.api.loops import LoopThread
from bowerbird.api.tables import Rows, Several, Time, choice
from bowerbird.cli.which import find_store, opened_store
from bowerbird.clock import RealClock
from bowerbird.reports.completeness import View, read_completeness
from bowerbird.reports.reader import Reader
from bowerbird.reports.status.summary import CrawlReport, Summary


class StoredData:
    """A store opened for reading: it never writes, and never holds up a crawl that does. Close it, or use it in a `with`."""

    def __init__(self, where: str | Path) -> None:
        """`where`: a store, an address of a database, or a crawl file."""
        self.loop = LoopThread()
        try:
            self._opened = opened_store(find_store(str(where)), RealClock())
            self.database = self.loop.run(self._opened.__aenter__())
            self._reader = Reader(self.database)
        except BaseException:
            self.loop.close()
            raise

    def posts(
        self, *, raw: bool = False, since: Time = None, until: Time = None, lang: Several = None, user: Several = None,
        word: Several = None,
    ) -> Rows:  # fmt: skip
        """Every post with its author's id and handle, tags, mentions and media; of deleted ones the id and the times remain,
        unless something is chosen. `raw`: with the payload as the network sent it. `to_pandas` and its like make a table."""
        wanted = choice(since=since, until=until, lang=lang, user=user, word=word)
        return Rows(self, "posts", wanted, raw=raw)

    def users(
        self, *, raw: bool = False, since: Time = None, until: Time = None, lang: Several = None, user: Several = None,
        word: Several = None,
    ) -> Rows:  # fmt: skip
        """Every account that was heard of; those known by name alone have `seen_at` None, and are not among what was chosen."""
        wanted = choice(since=since, until=until, lang=lang, user=user, word=word)
        return Rows(self, "users", wanted, raw=raw)

    def follows(self, *, since: Time = None, until: Time = None, user: Several = None) -> Rows:
        """Who follows whom, as far as is known now, with ids and handles."""
        return Rows(self, "follows", choice(since=since, until=until, user=user))

    def relations(self) -> Iterator[dict[str, Any]]:
        """Who follows whom, with when it was seen and when it ended."""
        yield from self.loop.iterate(self._reader.relations())

    def crawls(self) -> tuple[CrawlReport, ...]:
        return self.loop.run(self._reader.crawls())

    def summary(self) -> Summary:
        """What `bowerbird status` shows, as values."""
        return self.loop.run(self._reader.summary())

    def completeness(self, *, crawl: str | None = None, top: int = 20) -> dict[str, View]:
        """Return what `bowerbird completeness` shows: by view the sums, and the entries with the most missing items."""
        return self.loop.run(read_completeness(self.database, crawl=crawl, top=top))

    def history(self, user: str) -> list[dict[str, Any]]:
        """How the profile of the account with this id changed, oldest first."""
        return self.loop.run(self._reader.user_history(user))

    def find_users(self, handle: str) -> list[dict[str, Any]]:
        """The accounts that bear this handle or once bore it, on any network."""
        return self.loop.run(self._reader.users_by_handle(handle))

    def close(self) -> None:
        self.loop.run(self._closed())
        self.loop.close()

    async def _closed(self) -> None:
        await self._opened.__aexit__(None, None, None)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()


def open_store(where: str | Path) -> StoredData:
    """The store of a crawl: its file, the address of its database, or its crawl file."""
    return StoredData(where)
