"""The ledger by stream: events saved, and the gaps that nothing filled."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from msgspec import Struct

from bowerbird.clock import from_micros
from bowerbird.model import StreamState
from bowerbird.ports import Row, Transaction
from bowerbird.reports.completeness.entries import Cause, Entry, Missing, summed
from bowerbird.reports.completeness.rates import Rate, missed
from bowerbird.reports.status.streams import gap_words

_STREAMS = """
select s.stream, c.name as crawl, v.name as service, s.name, s.channel, s.events, s.heard_at, s.state, s.connected_at,
    coalesce((select min(k.sent_at) from calls k join lanes l on l.lane = k.lane
        where l.crawl = s.crawl and l.service = s.service and l.facet = 'stream ' || s.name and k.results is not null),
        s.connected_at) as since,
    coalesce((select max(w.seen_at) from workers w where w.name = c.name), c.updated_at) as as_of
from streams s join crawls c on c.crawl = s.crawl join services v on v.service = s.service order by s.stream
"""
# A listing that ended after the task was woken for the gap also began after it: it has seen all that was missed.
_GAPS = """
select g.stream, g.cause, g.detail, coalesce(g.after_at, g.began_at) as after_at, coalesce(g.before_at, g.ended_at) as before_at,
    g.began_at, g.ended_at, g.missing
from gaps g left join tasks t on t.lane = g.lane and t.target = g.target
where t.visited_at is null or g.asked_at is null or t.visited_at < g.asked_at order by g.gap
"""
_CAUSES = {
    "start": Cause.OUTAGE,
    "cut": Cause.OUTAGE,
    "silence": Cause.OUTAGE,
    "pause": Cause.OUTAGE,
    "retune": Cause.REACH,
    "outage": Cause.OUTAGE,
    "outdated": Cause.REACH,
    "undelivered": Cause.REACH,
}


class _Gap(Struct, frozen=True, kw_only=True):
    cause: Cause
    why: str
    after: datetime
    before: datetime
    away: timedelta
    """How long we did not hear, by our own time."""
    missing: int | None


async def stream_entries(tx: Transaction, crawl: str | None = None) -> list[Entry]:
    """One entry per stream, of one crawl or of all."""
    gaps: dict[int, list[_Gap]] = {}
    for row in await tx.fetch(_GAPS):
        gaps.setdefault(row["stream"], []).append(_gap(row))
    return [_entry(row, gaps.get(row["stream"], [])) for row in await tx.fetch(_STREAMS) if crawl in (None, row["crawl"])]


def _gap(row: Row) -> _Gap:
    cause, words = _CAUSES.get(row["cause"], Cause.UNKNOWN), gap_words(row["cause"])
    before = row["before_at"] if row["before_at"] is not None else row["began_at"]
    away = (row["ended_at"] if row["ended_at"] is not None else row["began_at"]) - row["began_at"]
    return _Gap(
        cause=cause,
        why=f"{words} ({row['detail']})" if row["detail"] else words,
        after=from_micros(row["after_at"]),
        before=from_micros(max(before, row["after_at"])),
        away=timedelta(microseconds=away),
        missing=row["missing"],
    )


def _entry(row: Row, gaps: Sequence[_Gap]) -> Entry:
    rate = _rate(row, gaps)
    parts = [_missing(rate, gap) for gap in gaps] + _unheard(row, rate)
    low, likely, high = summed(parts)
    return Entry(
        subject=f"{row['service']}/{row['name']}",
        crawl=row["crawl"],
        service=row["service"],
        facet=row["channel"],
        items="events",
        captured=row["events"],
        low=low,
        likely=likely,
        high=high,
        missing=tuple(parts),
        certainty="gaps that nothing filled, at the rate of the time that was heard" if parts else "no gap is open",
    )


def _rate(row: Row, gaps: Sequence[_Gap]) -> Rate:
    if row["heard_at"] is None or row["since"] is None:
        return Rate(0, timedelta(0))
    away = sum((gap.away for gap in gaps if gap.missing is None), timedelta(0))
    heard = timedelta(microseconds=row["heard_at"] - row["since"]) - away
    return Rate(row["events"], max(heard, timedelta(0)))


def _missing(rate: Rate, gap: _Gap) -> Missing:
    if gap.missing is not None:
        return Missing(
            cause=gap.cause,
            low=gap.missing,
            likely=gap.missing,
            high=gap.missing,
            why=gap.why,
            after=gap.after,
            before=gap.before,
        )
    return missed(rate, gap.cause, gap.why, gap.after, gap.before)


def _unheard(row: Row, rate: Rate) -> list[Missing]:
    """A connection that is down now: what it misses becomes a gap when it is up again."""
    if row["state"] in (StreamState.LIVE, StreamState.IDLE) or row["heard_at"] is None or row["as_of"] <= row["heard_at"]:
        return []
    after, before = from_micros(row["heard_at"]), from_micros(row["as_of"])
    return [missed(rate, Cause.OUTAGE, "not connected at the moment; may yet be filled", after, before)]
