"""A store that was last written at a time which, by our clock, is still to come: a clock was ahead, and has been set right.

Everything that waits for a time reckoned by that clock is pulled back by the difference; otherwise revisits, waits and windows
would stand still for as long as the clock was ahead. What was recorded as history keeps the times it was recorded with.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from bowerbird.clock import from_micros, to_micros
from bowerbird.crawl.answers.verdict import RETRIES
from bowerbird.crawl.life import registry
from bowerbird.model import MediaState
from bowerbird.ports import Transaction

_TOLERANCE = timedelta(minutes=1)
"""Clocks of several machines differ by so much at most."""
_FAR = timedelta(hours=1)
"""A worker of another machine that was seen so far ahead did so by the wrong clock. One less far ahead may be alive
with a clock that is a little wrong, and its windows are not touched; if it is dead, nothing waits longer than this."""
_LATEST = """
select max(at) as at from (select max(seen_at) as at from workers where worker <> ? union all select max(updated_at) from crawls)
as written
"""
_OTHERS = "select 1 as there from workers where ended_at is null and worker <> ?"
# What was visited or added in that time was put off from then; a task amid a listing or a retry never waits for long.
_TASKS = """
update tasks set due = due - ?, visited_at = case when visited_at > ? then visited_at - ? else visited_at end,
    added_at = case when added_at > ? then added_at - ? else added_at end
where ready = 0 and due is not null and (visited_at > ? or added_at > ?)
"""
_RETRIES = "update tasks set due = ? where ready = 0 and due > ? and (attempts > 0 or pages > 0)"
_LEDGERS = """
update ledgers set backoff_until = backoff_until - ?, backoff_since = backoff_since - ?, resumed_at = resumed_at - ?,
    next_at = next_at - ?, updated_at = updated_at - ?, offset_low = offset_low + ?, offset_high = offset_high + ?,
    version = version + 1
where updated_at > ?
"""
_STREAMS = "update streams set heard_at = heard_at - ?, connected_at = connected_at - ? where heard_at > ?"
_WORKERS = """
update workers set started_at = started_at - ?, seen_at = seen_at - ?,
    ended_at = case when ended_at > ? then ended_at - ? else ended_at end
where seen_at > ? and worker <> ?
"""
_CRAWLS = "update crawls set updated_at = ? where updated_at > ?"
_FILES = f"update media_files set due = due - ? where state = '{MediaState.WAITING}' and due > ?"


async def pull_back(tx: Transaction, me: int, now: datetime) -> timedelta | None:
    """Pulls back what waits for a time of a clock that was ahead; answers by how much, None when nothing was."""
    row = await tx.fetch_one(_LATEST, me)
    ahead = from_micros(row["at"]) - now if row is not None and row["at"] is not None else timedelta(0)
    if ahead <= _TOLERANCE:
        return None
    # Who was killed never said that it ended.
    await registry.end_workers(tx, await registry.dead_workers(tx, me, now, now + _FAR), now)
    # While somebody else is at work nobody can say whose clock is right.
    if await tx.fetch_one(_OTHERS, me) is not None:
        return None
    at, by = to_micros(now), ahead // timedelta(microseconds=1)
    await tx.execute(_TASKS, by, at, by, at, by, at, at)
    await tx.execute(_RETRIES, at, to_micros(now + RETRIES.most))
    await tx.execute(_LEDGERS, *([by] * 7), at)
    await tx.execute(_STREAMS, by, by, at)
    await tx.execute(_FILES, by, to_micros(now + ahead))
    await tx.execute(_CRAWLS, at, at)
    await tx.execute(_WORKERS, by, by, at, by, at, me)
    return ahead


async def note_pulled_back(tx: Transaction, crawl: int, ahead: timedelta, now: datetime) -> str:
    """Says so to whoever reads the errors; answers the words."""
    words = (
        f"the store was last written at a time that our clock reaches only in {ahead}: it was ahead then, or is behind now. "
        "Visits and waits were pulled back by that; recorded times stay as they are"
    )
    await registry.note_error(tx, crawl, "clock", None, None, words, now)
    return words
