"""What a list offers beside its rows: the searches that were kept, and the crawls to choose by."""

from __future__ import annotations

from msgspec import Struct

from bowerbird.ports import Database
from bowerbird.store.searches import LISTED, SavedSearch, saved_search

_CRAWLS = "select name from crawls order by crawl"


class Choices(Struct, frozen=True, kw_only=True):
    """What can be chosen, as of one moment."""

    saved: tuple[SavedSearch, ...]
    crawls: tuple[str, ...]
    """By name, in the order in which they were made."""


async def read_choices(database: Database) -> Choices:
    async with database.reading() as tx:
        saved, crawls = await tx.fetch_all([(LISTED, ()), (_CRAWLS, ())])
    return Choices(saved=tuple(map(saved_search, saved)), crawls=tuple(row["name"] for row in crawls))
