"""Which accounts and posts the store has no content of any more: deleted, suspended, or not to be collected."""

from __future__ import annotations

from collections.abc import Collection

from bowerbird.ports import Database, Transaction
from bowerbird.reports.blocks.tables import USERS
from bowerbird.store.posts.by_id import with_ids


async def withdrawn_posts(database: Database, tx: Transaction, ids: Collection[str]) -> set[str]:
    """Those of the ids whose posts are known to be gone; of what the store never held nothing is said."""
    members = database.members(sorted(ids))
    rows = await tx.fetch(f"select id, deleted_at from posts where {with_ids(database)}", members)
    told = await tx.fetch(f"select id from deletions where subject = 'post' and id {database.any('text')}", members)
    there = {row["id"] for row in rows if row["deleted_at"] is None}
    return ({row["id"] for row in (*rows, *told)} - there) & set(ids)


async def withdrawn_users(database: Database, tx: Transaction, ids: Collection[str]) -> set[str]:
    """The same for accounts whose posts and profiles were emptied."""
    members, any_of = database.members(sorted(ids)), database.any("text")
    told = await tx.fetch(f"select id from deletions where subject = 'user' and id {any_of}", members)
    unwanted = await tx.fetch(f"select id from users where opts_out = 1 and id {any_of}", members)
    return {row["id"] for row in (*told, *unwanted)}


async def hidden_profiles(database: Database, tx: Transaction, ids: Collection[str]) -> set[str]:
    """Those of the ids whose profiles an export of today leaves out, also where a crawl may keep what is deleted."""
    statement = f"select u.id from {USERS.tables} where u.id {database.any('text')} and not ({USERS.where})"
    return {row["id"] for row in await tx.fetch(statement, database.members(sorted(ids)))}
