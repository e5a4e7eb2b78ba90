"""What modules may do to what is stored, by the store's own rules."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from bowerbird.clock import to_micros
from bowerbird.ports import Database, Judge, Transaction
from bowerbird.store.absences.purge import PurgeStatements, purge_posts, record_deletions
from bowerbird.store.context import SaveContext
from bowerbird.store.intake.clean import clean_text
from bowerbird.store.judgements.again import JudgeAgain
from bowerbird.store.posts.counts import save_counts


class StoredThings:
    """Implements `ports.Stored`."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._purge = PurgeStatements(database)
        self._again = JudgeAgain(database)
        self._ids = f"select post_no, id from posts where deleted_at is null and post_no {database.any('bigint')}"

    async def erase_posts(self, tx: Transaction, posts: Sequence[int], reason: str, now: datetime) -> int:
        s = SaveContext(tx=tx, database=self._database, at=to_micros(now))
        found = {row["post_no"]: row["id"] for row in await s.fetch_in(self._ids, posts)}
        await purge_posts(s, self._purge, found)
        await record_deletions(s, "post", found.values(), clean_text(reason))
        await save_counts(s)
        return len(found)

    async def judge_posts(self, tx: Transaction, judge: Judge, posts: Sequence[int], now: datetime) -> int:
        return await self._again.posts(tx, judge, posts, now)

    async def judge_users(self, tx: Transaction, judge: Judge, users: Sequence[int], now: datetime) -> int:
        return await self._again.users(tx, judge, users, now)
