"""The last calls with their outcome, page by page: by facet, outcome, worker or target."""

from __future__ import annotations

from datetime import datetime, timedelta

from msgspec import Struct

from bowerbird.clock import from_micros
from bowerbird.model import CallState, Outcome
from bowerbird.ports import Row, Transaction
from bowerbird.reports.working.newest import Log, Wanted, read_newest

LOOKED_AT = 20_000
"""So many calls are looked at for those that fit: what is asked for seldom must not cost a reading of the whole log."""
_CALLS = """
select k.call, w.name as crawl, s.name as service, k.facet, k.credential, k.worker, k.state, k.objects, k.targets, k.leased_at,
    k.settled_at, k.status, k.outcome, k.results, k.new_items, k.bytes, k.call_micros, k.detail
from (select * from calls where call < ? and call >= ? {which} order by call desc limit ?) k
left join lanes l on l.lane = k.lane left join services s on s.service = l.service left join crawls w on w.crawl = k.crawl
order by k.call desc
"""
_LOG = Log(number="call", top="select max(call) as top from calls", rows=_CALLS, looked_at=LOOKED_AT)


class CallFilter(Struct, frozen=True, kw_only=True):
    """Which calls are wanted; whatever is empty is not asked for."""

    crawl: int | None = None
    facet: str = ""
    outcome: str = ""
    """`failed` for all but good answers, `flying` for those under way."""
    worker: int | None = None
    target: str = ""
    """A part of what was asked about, in whatever case."""


class CallLine(Struct, frozen=True, kw_only=True):
    """One call, as the log has it."""

    call: int
    crawl: str
    service: str
    facet: str
    credential: str | None
    worker: int
    state: CallState
    objects: int
    targets: str
    leased_at: datetime
    settled_at: datetime | None
    status: int | None
    outcome: str
    """`flying` while it is under way, `lost` where its worker died with it."""
    results: int | None
    new_items: int | None
    bytes: int | None
    took: timedelta | None
    """From the request to the last byte of the answer."""
    detail: str


class CallPage(Struct, frozen=True):
    """Some calls, newest first, and where the next ones begin."""

    lines: tuple[CallLine, ...]
    before: int | None
    """The next page has calls before this one; None: there is none."""
    is_cut: bool = False
    """Older ones were not looked at."""


async def read_calls(tx: Transaction, wanted: CallFilter, before: int | None = None, most: int = 50) -> CallPage:
    """The newest calls that fit, before a number; at most `LOOKED_AT` are looked at."""
    which, values = _which(wanted)
    found = await read_newest(tx, _LOG, Wanted(which=which, values=values, before=before, most=most))
    return CallPage(tuple(_line(row) for row in found.rows), found.before, found.is_cut)


def _which(wanted: CallFilter) -> tuple[str, list[object]]:
    parts: list[tuple[str, object]] = []
    if wanted.crawl is not None:
        parts.append(("and crawl = ?", wanted.crawl))
    if wanted.facet:
        parts.append(("and facet = ?", wanted.facet))
    if wanted.worker is not None:
        parts.append(("and worker = ?", wanted.worker))
    if wanted.target:
        parts.append(("and lower(targets) like ? escape '!'", like(wanted.target)))
    if wanted.outcome == "failed":
        parts.append(("and coalesce(outcome, state) <> ?", Outcome.OK))
        parts.append(("and state <> ?", CallState.FLYING))
    elif wanted.outcome:
        parts.append(("and coalesce(outcome, state) = ?", wanted.outcome))
    return " ".join(each[0] for each in parts), [each[1] for each in parts]


def like(text: str) -> str:
    """A pattern for what contains this text, whatever signs are in it; `!` is its escape."""
    for sign in "!%_":
        text = text.replace(sign, "!" + sign)
    return f"%{text.lower()}%"


def _line(row: Row) -> CallLine:
    return CallLine(
        call=row["call"],
        crawl=row["crawl"] or "",
        service=row["service"] or "",
        facet=row["facet"],
        credential=row["credential"],
        worker=row["worker"],
        state=CallState(row["state"]),
        objects=row["objects"],
        targets=row["targets"],
        leased_at=from_micros(row["leased_at"]),
        settled_at=None if row["settled_at"] is None else from_micros(row["settled_at"]),
        status=row["status"],
        outcome=row["outcome"] or row["state"],
        results=row["results"],
        new_items=row["new_items"],
        bytes=row["bytes"],
        took=None if row["call_micros"] is None else timedelta(microseconds=row["call_micros"]),
        detail=row["detail"] or "",
    )
