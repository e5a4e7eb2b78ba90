"""Relations with an absent end: lists leave them out, which does not mean that they have ended."""

from __future__ import annotations

from collections.abc import Collection

from bowerbird.model import Outcome
from bowerbird.ports import Database
from bowerbird.store.context import SaveContext

# A protected account stays in the lists of others.
ABSENT_SINCE = f"reason <> '{Outcome.PROTECTED}' and (until is null or until > ?)"
"""Condition on `unavailable`: nobody can see the account, or could at some moment since a time."""

_LISTS = {"source": "('followers', 'followers_list')", "target": "('following', 'following_list')"}
"""By end of a relation the facets of the other end that leave it out while this one is absent; lists of records do not."""
_REVIVE = "update relations set removed_at = null where kind = ? and source = ? and target = ? and removed_at = ?"
_FORGET = "delete from relation_history where kind = ? and source = ? and target = ? and before_at = ? and change = 'removed'"


class AbsentEndStatements:
    """The statements of this file in one database's words."""

    def __init__(self, database: Database) -> None:
        bigint = database.any("bigint")
        self.absent = f"select user_no from unavailable where {ABSENT_SINCE} and user_no {bigint}"
        self.doubtful = tuple(
            "select h.kind, h.source, h.target, h.before_at from relation_history h "
            f"join users u on u.user_no = h.{end} join calls c on c.call = h.call "
            "join relations r on r.kind = h.kind and r.source = h.source and r.target = h.target and r.removed_at = h.before_at "
            f"where h.change = 'removed' and h.before_at > coalesce(u.seen_at, 0) and c.facet in {lists} and h.{end} {bigint}"
            for end, lists in _LISTS.items()
        )


async def absent_since(s: SaveContext, sql: AbsentEndStatements, users: Collection[int], since: int) -> set[int]:
    """Those of the users who are absent, or were at some moment since then."""
    return {row["user_no"] for row in await s.fetch_in(sql.absent, users, since)}


async def take_back_removals(s: SaveContext, sql: AbsentEndStatements, users: Collection[int]) -> None:
    """Undoes what lists have said of users who turn out to be absent, since they were last seen: they may have been absent
    then already. If a relation has ended after all, the first whole list after their return says so."""
    for statement in sql.doubtful:
        edges = sorted(
            (row["kind"], row["source"], row["target"], row["before_at"]) for row in await s.fetch_in(statement, users)
        )
        await s.execute_many(_REVIVE, edges)
        await s.execute_many(_FORGET, edges)
