"""What reposts pass on: texts of others, of those alone that are stored and may be told."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from msgspec import Struct

from bowerbird.model.subjects.telling import may_be_told
from bowerbird.ports import Database
from bowerbird.store.posts.by_id import with_ids

_ORIGINALS = f"""
select posts.id, posts.text, u.id as author_id, u.handle from posts join users u on u.user_no = posts.author
where {{several}} and posts.deleted_at is null and posts.text is not null and {may_be_told("u")}
"""


class Original(Struct, frozen=True, kw_only=True):
    """A post that was passed on."""

    id: str
    author_id: str
    handle: str | None
    text: str

    @property
    def label(self) -> str:
        return f"@{self.handle}" if self.handle else self.author_id


async def read_originals(database: Database, ids: Collection[str]) -> Mapping[str, Original]:
    """By id; what is gone, or whose author asked to be left alone, is left out."""
    if not ids:
        return {}
    async with database.reading() as tx:
        rows = await tx.fetch(_ORIGINALS.format(several=with_ids(database)), database.members(sorted(ids)))
    return {
        row["id"]: Original(id=row["id"], author_id=row["author_id"], handle=row["handle"], text=str(row["text"])) for row in rows
    }
