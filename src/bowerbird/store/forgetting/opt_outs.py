"""The opt-out list of a crawl file: whoever is on it leaves the store before the first call, and stays out."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

from msgspec import Struct

from bowerbird.errors import UserError
from bowerbird.model import Service, Subject
from bowerbird.ports import Clock, Database, Transaction
from bowerbird.store.forgetting.lists import OptOuts, read_opt_outs
from bowerbird.store.forgetting.names import wished
from bowerbird.store.forgetting.requests import Forgetter, Wish, is_unfinished
from bowerbird.store.forgetting.tombstones import Tombstones

_FILES = "select 1 as kept from media_files where path is not null limit 1"

Find = Callable[[Transaction, Sequence[str]], Awaitable[tuple[frozenset[int], frozenset[str]]]]
"""Who is meant by what is written on a list: accounts of the store, and names that nobody bears there."""


class OptOutList(Struct, frozen=True, kw_only=True):
    """The list of one crawl."""

    crawl: str
    file: str
    services: tuple[Service, ...]
    find: Find
    remove: Callable[[str], object] | None
    """Takes a picture or film off the disk; None where nothing says where they are."""


async def keep_out(listing: OptOutList, database: Database, clock: Clock) -> None:
    """Forgets whoever is on the list and was not forgotten before; what was done already costs a look at the list."""
    listed = read_opt_outs(Path(listing.file), listing.services)
    marks = Tombstones()
    async with database.reading() as tx:
        await marks.load(tx)
        news = [each for each in listed.people if not all(map(marks.holds, wished(each, None, Subject.USER)))]
        is_known = not news and marks.holds_lines(listed.lines)
        if is_known and not await is_unfinished(tx):
            return
        wish = await _wish(listing, tx, OptOuts(tuple(news), listed.lines))
        remove = await _remover(listing, tx)
    await Forgetter(database, clock, remove).forget(wish)


async def _wish(listing: OptOutList, tx: Transaction, listed: OptOuts) -> Wish:
    users, names = await listing.find(tx, listed.people)
    return Wish(
        who=f"the opt-out list of the crawl {listing.crawl}",
        why="whoever is on the list is not collected",
        users=users,
        names=names,
        lines=listed.lines,
    )


async def _remover(listing: OptOutList, tx: Transaction) -> Callable[[str], object]:
    """Takes their pictures and films off the disk; raises `UserError` where there are some and nothing says where."""
    if listing.remove is not None:
        return listing.remove
    if await tx.fetch_one(_FILES) is None:
        return lambda media: None
    raise UserError(
        f"people on {listing.file} are new, and the store has pictures or films on disk, of which this crawl file "
        "does not say where they are",
        f"begin with `bowerbird forget {listing.file} --media FOLDER`",
        code="needs_option",
    )
