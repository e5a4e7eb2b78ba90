"""Deletes in one store what another knows to be deleted: a backup does not learn what happened after it was taken."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec import Struct

from bowerbird.clock import to_micros
from bowerbird.ports import Clock, Database, Row
from bowerbird.store.absences.purge import PurgeStatements, has_content, purge_posts, purge_users, record_deletions
from bowerbird.store.context import SaveContext
from bowerbird.store.forgetting.requests import Forgetter, Wish
from bowerbird.store.forgetting.tombstones import shared_marks
from bowerbird.store.posts.by_id import with_ids
from bowerbird.store.posts.counts import save_counts

BATCH = 500
Said = Callable[[str, int], None]
_NEXT = {
    "user": "select 'user' as subject, id, reason, at from deletions where subject = 'user' and id > ? order by id limit ?",
    "post": "select 'post' as subject, id, reason, at from deletions where subject = 'post' and id > ? order by id limit ?",
    # Whatever else became of them since: their wish stands as long as they do not take it back.
    "opted out": "select 'user' as subject, id, 'opted_out' as reason, seen_at as at from users "
    "where opts_out = 1 and id > ? order by id limit ?",
}


class Forgotten(Struct):
    """How many accounts and posts were emptied."""

    users: int = 0
    posts: int = 0

    def add(self, other: Forgotten) -> None:
        self.users += other.users
        self.posts += other.posts


async def forget_as_in(known: Database, store: Database, clock: Clock, said: Said = lambda table, rows: None) -> Forgotten:
    """Goes through the deletions and opt-outs of `known` in batches of one transaction each, then takes in its tombstones; what
    is done already is not done again."""
    sql, forgotten = PurgeStatements(store), Forgotten()
    for subject in _NEXT:
        last, rows = "", 0
        while batch := await _batch(known, subject, last):
            async with store.transaction() as tx:
                s = SaveContext(tx=tx, database=store, at=to_micros(clock.now()))
                await (_forget_posts if subject == "post" else _forget_users)(s, sql, batch, forgotten)
                await save_counts(s)
            last, rows = batch[-1]["id"], rows + len(batch)
            said("deletions", rows)
    async with known.reading() as tx:
        lines = tuple(await shared_marks(tx))
    if lines:
        wish = Wish(who="another store", why="what it has forgotten is forgotten here too", lines=lines)
        erased = await Forgetter(store, clock).forget(wish, said)
        forgotten.users += erased.users
        forgotten.posts += erased.posts
    return forgotten


async def _batch(known: Database, subject: str, last: str) -> Sequence[Row]:
    async with known.reading() as tx:
        return await tx.fetch(_NEXT[subject], last, BATCH)


async def _forget_users(s: SaveContext, sql: PurgeStatements, batch: Sequence[Row], forgotten: Forgotten) -> None:
    reasons = {row["id"]: row["reason"] for row in batch}
    known = await s.fetch_in(f"select user_no, id, opts_out from users where id {s.database.any('text')}", list(reasons))
    rows = [row for row in known if not (row["opts_out"] and reasons[row["id"]] == "opted_out")]
    for reason in sorted(set(reasons.values())):
        await purge_users(s, sql, {row["user_no"]: row["id"] for row in rows if reasons[row["id"]] == reason}, reason)
    # Also what a crawl has kept of them.
    kept = await s.fetch_in(sql.posts_with_content, [row["user_no"] for row in rows])
    await purge_posts(s, sql, [row["post_no"] for row in kept])
    opted_out = [row["user_no"] for row in rows if reasons[row["id"]] == "opted_out"]
    await s.execute_in(f"update users set opts_out = 1 where user_no {s.database.any('bigint')}", opted_out)
    forgotten.users += len(rows)


async def _forget_posts(s: SaveContext, sql: PurgeStatements, batch: Sequence[Row], forgotten: Forgotten) -> None:
    filled = f"select post_no from posts where {has_content()} and {with_ids(s.database)}"
    rows = await s.fetch_in(filled, [row["id"] for row in batch])
    await purge_posts(s, sql, [row["post_no"] for row in rows])
    for reason in sorted({row["reason"] for row in batch}):
        await record_deletions(s, "post", [row["id"] for row in batch if row["reason"] == reason], reason)
    forgotten.posts += len(rows)
