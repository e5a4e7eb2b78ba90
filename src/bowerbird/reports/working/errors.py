"""What went wrong: by kind, by time and by worker, and each error with its words, searched and page by page."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
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
select e.at / {_HOUR} as hour, e.part, coalesce(e.outcome, 'other') as kind, k.worker, w.host, count(*) as errors,
    max(e.at) as last
from (select * from errors order by error desc limit ?) e left join calls k on k.call = e.call
left join workers w on w.worker = k.worker group by 1, 2, 3, 4, 5
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


class ErrorGroup(Struct, frozen=True):
    """Errors that have something in common."""

    count: int
    last: datetime


class ErrorSums(Struct, frozen=True, kw_only=True):
    """The newest errors, counted."""

    count: int
    kinds: Mapping[str, ErrorGroup]
    parts: Mapping[str, int]
    workers: Mapping[int, int]
    machines: Mapping[str, ErrorGroup]
    """By host of the worker whose call it was."""
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
    rows = await tx.fetch(_SUMS, most)
    parts, workers = Counter[str](), Counter[int]()
    hours: defaultdict[datetime, Counter[str]] = defaultdict(Counter)
    for row in rows:
        count = int(row["errors"])
        parts[row["part"]] += count
        hours[from_micros(int(row["hour"]) * _HOUR)][row["kind"]] += count
        if row["worker"] is not None:
            workers[row["worker"]] += count
    count = parts.total()
    ordered = {hour: dict(hours[hour]) for hour in sorted(hours)}
    return ErrorSums(
        count=count,
        kinds=_grouped(rows, "kind"),
        parts=dict(parts.most_common()),
        workers=dict(workers.most_common()),
        machines=_grouped(rows, "host"),
        hours=ordered,
        is_cut=count >= most,
    )


def _grouped(rows: Sequence[Row], column: str) -> dict[str, ErrorGroup]:
    """The most frequent first."""
    found: dict[str, ErrorGroup] = {}
    for row in rows:
        if (name := row[column]) is not None:
            last = from_micros(row["last"])
            before = found.get(name, ErrorGroup(0, last))
            found[name] = ErrorGroup(before.count + int(row["errors"]), max(before.last, last))
    return dict(sorted(found.items(), key=lambda each: (-each[1].count, each[0])))


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
