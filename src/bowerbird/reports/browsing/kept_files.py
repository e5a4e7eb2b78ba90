"""Which file on disk belongs to a picture or film, as long as a post shows it."""

from __future__ import annotations

from bowerbird.db.sqlite.ends_of_ids import is_same
from bowerbird.ports import Database, Transaction

_FILE = f"""
select f.path from media_files f where f.id = ? and f.state = 'kept' and f.path is not null and exists (
    select 1 from media m join posts p on p.post_no = m.post_no join users u on u.user_no = p.author
    where {is_same("m.id", "f.id")} and p.deleted_at is null and coalesce(u.opts_out, 0) = 0)
"""
_ANY = "select 1 as kept from media_files where path is not null limit 1"


async def has_files(tx: Transaction) -> bool:
    """Whether the store has pictures or films on disk."""
    return await tx.fetch_one(_ANY) is not None


async def kept_file(database: Database, media: str) -> str | None:
    """Its path below the folder of its crawl's media; None where none is kept, or nobody shows it any more."""
    async with database.reading() as tx:
        row = await tx.fetch_one(_FILE, media)
    return None if row is None else str(row["path"])
