"""The table `media_copies`: which files a store has put into which copy, and which of them it keeps no longer."""

from __future__ import annotations

from collections.abc import Sequence

from bowerbird.ports import Transaction

_NOTE = """
insert into media_copies (place, path) select cast(? as text), path from media_files where state = 'kept' and path is not null
on conflict (place, path) do nothing
"""
_GONE = """
select c.path from media_copies c left join media_files f on f.path = c.path where c.place = ? and f.path is null order by c.path
"""
_FORGET = "delete from media_copies where place = ? and path = ?"


async def note_kept(tx: Transaction, place: str) -> None:
    """All that is kept now is about to be copied there."""
    await tx.execute(_NOTE, place)


async def gone_from(tx: Transaction, place: str) -> Sequence[str]:
    """Files of the copy that were put there by this store and are not kept by it any more."""
    return [row["path"] for row in await tx.fetch(_GONE, place)]


async def forget_copies(tx: Transaction, place: str, paths: Sequence[str]) -> None:
    await tx.execute_many(_FORGET, [(place, path) for path in paths])
