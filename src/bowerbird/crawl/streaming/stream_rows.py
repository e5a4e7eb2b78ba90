"""The rows of `streams`: who listens, how far it has come. Only the worker that took a stream last may write to it."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import msgspec
from msgspec import Struct

from bowerbird.clock import from_micros, to_micros
from bowerbird.errors import Fenced
from bowerbird.model import Subscription
from bowerbird.ports import Row, Transaction

HOLD = timedelta(minutes=2)
"""A worker that has not renewed its hold for so long has lost the stream to whoever comes."""

_POSITION = "stream, token, cursor, head, event_at, heard_at, connected_at"
# Another channel counts in another way: its cursor would mean nothing, or worse, something else.
_ENROL = """
insert into streams (crawl, service, name, channel, options, state) values (?, ?, ?, ?, ?, 'idle')
on conflict (crawl, service, name) do update set options = excluded.options, channel = excluded.channel,
    cursor = case when streams.channel = excluded.channel then streams.cursor end
returning stream
"""
_STEP = f"""
update streams set state = ?, reason = ?, held_until = ?, cursor = coalesce(?, cursor), head = coalesce(?, head),
    event_at = coalesce(?, event_at), heard_at = coalesce(?, heard_at), connected_at = coalesce(?, connected_at),
    connections = connections + ?, events = events + ?
where stream = ? and token = ? returning {_POSITION}
"""
_RELEASE = "update streams set state = 'idle', worker = null, held_until = null where stream = ? and token = ?"


class Position(Struct, frozen=True, kw_only=True):
    """How far a stream has come; `token` proves that it is ours."""

    stream: int
    token: int
    cursor: str | None = None
    head: str | None = None
    event_at: datetime | None = None
    heard_at: datetime | None = None
    """Everything the service said on a connection up to here is saved, or lies in a recorded gap; None: never connected."""
    connected_at: datetime | None = None


class Step(Struct, frozen=True, kw_only=True):
    """What changes in the row of a stream; what is None stays as it was."""

    state: str
    reason: str | None = None
    cursor: str | None = None
    head: str | None = None
    event_at: datetime | None = None
    heard_at: datetime | None = None
    connected_at: datetime | None = None
    connections: int = 0
    events: int = 0


async def enrol_stream(tx: Transaction, crawl: int, service: int, wanted: Subscription) -> int:
    """The row of a subscription by name, made when it is new and brought up to date when it goes on."""
    options = msgspec.json.encode(wanted.options).decode()
    row = await tx.fetch_one(_ENROL, crawl, service, wanted.name or wanted.channel, wanted.channel, options)
    if row is None:
        raise LookupError("the database gave no stream")
    number: int = row["stream"]
    return number


async def take(tx: Transaction, stream: int, worker: int, now: datetime) -> Position | datetime:
    """The stream, which is then ours; or when the hold of the worker that has it runs out.

    Who is taken for dead takes nothing: it could be taken away again at once.
    """
    row = await tx.fetch_one(
        "update streams set worker = ?, token = token + 1, held_until = ?, state = 'connecting', reason = null "
        "where stream = ? and (worker is null or worker = ? or held_until is null or held_until <= ? "
        "or worker not in (select worker from workers where ended_at is null)) "
        f"and exists (select 1 from workers where worker = ? and ended_at is null) returning {_POSITION}",
        *(worker, to_micros(now + HOLD), stream, worker, to_micros(now), worker),
    )
    if row is not None:
        return _position(row)
    held = await tx.fetch_one("select held_until from streams where stream = ?", stream)
    if held is None:
        raise LookupError(f"stream {stream} is gone from the database")
    return _time(held["held_until"]) or now


async def advance(tx: Transaction, position: Position, step: Step, now: datetime) -> Position:
    """Writes a step and renews the hold; raises `Fenced` when the stream is no longer ours."""
    row = await tx.fetch_one(
        _STEP,
        *(step.state, step.reason and step.reason[:500], to_micros(now + HOLD), step.cursor, step.head),
        *(_micros(step.event_at), _micros(step.heard_at), _micros(step.connected_at), step.connections, step.events),
        *(position.stream, position.token),
    )
    if row is None:
        raise Fenced(f"stream {position.stream} was taken over by another worker; what was heard since is dropped")
    return _position(row)


async def release(tx: Transaction, position: Position) -> None:
    """Lets others take the stream at once: the last act of an orderly stop."""
    await tx.execute(_RELEASE, position.stream, position.token)


def _position(row: Row) -> Position:
    times = {name: _time(row[name]) for name in ("event_at", "heard_at", "connected_at")}
    return Position(stream=row["stream"], token=row["token"], cursor=row["cursor"], head=row["head"], **times)


def _time(micros: Any) -> datetime | None:
    return None if micros is None else from_micros(micros)


def _micros(when: datetime | None) -> int | None:
    return None if when is None else to_micros(when)
