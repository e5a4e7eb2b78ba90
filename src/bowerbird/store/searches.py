"""Searches that people keep under a name."""

from __future__ import annotations

from datetime import datetime

from msgspec import Struct

from bowerbird.clock import from_micros, to_micros
from bowerbird.errors import UserError
from bowerbird.ports import Database, Row

_KEEP = """
insert into saved_searches (name, what, query, who, at) values (?, ?, ?, ?, ?)
on conflict (name) do update set what = excluded.what, query = excluded.query, who = excluded.who, at = excluded.at
"""
LISTED = "select name, what, query, who, at from saved_searches order by name"
_MOST = 500
_LONGEST_NAME, _LONGEST_QUERY = 80, 4_000


class SavedSearch(Struct, frozen=True, kw_only=True):
    """What somebody looked for, as it stands in the address of the page."""

    name: str
    what: str
    query: str
    who: str
    at: datetime


async def keep_search(database: Database, search: SavedSearch) -> None:
    """Keeps a search under its name, in the place of one that the same person gave it; raises `UserError` where another person
    did, and for names and searches too long."""
    if not search.name.strip() or len(search.name) > _LONGEST_NAME:
        raise UserError(f"a saved search needs a name of 1 to {_LONGEST_NAME} letters")
    if len(search.query) > _LONGEST_QUERY:
        raise UserError(
            f"the search is too long to be kept: {len(search.query):,} letters, {_LONGEST_QUERY:,} are the most", code="too_many"
        )
    async with database.transaction() as tx:
        (row,) = await tx.fetch("select count(*) as n from saved_searches where name <> ?", search.name)
        if row["n"] >= _MOST:
            raise UserError(f"{_MOST} searches are saved already", "delete one that nobody needs", code="too_many")
        had = await tx.fetch_one("select who from saved_searches where name = ?", search.name)
        if had is not None and had["who"] != search.who:
            raise UserError(
                f"{had['who']} has saved a search called {search.name!r}", "choose another name", code="already_exists"
            )
        await tx.execute(_KEEP, search.name, search.what, search.query, search.who, to_micros(search.at))


async def drop_search(database: Database, name: str) -> bool:
    """Forgets a saved search; False where there was none of this name."""
    async with database.transaction() as tx:
        return await tx.execute("delete from saved_searches where name = ?", name) > 0


async def saved_searches(database: Database) -> tuple[SavedSearch, ...]:
    async with database.reading() as tx:
        return tuple(saved_search(row) for row in await tx.fetch(LISTED))


def saved_search(row: Row) -> SavedSearch:
    """What a row of `LISTED` says."""
    return SavedSearch(name=row["name"], what=row["what"], query=row["query"], who=row["who"], at=from_micros(row["at"]))
