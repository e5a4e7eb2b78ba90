"""Services that lag behind the stream of their network: what they show soon after it has spoken may be what was before."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from bowerbird.model import User
from bowerbird.ports import Database, Row
from bowerbird.store.context import SaveContext
from bowerbird.store.fields import USER_COUNTERS, USER_FIELDS, last_columns, user_values
from bowerbird.store.people.names import tells_returns

_stored = last_columns(USER_FIELDS)
_STANDS = tuple(field not in USER_COUNTERS for field in USER_FIELDS)
LAG = 5 * 60 * 1_000_000
"""Microseconds for which a service may still show what was before a stream has told otherwise."""


class LagStatements:
    """The statements of this file in one database's words."""

    def __init__(self, database: Database) -> None:
        self.heard = (
            "select c.call from calls c join lanes l on l.lane = c.lane "
            f"where l.facet like 'stream %' and c.call {database.any('bigint')}"
        )


async def told_by_streams(s: SaveContext, sql: LagStatements, calls: Iterable[int]) -> set[int]:
    """Those of the calls that are connections of a stream."""
    return {row["call"] for row in await s.fetch_in(sql.heard, sorted(set(calls)))}


async def outdated_profiles(s: SaveContext, sql: LagStatements, users: Mapping[int, User], stored: Mapping[int, Row]) -> set[int]:
    """Whom a page shows otherwise than a stream did a moment ago. Where streams tell what becomes of accounts, theirs stands.

    Who asks not to be collected is believed at once, whoever says it."""
    if s.is_live or not tells_returns(s.network):
        return set()
    since = await s.observed_at() - LAG
    fresh = {n: row for n, row in stored.items() if (row["changed_at"] or 0) > since and not users[n].opts_out}
    differing = {n: row["seen_by"] for n, row in fresh.items() if row["seen_by"] and _is_otherwise(row, users[n])}
    heard = await told_by_streams(s, sql, differing.values())
    return {number for number, call in differing.items() if call in heard}


def _is_otherwise(row: Row, user: User) -> bool:
    """Whether the page denies what is known; what it counts or adds is no denial."""
    old, new = _stored(row), user_values(user)
    both = zip(_STANDS, old, new, strict=True)
    return old != new and any(stands and was is not None and now is not None and was != now for stands, was, now in both)
