"""What went wrong: by kind, by time and by worker, and each error with its words, searched and page by page."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from datetime import datetime

from msgspec import Struct

from bowerbird.clock import from_micros
from bowerbird.ports import Row, Transaction
from bowerbird.reports.working.calls import like
from bowerbird.reports.working.newest import Log, Wanted, read_newest

LOOKED_AT = 20_000
"""So many of the newest errors are looked at."""
_HOUR = 3_600_000_000
_ERRORS = """
select e.error, e.at, w.name as crawl, e.part, e.outcome, e.call, e.message, k.worker
from (select * from errors where error < ? and error >= ? {which} order by error desc limit ?) e
left join crawls w on w.crawl = e.crawl left join calls k on k.call = e.call order by e.error desc
"""
_SUMS = f"""
select e.at / {_HOUR} as hour, e.part, e.outcome, k.worker, count(*) as errors
from (select * from errors order by error desc limit ?) e left join calls k on k.call = e.call group by 1, 2, 3, 4
"""
_LOG = Log(number="error", top="select max(error) as top from errors", rows=_ERRORS, looked_at=LOOKED_AT)


class ErrorFilter(Struct, frozen=True, kw_only=True):
    """Which errors are wanted; whatever is empty is not asked for."""

    words: str = ""
    """A part of the message, in whatever case."""
    kind: str = ""
    part: str = ""
    worker: int | None = None
    crawl: int | None = None


class ErrorLine(Struct, frozen=True, kw_only=True):
    """One error."""

    error: int
    at: datetime
    crawl: str
    part: str
    kind: str
    call: int | None
    worker: int | None
    message: str


class ErrorPage(Struct, frozen=True):
    """Some errors, newest first, and where the next ones begin."""

    lines: tuple[ErrorLine, ...]
    before: int | None
    is_cut: bool = False
    """Older ones were not looked at."""


class ErrorSums(Struct, frozen=True, kw_only=True):
    """The newest errors, counted."""

    count: int
    kinds: Mapping[str, int]
    parts: Mapping[str, int]
    workers: Mapping[int, int]
    hours: Mapping[datetime, Mapping[str, int]]
    """By hour and kind."""
    is_cut: bool
    """There are older ones."""


async def read_errors(tx: Transaction, wanted: ErrorFilter, before: int | None = None, most: int = 50) -> ErrorPage:
    """The newest errors that fit, before a number; at most `LOOKED_AT` are looked at."""
    which, values = _which(wanted)
    found = await read_newest(tx, _LOG, Wanted(which=which, values=values, before=before, most=most))
    return ErrorPage(tuple(_line(row) for row in found.rows), found.before, found.is_cut)


def _which(wanted: ErrorFilter) -> tuple[str, list[object]]:
    parts: list[tuple[str, object]] = []
    if wanted.words:
        parts.append(("and lower(message) like ? escape '!'", like(wanted.words)))
    if wanted.kind:
        parts.append(("and coalesce(outcome, 'other') = ?", wanted.kind))
    if wanted.part:
        parts.append(("and part = ?", wanted.part))
    if wanted.worker is not None:
        parts.append(("and call in (select call from calls where calls.call = errors.call and worker = ?)", wanted.worker))
    if wanted.crawl is not None:
        parts.append(("and crawl = ?", wanted.crawl))
    return " ".join(each[0] for each in parts), [each[1] for each in parts]


async def read_error_sums(tx: Transaction, most: int = 2_000) -> ErrorSums:
    """Of so many of the newest."""
    kinds, parts, workers = Counter[str](), Counter[str](), Counter[int]()
    hours: defaultdict[datetime, Counter[str]] = defaultdict(Counter)
    for row in await tx.fetch(_SUMS, most):
        kind, count = row["outcome"] or "other", int(row["errors"])
        kinds[kind] += count
        parts[row["part"]] += count
        hours[from_micros(int(row["hour"]) * _HOUR)][kind] += count
        if row["worker"] is not None:
            workers[row["worker"]] += count
    count = kinds.total()
    ordered = {hour: dict(hours[hour]) for hour in sorted(hours)}
    return ErrorSums(
        count=count,
        kinds=dict(kinds.most_common()),
        parts=dict(parts.most_common()),
        workers=dict(workers.most_common()),
        hours=ordered,
        is_cut=count >= most,
    )


def _line(row: Row) -> ErrorLine:
    return ErrorLine(
        error=row["error"],
        at=from_micros(row["at"]),
        crawl=row["crawl"] or "",
        part=row["part"],
        kind=row["outcome"] or "other",
        call=row["call"],
        worker=row["worker"],
        message=row["message"],
    )
