"""The rows of `gaps`: what a stream cannot have delivered, between which events and times."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from enum import StrEnum

from msgspec import Struct, structs

from bowerbird.clock import to_micros
from bowerbird.crawl.streaming.stream_rows import Position
from bowerbird.model import Channel
from bowerbird.ports import Database, Transaction

_ADD = """
insert into gaps (stream, cause, detail, after_at, after_key, began_at, ended_at, call)
values (?, ?, ?, ?, ?, ?, ?, ?)
"""
_COLUMNS = "stream, cause, detail, after_at, before_at, after_key, before_key, began_at, ended_at, missing, call"
_COPY = f"insert into gaps ({_COLUMNS}) select {_COLUMNS} from gaps where gap = ? returning gap"
_END = """
update gaps set before_at = coalesce(before_at, ?), before_key = coalesce(before_key, ?)
where stream = ? and before_at is null and cause <> 'undelivered'
"""
_UNDELIVERED = """
insert into gaps (stream, cause, detail, after_at, began_at, ended_at, missing, call) values (?, 'undelivered', ?, ?, ?, ?, ?, ?)
"""
_MORE_UNDELIVERED = """
update gaps set missing = case when missing < ? then ? else missing end, ended_at = ?
where stream = ? and began_at >= ? and call = ? and cause = 'undelivered'
"""


class Cause(StrEnum):
    START = "start"
    """Nobody listened: the crawl was not running, or its worker died."""
    CUT = "cut"
    SILENCE = "silence"
    PAUSE = "pause"
    """The user paused the crawl."""
    OUTAGE = "outage"
    """The service could not be reached, or refused, between two connections."""
    RETUNE = "retune"
    """It was to hear something else, and the service ended the old connection when the new one was opened."""
    OUTDATED = "outdated"
    """The cursor lay before what the service still had."""


class Gap(Struct, frozen=True, kw_only=True):
    """What lies between the last event heard and the first one of a new connection."""

    cause: Cause
    detail: str = ""
    after_at: datetime | None
    after_key: str | None
    began_at: datetime
    ended_at: datetime


_SKEW = timedelta(minutes=1)
"""How far the service's clock and ours may be apart, where a gap is told by our own."""


class Seam(Struct, frozen=True):
    """Where a connection joins what was heard before it."""

    is_open: bool = True
    """No event has told yet where gaps before it end."""
    has_gap: bool = False
    """It is known that something is missing there."""


class WaitingGap(Struct, frozen=True):
    gap: int
    after_key: str


def missed(position: Position, channel: Channel, cause: Cause, now: datetime) -> Gap | None:
    """The gap that a connection opened now leaves behind it; None when it goes on where the last one ended. Pure."""
    if position.heard_at is None:
        return None
    if resumes(position, channel):
        if channel.reach is None or now - _complete_until(position, position.heard_at, channel.reach) <= channel.reach:
            return None
        return gap_after(position, Cause.OUTDATED, f"further behind than the {channel.reach} that can be replayed", now)
    gap = gap_after(position, cause, "", now)
    if gap.after_key is None and channel.key_time is not None:
        gap = structs.replace(gap, after_key=channel.key_time.key_at(gap.began_at - channel.disorder - _SKEW))
    # What happened shortly before the newest event heard may not have come yet.
    return gap if gap.after_at is None else structs.replace(gap, after_at=gap.after_at - channel.disorder)


def _complete_until(position: Position, heard_at: datetime, reach: timedelta) -> datetime:
    """Up to when nothing is missing of a stream with a cursor, or else lies in a recorded gap.

    Up to the last sign of life, if the last connection had come to its own time; if it was still replaying, only as far as its
    cursor, or as the replay can have begun. A stream on which nothing happened for longer than that may have an empty gap.
    """
    event, connected = position.event_at, position.connected_at
    if event is None or connected is None or event >= connected:
        return heard_at
    return max(event, connected - reach)


def resumes(position: Position, channel: Channel) -> bool:
    return channel.has_cursor and position.cursor is not None


def gap_after(position: Position, cause: Cause, detail: str, now: datetime) -> Gap:
    return Gap(
        cause=cause,
        detail=detail,
        after_at=position.event_at,
        after_key=position.head,
        began_at=position.heard_at or now,
        ended_at=now,
    )


async def add_gap(tx: Transaction, stream: int, gap: Gap, call: int) -> None:
    after_at = None if gap.after_at is None else to_micros(gap.after_at)
    await tx.execute(
        _ADD,
        *(stream, str(gap.cause), gap.detail[:500] or None, after_at, gap.after_key),
        *(to_micros(gap.began_at), to_micros(gap.ended_at), call),
    )


async def end_gaps(tx: Transaction, stream: int, before_at: datetime | None, before_key: str | None) -> None:
    """Says where gaps end, as soon as an event tells: also those whose own connection ended before it said anything."""
    await tx.execute(_END, None if before_at is None else to_micros(before_at), before_key, stream)


async def note_undelivered(tx: Transaction, position: Position, call: int, detail: str, missing: int, now: datetime) -> None:
    """One row for each connection, with the largest number that the service has told."""
    since, at = to_micros(position.connected_at or now), to_micros(now)
    if await tx.execute(_MORE_UNDELIVERED, missing, missing, at, position.stream, since, call):
        return
    after_at = None if position.event_at is None else to_micros(position.event_at)
    await tx.execute(_UNDELIVERED, position.stream, detail[:500] or None, after_at, since, at, missing, call)


async def waiting_gaps(tx: Transaction, stream: int) -> list[WaitingGap]:
    """Gaps that no task has been asked to fill yet, the oldest first."""
    rows = await tx.fetch(
        "select gap, after_key from gaps where stream = ? and lane is null and after_key is not null order by began_at, gap",
        stream,
    )
    return [WaitingGap(row["gap"], row["after_key"]) for row in rows]


async def split_gaps(tx: Transaction, gaps: Sequence[WaitingGap], parts: int) -> list[list[WaitingGap]]:
    """The same gaps so many times over, to be filled part by part."""
    copies = [[WaitingGap(await _copied(tx, each.gap), each.after_key) for each in gaps] for _ in range(parts - 1)]
    return [list(gaps), *copies]


async def _copied(tx: Transaction, gap: int) -> int:
    row = await tx.fetch_one(_COPY, gap)
    if row is None:
        raise LookupError(f"gap {gap} is gone from the database")
    number: int = row["gap"]
    return number


async def give_to_task(tx: Transaction, gaps: Sequence[WaitingGap], lane: int, target: str, now: datetime) -> None:
    await tx.execute_many(
        "update gaps set lane = ?, target = ?, asked_at = ? where gap = ?",
        [(lane, target, to_micros(now), each.gap) for each in gaps],
    )


async def has_listed(tx: Transaction, lane: int, target: str) -> bool:
    """Whether the task has read a list to its end and knows where to go on."""
    row = await tx.fetch_one("select newest from tasks where lane = ? and target = ?", lane, target)
    return row is not None and row["newest"] is not None


async def is_listing(tx: Transaction, database: Database, lane: int, target: str) -> bool:
    """Whether the task is amid a listing, which may have begun before the gap ended. Nobody leases it until the end of `tx`."""
    lock = " for update" if database.dialect == "postgresql" else ""
    row = await tx.fetch_one(f"select token, cursor from tasks where lane = ? and target = ?{lock}", lane, target)
    return row is not None and (row["token"] is not None or row["cursor"] is not None)
