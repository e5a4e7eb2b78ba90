"""How streams stand and which gaps they have, for those who only read."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from msgspec import Struct

from bowerbird.clock import from_micros
from bowerbird.model import StreamState
from bowerbird.ports import Row, Transaction

# A listing that ended after the task was woken for the gap also began after it: it has seen all that was missed.
_IS_FILLED = "case when t.visited_at >= g.asked_at then 1 else 0 end"
_STREAMS = f"""
select s.stream, c.name as crawl, v.name as service, s.name, s.channel, s.state, s.reason, s.connections, s.events, s.event_at,
    s.heard_at, s.connected_at,
    (select count(*) from gaps g where g.stream = s.stream) as gaps,
    (select count(*) from gaps g left join tasks t on t.lane = g.lane and t.target = g.target
        where g.stream = s.stream and {_IS_FILLED} = 0) as open_gaps
from streams s join crawls c on c.crawl = s.crawl join services v on v.service = s.service order by s.stream
"""
_GAPS = f"""
select g.gap, g.stream, s.name, g.cause, g.detail, g.after_at, g.before_at, g.began_at, g.ended_at, g.missing, g.asked_at,
    {_IS_FILLED} as is_filled,
    case when g.after_key is not null and exists (select 1 from gaps o where o.stream = g.stream and o.lane is not null)
        then 1 else 0 end as can_be_filled
from gaps g join streams s on s.stream = g.stream left join tasks t on t.lane = g.lane and t.target = g.target
order by g.gap desc limit ?
"""
_GAP_WORDS = {
    "start": "nobody listened: the crawl was not running",
    "cut": "the connection broke",
    "silence": "the connection was dead without a word",
    "pause": "the crawl was paused",
    "retune": "it was to hear something else, and the service ended the old connection at once",
    "outage": "the service could not be reached",
    "outdated": "away for longer than the service can replay",
    "undelivered": "the service says that it held messages back",
}


def gap_words(cause: str) -> str:
    """Why a stream has a gap, in words."""
    return _GAP_WORDS.get(cause, cause)


class StreamReport(Struct, frozen=True, kw_only=True):
    """One stream as it is now."""

    stream: int
    crawl: str
    service: str
    name: str
    channel: str
    state: StreamState
    reason: str | None
    connections: int
    events: int
    event_at: datetime | None
    heard_at: datetime | None
    connected_at: datetime | None
    gaps: int
    open_gaps: int
    """Gaps that nothing has filled, or not yet."""

    @property
    def live_since(self) -> datetime | None:
        return self.connected_at if self.state == StreamState.LIVE else None

    @property
    def lag(self) -> timedelta | None:
        """How old the newest event was when we last heard anything: on a busy network, how far behind we are."""
        if self.event_at is None or self.heard_at is None:
            return None
        return max(self.heard_at - self.event_at, timedelta(0))


class GapReport(Struct, frozen=True, kw_only=True):
    """One gap: between which events it lies (the network's time), when we did not hear (ours), and what became of it."""

    gap: int
    stream: int
    name: str
    cause: str
    detail: str | None
    after_at: datetime | None
    before_at: datetime | None
    began_at: datetime
    ended_at: datetime | None
    missing: int | None
    asked_at: datetime | None
    """When a task was woken to fill it; None: not yet, or nothing can."""
    is_filled: bool
    can_be_filled: bool
    """The network lists what it missed; a listing under way may have to end first."""


async def read_streams(tx: Transaction) -> tuple[StreamReport, ...]:
    return tuple(_stream(row) for row in await tx.fetch(_STREAMS))


async def read_gaps(tx: Transaction, most: int = 100) -> tuple[GapReport, ...]:
    """The newest gaps of all streams, the newest first."""
    return tuple(_gap(row) for row in await tx.fetch(_GAPS, most))


def _stream(row: Row) -> StreamReport:
    values = {name: _read(name, row[name]) for name in StreamReport.__struct_fields__}
    return StreamReport(**values | {"state": StreamState(row["state"])})


def _gap(row: Row) -> GapReport:
    values = {name: _read(name, row[name]) for name in GapReport.__struct_fields__}
    return GapReport(**values | {name: bool(row[name]) for name in ("is_filled", "can_be_filled")})


def _read(name: str, value: Any) -> Any:
    return from_micros(value) if name.endswith("_at") and value is not None else value
