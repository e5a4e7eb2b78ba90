"""The rows of `streams`: how far each has come. Only the worker that has the claim to a stream writes to it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from functools import partial
from typing import Any

import msgspec
from msgspec import Struct

from bowerbird.clock import from_micros, to_micros
from bowerbird.crawl.streaming.stream import Stream
from bowerbird.model import Claim, Heard, KeyTime, StreamState, Subscription
from bowerbird.ports import Claims, Row, Transaction

HOLD = timedelta(minutes=2)
"""A worker that has not renewed its claim for so long has lost the stream to whoever comes."""

_SKEW = timedelta(days=1)
"""How far our own clock may be wrong."""

_POSITION = "stream, tuned, cursor, head, event_at, heard_at, connected_at, busiest"
# Another channel counts in another way: its cursor would mean nothing, or worse, something else.
_ENROL = f"""
insert into streams (crawl, service, name, channel, options, state) values (?, ?, ?, ?, ?, '{StreamState.IDLE}')
on conflict (crawl, service, name) do update set options = excluded.options, channel = excluded.channel,
    cursor = case when streams.channel = excluded.channel then streams.cursor end,
    tuned = case when streams.channel = excluded.channel and streams.options = excluded.options then streams.tuned end
returning stream
"""
_STEP = f"""
update streams set state = ?, reason = ?, cursor = coalesce(?, cursor), head = coalesce(?, head),
    event_at = coalesce(?, event_at), heard_at = coalesce(?, heard_at), connected_at = coalesce(?, connected_at),
    connections = connections + ?, events = events + ?, busiest = coalesce(?, busiest)
where stream = ? returning {_POSITION}
"""
_TAKE = f"update streams set state = '{StreamState.CONNECTING}', reason = null where stream = ? returning {_POSITION}"
_RELEASE = f"update streams set state = '{StreamState.IDLE}' where stream = ?"


class Position(Struct, frozen=True, kw_only=True):
    """How far a stream has come; `claim` proves that it is ours."""

    stream: int
    claim: Claim
    tuned: str | None = None
    """The options it is to hear by, where these are not those of its crawl file."""
    cursor: str | None = None
    head: str | None = None
    event_at: datetime | None = None
    heard_at: datetime | None = None
    """Everything the service said on a connection up to here is saved, or lies in a recorded gap; None: never connected."""
    connected_at: datetime | None = None
    busiest: int = 0
    """How much came within one second, not long ago."""


class Step(Struct, frozen=True, kw_only=True):
    """What changes in the row of a stream; what is None stays as it was."""

    state: StreamState
    reason: str | None = None
    cursor: str | None = None
    head: str | None = None
    event_at: datetime | None = None
    heard_at: datetime | None = None
    connected_at: datetime | None = None
    connections: int = 0
    events: int = 0
    busiest: int | None = None


def step_over(stream: Stream, before: Position, heard: Sequence[Heard], received_at: datetime) -> Step:
    """The step that a batch of messages makes."""
    times = [each.newest_at for each in heard if each.newest_at is not None]
    # What is said to have happened after it was received did not: it would stand for everything that is still to come.
    times = [at for at in times if at <= received_at + _SKEW]
    newest = max((*times, before.event_at) if before.event_at else times, default=None)
    is_ahead = partial(_is_ahead, stream.channel.key_time, received_at)
    return Step(
        state=StreamState.LIVE,
        cursor=stream.kept_cursor(_last([each.cursor for each in heard])),
        head=_last([each.head for each in heard if not is_ahead(each.head)]),
        event_at=newest,
        heard_at=received_at,
        events=sum(each.events for each in heard),
        busiest=stream.pace.busiest,
    )


def _is_ahead(key_time: KeyTime | None, now: datetime, key: str | None) -> bool:
    """Whether a post's key tells a time that has not come: a gap filled from there would stay empty."""
    return key is not None and key_time is not None and key_time.is_ahead(key, now + _SKEW)


def _last(values: Sequence[str | None]) -> str | None:
    return next((value for value in reversed(values) if value is not None), None)


async def enrol_stream(tx: Transaction, crawl: int, service: int, wanted: Subscription) -> int:
    """The row of a subscription by name, made when it is new and brought up to date when it goes on."""
    options = msgspec.json.encode(wanted.options).decode()
    row = await tx.fetch_one(_ENROL, crawl, service, wanted.name or wanted.channel, wanted.channel, options)
    if row is None:
        raise LookupError("the database gave no stream")
    number: int = row["stream"]
    return number


async def take(tx: Transaction, claims: Claims, stream: int, now: datetime) -> Position | datetime:
    """The stream, which is then ours; or when the claim of the worker that has it runs out."""
    claim = await claims.take(tx, f"stream {stream}", now + HOLD, now)
    return claim if isinstance(claim, datetime) else _position(await tx.fetch_one(_TAKE, stream), stream, claim)


async def advance(tx: Transaction, claims: Claims, position: Position, step: Step, now: datetime) -> Position:
    """Writes a step and renews the claim; raises `Fenced` when the stream is no longer ours."""
    claim = await claims.renew(tx, position.claim, now + HOLD)
    row = await tx.fetch_one(
        _STEP,
        *(step.state, step.reason and step.reason[:500], step.cursor, step.head),
        *(_micros(step.event_at), _micros(step.heard_at), _micros(step.connected_at)),
        *(step.connections, step.events, step.busiest),
        position.stream,
    )
    return _position(row, position.stream, claim)


async def release(tx: Transaction, claims: Claims, position: Position) -> None:
    """Lets others take the stream at once: the last act of an orderly stop."""
    if await claims.release(tx, position.claim):
        await tx.execute(_RELEASE, position.stream)


def _position(row: Row | None, stream: int, claim: Claim) -> Position:
    if row is None:
        raise LookupError(f"stream {stream} is gone from the database")
    times = {name: _time(row[name]) for name in ("event_at", "heard_at", "connected_at")}
    return Position(
        stream=stream, claim=claim, tuned=row["tuned"], cursor=row["cursor"], head=row["head"], busiest=row["busiest"], **times
    )


def _time(micros: Any) -> datetime | None:
    return None if micros is None else from_micros(micros)


def _micros(when: datetime | None) -> int | None:
    return None if when is None else to_micros(when)
