"""How far a reading of all payloads is: a row of `remaps`, written with every batch."""

from __future__ import annotations

from collections import Counter
from datetime import datetime

import msgspec
from msgspec import Struct, field

from bowerbird.clock import to_micros
from bowerbird.ports import Database, Row, Transaction

_OPEN = "select * from remaps where ended_at is null and version = ? order by remap desc limit 1"
_LAST = "select coalesce(max(user_no), 0) as users, (select coalesce(max(post_no), 0) from posts) as posts from users"
_BEGIN = (
    "insert into remaps (version, begun_at, users_to, posts_to, users_at, posts_at, items, changed, unread, fields) "
    "values (?, ?, ?, ?, 0, 0, 0, 0, 0, '{}')"
)
_NOTE = (
    "update remaps set users_at = ?, posts_at = ?, items = ?, changed = ?, unread = ?, fields = ?, ended_at = ? where remap = ?"
)
_counts = msgspec.json.Decoder(dict[str, int])


class Run(Struct, kw_only=True):
    """One reading of all payloads, as far as it is."""

    remap: int
    users_to: int
    posts_to: int
    users_at: int = 0
    posts_at: int = 0
    items: int = 0
    changed: int = 0
    unread: int = 0
    """Payloads that no parser reads as their item, that name somebody who was forgotten, or whose owner opts out."""
    fields: Counter[str] = field(default_factory=Counter)
    """How often each field changed: `posts.language`."""
    is_ended: bool = False

    @property
    def part(self) -> float:
        """How much of it is done, from 0 to 1."""
        return (self.users_at + self.posts_at) / max(self.users_to + self.posts_to, 1)


async def begin(database: Database, version: str, now: datetime) -> tuple[Run, bool]:
    """The reading that is under way with the parsers of this version, or else a new one; and whether it was under way."""
    async with database.transaction() as tx:
        row = await tx.fetch_one(_OPEN, version)
        if row is not None:
            return _run(row), True
        (last,) = await tx.fetch(_LAST)
        await tx.execute(_BEGIN, version, to_micros(now), last["users"], last["posts"])
        (begun,) = await tx.fetch(_OPEN, version)
        return _run(begun), False


async def held(tx: Transaction, database: Database, remap: int) -> Run:
    """The reading as it is now; whoever else reads on waits for the end of this transaction."""
    lock = " for update" if database.dialect == "postgresql" else ""
    (row,) = await tx.fetch(f"select * from remaps where remap = ?{lock}", remap)
    return _run(row)


async def note(tx: Transaction, run: Run, now: datetime) -> None:
    """Writes how far it is."""
    at = (run.users_at, run.posts_at, run.items, run.changed, run.unread)
    fields = msgspec.json.encode(run.fields, order="sorted").decode()
    await tx.execute(_NOTE, *at, fields, to_micros(now) if run.is_ended else None, run.remap)


def _run(row: Row) -> Run:
    names = ("remap", "users_to", "posts_to", "users_at", "posts_at", "items", "changed", "unread")
    fields = Counter(_counts.decode(row["fields"]))
    return Run(**{name: row[name] for name in names}, fields=fields, is_ended=row["ended_at"] is not None)
