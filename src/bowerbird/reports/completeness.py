"""Completeness: what was captured, what is known to be missing, and why.

The report has five views: by account, by query, by stream, by list of ids, and by day. Three sources are compared:

- counters of the services: the posts and followers of an account, the matches of a query;
- what the store holds;
- times and items that were not covered: tasks that wait, listings that a service cut, gaps of streams, outages.

`read_entries` yields every line of a view, `read_completeness` the sums and the lines with the most missing items. Both use
the same rules; those of accounts are in `completeness_accounts.py`.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from datetime import datetime, timedelta
from heapq import nlargest
from typing import Any

from msgspec import Struct, field, structs

from bowerbird.clock import from_micros
from bowerbird.model import StreamState, Subject, TaskState
from bowerbird.ports import Database, Transaction
from bowerbird.reports.columns import Column, Columns
from bowerbird.reports.completeness_accounts import read_users
from bowerbird.reports.completeness_entries import (
    BATCH,
    CAUSE_WORDS,
    OPTED_OUT,
    TASK_COLUMNS,
    Cause,
    Entry,
    Missing,
    Queue,
    Shortfall,
    TaskFacts,
    Total,
    add_up,
    estimate,
    exactly,
    part_of,
    queues_of,
    read_queues,
    read_shortfalls,
    read_task,
    unbounded,
)
from bowerbird.reports.status.streams import gap_words
from bowerbird.store.people.names import has_local_keys, id_for
from bowerbird.store.posts.counting import DAY
from bowerbird.store.posts.counting import UNDATED as UNDATED_DAY

VIEWS = ("user", "query", "stream", "id", "day")
UNDATED = "undated"
LONGEST_SPAN = timedelta(days=31)
"""Missing items that lie somewhere in a longer span are not assigned to single days."""


class View(Struct):
    """The sums of one view by kind of item, and its lines: those with the most missing items, or all days."""

    totals: dict[str, Total] = field(default_factory=lambda: defaultdict(Total))
    lines: list[Entry] = []


class PostSums(Struct, frozen=True):
    """Counts of stored posts, of one day or of all."""

    stored: int = 0
    deleted: int = 0
    opted_out: int = 0
    undated: int = 0

    @property
    def captured(self) -> int:
        return self.stored - self.deleted - self.opted_out


async def read_completeness(
    database: Database,
    views: Collection[str] = VIEWS,
    crawl: str | None = None,
    top: int = 0,
    on_entry: Callable[[Entry], None] | None = None,
) -> dict[str, View]:
    """Return the sums of each view and its `top` entries with the most missing items; of the view by day all entries.

    `on_entry` is called with every entry, for example to write it to a file.
    """
    report = {view: View() for view in views}
    number = 0
    async for name, entry in read_entries(database, views, crawl):
        view = report[name]
        if on_entry is not None:
            on_entry(entry)
        view.totals[entry.items].add(entry)
        if name == "day" or top:
            view.lines.append(entry)
        if name != "day" and len(view.lines) > 2 * top + 100:
            view.lines = _most_missing(view.lines, top)
        number += 1
        if number % 100 == 0:
            await asyncio.sleep(0)  # the dashboard serves other pages in between
    for name, view in report.items():
        if name != "day":
            view.lines = _most_missing(view.lines, top)
    return report


def _most_missing(entries: list[Entry], top: int) -> list[Entry]:
    return nlargest(top, entries, key=lambda entry: (entry.likely, entry.high is None, entry.high or 0))


async def read_entries(
    database: Database, views: Collection[str] = VIEWS, crawl: str | None = None
) -> AsyncIterator[tuple[str, Entry]]:
    """Yield every entry of some views with the name of its view, of one crawl or of all. Days are last: they sum the others."""
    async with database.reading() as tx:
        queues = await read_queues(tx)
    days = Days(crawl)
    readers = {"user": read_users, "query": read_queries, "stream": read_streams, "id": read_ids}
    for view, reader in readers.items():
        is_for_days = "day" in views and view != "id"
        if view in views or is_for_days:
            async for entry in reader(database, queues, crawl):
                if is_for_days:
                    days.add(entry)
                if view in views:
                    yield view, entry
    if "day" in views:
        async with database.reading() as tx:
            entries = await days.entries(tx)
        for entry in entries:
            yield "day", entry


# ---------------------------------------------------------------------------------------------------------- queries


_LISTED = """
select c.targets as target, count(*) filter (where p.deleted_at is not null) as deleted,
    count(*) filter (where p.deleted_at is null and u.opts_out = 1) as opted_out,
    count(*) filter (where p.deleted_at is null and coalesce(u.opts_out, 0) = 0) as captured, count(*) as listed,
    min(p.created_at) as oldest
from (select post_no, min(call) as call from sightings where lane {} group by post_no) g
join calls c on c.call = g.call join posts p on p.post_no = g.post_no join users u on u.user_no = p.author group by c.targets
"""
_NOTHING_LISTED: Mapping[str, Any] = {"deleted": 0, "opted_out": 0, "captured": 0, "listed": 0, "oldest": None}


async def read_queries(database: Database, queues: Sequence[Queue], crawl: str | None) -> AsyncIterator[Entry]:
    """Yield one entry per search, hashtag or list that a queue requests. A post counts for the query that listed it first."""
    wanted = [each for each in queues_of(queues, crawl) if each.facet.subject is Subject.WORD and "posts" in each.facet.yields]
    seen: set[tuple[str, str, str]] = set()
    listed_sql = _LISTED.format(database.any("bigint"))
    tasks_sql = f"select {TASK_COLUMNS} from tasks t where t.lane = ? and t.target > ? order by t.target limit {BATCH}"
    for queue in wanted:
        kind = (queue.service_name, queue.facet.name)
        same = [each.lane for each in wanted if (each.service_name, each.facet.name) == kind]
        async with database.reading() as tx:
            listed = {row["target"]: row for row in await tx.fetch(listed_sql, database.members([queue.lane]))}
            shared = {row["target"]: row for row in await tx.fetch(listed_sql, database.members(same))}
            sql = "select query, sum(posts) as posts, max(at) as at from volumes where service = ? group by query"
            volumes = {row["query"]: (int(row["posts"]), row["at"]) for row in await tx.fetch(sql, queue.service)}
        after = ""
        while True:
            async with database.reading() as tx:
                tasks = [read_task(row) for row in await tx.fetch(tasks_sql, queue.lane, after)]
                shortfalls = await read_shortfalls(database, tx, queue, [task.target for task in tasks])
            if not tasks:
                break
            after = tasks[-1].target
            for task in tasks:
                key = (*kind, task.target)
                yield assess_query(
                    queue,
                    task,
                    listed=listed.get(task.target, _NOTHING_LISTED),
                    shared=shared.get(task.target, _NOTHING_LISTED),
                    volume=volumes.get(task.target),
                    shortfalls=shortfalls.get(task.target, ()),
                    is_repeated=key in seen,
                )
                seen.add(key)


def assess_query(
    queue: Queue,
    task: TaskFacts,
    *,
    listed: Mapping[str, Any],
    shared: Mapping[str, Any],
    volume: tuple[int, int] | None,
    shortfalls: Sequence[Shortfall],
    is_repeated: bool = False,
) -> Entry:
    """Estimate what a query missed.

    `listed` is what this queue brought and gives the rate; `shared` is what all queues of its kind brought; `volume` is the
    service's own count of matches, and its time.
    """
    last = task.visited_at or task.added_at
    first = min(last if listed["oldest"] is None else listed["oldest"], task.added_at)
    lost = sum(short.before - short.after for short in shortfalls if short.after and short.before)
    rate = (listed["listed"], last - first - lost)
    missing = []
    for short in shortfalls:
        if short.after is not None and short.before is not None:
            missing.append(estimate(*rate, short.cause, short.detail, short.after, short.before))
        else:
            missing.append(unbounded(short.cause, short.detail, short.after, short.before))
    if task.is_pending(queue.as_of):
        cause, why = task.why_waiting(queue)
        if task.visited_at is None:
            missing.append(unbounded(cause, why))
        else:
            missing.append(estimate(*rate, cause, why, task.visited_at, queue.as_of))
    certainty = "posts that this query listed; a post that two queries of a kind list counts for the first"
    if missing and volume is None:
        certainty += "; missing posts estimated from the rate at other times"
    missing += exactly(Cause.OPTED_OUT, shared["opted_out"], OPTED_OUT)
    low, likely, high = add_up(missing)
    if volume is not None:  # the service's count decides how many are missing, the causes only why
        likely = max(0, volume[0] - shared["captured"] - shared["deleted"])
        low, high = min(low, likely), None if high is None else max(high, likely)
        certainty += "; compared with the service's count of matches"
    return Entry(
        subject=task.target,
        crawl=queue.crawl,
        service=queue.service_name,
        facet=queue.facet.name,
        captured=shared["captured"],
        deleted=shared["deleted"],
        claimed=volume[0] if volume else None,
        claimed_at=from_micros(volume[1]) if volume else None,
        low=low,
        likely=likely,
        high=high,
        missing=tuple(missing),
        certainty=certainty,
        is_repeated=is_repeated,
    )


# ---------------------------------------------------------------------------------------------------------- streams


_STREAMS = """
select s.stream, c.name as crawl, v.name as service, s.name, s.channel, s.events, s.heard_at, s.state,
    coalesce((select min(k.sent_at) from calls k join lanes l on l.lane = k.lane
        where l.crawl = s.crawl and l.service = s.service and l.facet = 'stream ' || s.name and k.results is not null),
        s.connected_at) as since,
    coalesce((select max(w.seen_at) from workers w where w.name = c.name), c.updated_at) as as_of
from streams s join crawls c on c.crawl = s.crawl join services v on v.service = s.service order by s.stream
"""
# A listing that ended after its task was woken for the gap began after the gap, so it filled it.
_OPEN_GAPS = """
select g.stream, g.cause, g.detail, g.missing, coalesce(g.after_at, g.began_at) as after_at,
    coalesce(g.before_at, g.ended_at, g.began_at) as before_at, coalesce(g.ended_at, g.began_at) - g.began_at as lasted
from gaps g left join tasks t on t.lane = g.lane and t.target = g.target
where t.visited_at is null or g.asked_at is null or t.visited_at < g.asked_at order by g.gap
"""
_GAP_CAUSES = dict.fromkeys(("start", "cut", "silence", "pause", "outage"), Cause.OUTAGE) | dict.fromkeys(
    ("retune", "outdated", "undelivered"), Cause.REACH
)


async def read_streams(database: Database, queues: Sequence[Queue], crawl: str | None) -> AsyncIterator[Entry]:
    """Yield one entry per stream: its events, and the gaps that were not filled."""
    gaps = defaultdict(list)
    async with database.reading() as tx:
        for gap in await tx.fetch(_OPEN_GAPS):
            gaps[gap["stream"]].append(gap)
        streams = [row for row in await tx.fetch(_STREAMS) if crawl in (None, row["crawl"])]
    for row in streams:
        heard_at, covered = row["heard_at"], 0
        if heard_at is not None and row["since"] is not None:
            covered = heard_at - row["since"] - sum(gap["lasted"] for gap in gaps[row["stream"]] if gap["missing"] is None)
        rate = (row["events"], covered)
        missing = []
        for gap in gaps[row["stream"]]:
            cause, words = _GAP_CAUSES.get(gap["cause"], Cause.UNKNOWN), gap_words(gap["cause"])
            why = f"{words} ({gap['detail']})" if gap["detail"] else words
            after, before, count = gap["after_at"], max(gap["before_at"], gap["after_at"]), gap["missing"]
            if count is None:
                missing.append(estimate(*rate, cause, why, after, before))
            else:
                missing.append(part_of(cause, count, count, count, why, after, before))
        is_down = row["state"] not in (StreamState.LIVE, StreamState.IDLE)
        if is_down and heard_at is not None and row["as_of"] > heard_at:
            missing.append(estimate(*rate, Cause.OUTAGE, "not connected now; may be filled later", heard_at, row["as_of"]))
        low, likely, high = add_up(missing)
        yield Entry(
            subject=f"{row['service']}/{row['name']}",
            crawl=row["crawl"],
            service=row["service"],
            facet=row["channel"],
            items="events",
            captured=row["events"],
            low=low,
            likely=likely,
            high=high,
            missing=tuple(missing),
            certainty="open gaps, estimated from the rate while connected" if missing else "no open gap",
        )


# -------------------------------------------------------------------------------------------------------------- ids


_ID_COUNTS = f"""
select count(*) filter (where p.post_no is not null and p.deleted_at is null and coalesce(u.opts_out, 0) = 0) as captured,
    count(*) filter (where p.deleted_at is not null) as deleted,
    count(*) filter (where p.deleted_at is null and u.opts_out = 1) as opted_out,
    count(*) filter (where p.post_no is null and t.state = '{TaskState.FAILED}') as failed,
    count(*) filter (where p.post_no is null and t.state <> '{TaskState.FAILED}' and t.visits > 0) as absent,
    count(*) filter (
        where p.post_no is null and t.state not in ('{TaskState.FAILED}', '{TaskState.RETIRED}') and t.visits = 0
    ) as waiting
from tasks t left join posts p on p.post_no = {{post_no}} left join users u on u.user_no = p.author where t.lane = ?
"""
_POST_BY_KEY = "(select k.post_no from post_keys k where k.service = ? and k.key = t.target)"
_POST_BY_ID = "(select x.post_no from posts x where x.id = cast(? as text) || t.target)"


async def read_ids(database: Database, queues: Sequence[Queue], crawl: str | None) -> AsyncIterator[Entry]:
    """Yield one entry per queue that requests posts by id."""
    for queue in queues_of(queues, crawl):
        if queue.facet.subject is not Subject.POST or not queue.facet.is_own_route:
            continue
        value: object
        if has_local_keys(queue.network):
            sql, value = _ID_COUNTS.format(post_no=_POST_BY_KEY), queue.service
        else:
            sql, value = _ID_COUNTS.format(post_no=_POST_BY_ID), id_for(queue.network, queue.service_name, "")
        async with database.reading() as tx:
            (counts,) = await tx.fetch(sql, value, queue.lane)
        if not any(counts):
            continue
        waiting, failed = (Cause.BUDGET, "not requested yet"), (Cause.UNKNOWN, "given up after many attempts")
        if queue.left_out:
            waiting = failed = (Cause.LEFT_OUT, f"not requested: {queue.left_out}")
        missing = [
            *exactly(Cause.DELETED, counts["absent"], "not found when requested: deleted, or never existed"),
            *exactly(waiting[0], counts["waiting"], waiting[1]),
            *exactly(failed[0], counts["failed"], failed[1]),
            *exactly(Cause.OPTED_OUT, counts["opted_out"], OPTED_OUT),
        ]
        low, likely, high = add_up(missing)
        yield Entry(
            subject=f"{queue.facet.name} of {queue.crawl}",
            crawl=queue.crawl,
            service=queue.service_name,
            facet=queue.facet.name,
            captured=counts["captured"],
            deleted=counts["deleted"],
            low=low,
            likely=likely,
            high=high,
            missing=tuple(missing),
            certainty="every requested id was looked up in the store",
        )


# ------------------------------------------------------------------------------------------------------------- days


class Days:
    """Assigns what other entries miss to the days on which it was written."""

    def __init__(self, crawl: str | None = None) -> None:
        self._crawl = crawl
        self._missing: defaultdict[str, dict[Cause, Missing]] = defaultdict(dict)

    def add(self, entry: Entry) -> None:
        if entry.items not in ("posts", "events") or entry.is_repeated:
            return
        for part in entry.missing:
            if part.why == OPTED_OUT:  # these posts are stored with their day
                continue
            if part.after is None or part.before is None or part.before - part.after > LONGEST_SPAN:
                self._merge(UNDATED, part)
                continue
            start, span = part.after, part.before - part.after
            while True:
                midnight = start.replace(hour=0, minute=0, second=0, microsecond=0) + timedelta(days=1)
                end = min(midnight, part.before)
                share = (end - start) / span if span else 1.0
                whole = part if share == 1.0 else structs.replace(part, low=0, likely=round(part.likely * share))
                self._merge(start.date().isoformat(), whole)
                if end >= part.before:
                    break
                start = end

    def _merge(self, day: str, part: Missing) -> None:
        """Add a part to the sum of its day and cause."""
        before = self._missing[day].get(part.cause)
        low, likely, high = add_up([part] if before is None else [before, part])
        why = part.why if before is None or before.why == part.why else "several reasons"
        self._missing[day][part.cause] = Missing(cause=part.cause, low=low, likely=likely, high=high, why=why)

    async def entries(self, tx: Transaction) -> list[Entry]:
        """Return one entry for every day with stored or missing posts."""
        stored = {UNDATED: PostSums()} | await _posts_by_day(tx, self._crawl)
        entries = []
        for day in sorted({*stored, *self._missing}):
            posts, is_estimated = stored.get(day, PostSums()), bool(self._missing.get(day))
            for part in exactly(Cause.OPTED_OUT, posts.opted_out, OPTED_OUT):
                self._merge(day, part)
            missing = [part for _, part in sorted(self._missing[day].items())]
            low, likely, high = add_up(missing)
            certainty = ["posts that this crawl brought first"] if self._crawl is not None else []
            certainty += ["sums of accounts, queries and streams; what two of them miss is counted twice"] if is_estimated else []
            entry = Entry(
                subject=day,
                crawl=self._crawl or "",
                captured=posts.captured,
                deleted=posts.deleted,
                low=low,
                likely=likely,
                high=high,
                missing=tuple(missing),
                certainty="; ".join(certainty),
            )
            entries.append(entry)
        return entries


async def read_sums(database: Database, crawl: str | None = None) -> PostSums:
    """Return the counts of all stored posts, or of those that one crawl brought first."""
    async with database.reading() as tx:
        days = await _posts_by_day(tx, crawl)
    sums = {name: sum(getattr(day, name) for day in days.values()) for name in ("stored", "deleted", "opted_out")}
    return PostSums(**sums, undated=days.get(UNDATED, PostSums()).captured)


async def _posts_by_day(tx: Transaction, crawl: str | None) -> dict[str, PostSums]:
    # Some software sends impossible times; then the time of the service counts.
    written = "case when p.is_time_doubtful = 1 then coalesce(p.listed_at, p.created_at) else p.created_at end"
    of_crawl, found_by = "", ""
    values: tuple[object, ...] = ()
    if crawl is not None:
        of_crawl, values = "where crawl in (select crawl from crawls where name = ?)", (crawl,)
        found_by = "and p.found_by in (select k.call from calls k join crawls c on c.crawl = k.crawl where c.name = ?)"
    opted_out_sql = f"""
        select case when p.created_at is null then {UNDATED_DAY} else ({written}) / {DAY} end as day, count(*) as opted_out
        from users u cross join posts p
        where u.opts_out = 1 and p.author = u.user_no and p.deleted_at is null {found_by} group by 1
    """
    stored_sql = f"""
        select day, sum(stored) as stored, sum(deleted) as deleted from post_days {of_crawl} group by day having sum(stored) > 0
    """
    opted_out = {row["day"]: row["opted_out"] for row in await tx.fetch(opted_out_sql, *values)}
    days = {}
    for row in await tx.fetch(stored_sql, *values):
        day = UNDATED if row["day"] == UNDATED_DAY else from_micros(int(row["day"]) * DAY).date().isoformat()
        days[day] = PostSums(int(row["stored"]), int(row["deleted"]), opted_out.get(row["day"], 0))
    return days


# ------------------------------------------------------------------------------------------------------------- caps


class Loss(Struct, frozen=True, kw_only=True):
    """Listings or messages that a service cut for one reason."""

    what: str
    cause: str
    why: str
    times: int
    missing: int | None
    last_at: datetime


_LOSSES = (
    """
    select l.facet as what, s.cause, s.detail as why, count(*) as times, sum(s.missing) as missing, max(s.at) as last_at from
        (select * from shortfalls where lane in (select lane from lanes where crawl = ?) order by shortfall desc limit 5000) s
    join lanes l on l.lane = s.lane group by l.facet, s.cause, s.detail order by count(*) desc, max(s.shortfall) desc
    """,
    """
    select 'stream' as what, 'reach' as cause, 'the service says that it held messages back' as why, count(*) as times,
        coalesce(sum(g.missing), 0) as missing, max(g.began_at) as last_at
    from gaps g join streams s on s.stream = g.stream where s.crawl = ? and g.cause = 'undelivered'
    """,
    """
    select 'keywords' as what, 'reach' as cause, 'more posts matched the keywords than the service sends in a frame' as why,
        count(*) as times, coalesce(sum(lost), 0) as missing, max(frame) as last_at
    from (select * from keyword_frames where crawl = ? order by frame desc limit 5000) as f where f.lost > 0
    """,
)


async def read_losses(tx: Transaction, crawl: int) -> list[Loss]:
    """Return what services cut, by reason, the most frequent first; of listings the newest 5,000."""
    losses = []
    for sql in _LOSSES:
        for row in await tx.fetch(sql, crawl):
            if row["times"]:
                missing = None if row["missing"] is None else int(row["missing"])
                losses.append(Loss(**{**row, "missing": missing, "last_at": from_micros(row["last_at"])}))
    return losses


# ---------------------------------------------------------------------------------------------------------- columns


class TotalRow(Struct, frozen=True):
    """The sums of one kind of item in one view."""

    view: str
    items: str
    total: Total


def total_rows(report: Mapping[str, View]) -> list[TotalRow]:
    return [TotalRow(name, items, total) for name, view in report.items() for items, total in view.totals.items()]


def missing_range(row: Entry | Total) -> str:
    if row.high is None:
        return f"at least {row.low:,}" + (f", likely {row.likely:,} or more" if row.likely > row.low else "")
    return f"{row.likely:,}" if row.low == row.high else f"{row.likely:,} ({row.low:,} to {row.high:,})"


def cause_counts(causes: Mapping[str, int]) -> str:
    return ", ".join(f"{causes[cause]:,} {words}" for cause, words in CAUSE_WORDS.items() if causes.get(cause))


TOTAL_COLUMNS: Columns = {
    "by": "view",
    "items": "items",
    "lines": lambda row: row.total.entries,
    "captured": lambda row: row.total.captured,
    "deleted since": lambda row: row.total.deleted,
    "known missing": lambda row: missing_range(row.total),
    "unbounded lines": lambda row: row.total.unbounded,
    "why": lambda row: cause_counts(row.total.causes),
}
ENTRY_COLUMNS: Columns = {
    "items": "items",
    "captured": "captured",
    "missing": missing_range,
    "why": lambda entry: "; ".join(dict.fromkeys(part.why for part in entry.missing)),
}
DAY_COLUMNS: Columns = {
    "day": "subject",
    "captured": "captured",
    "deleted since": "deleted",
    "known missing": missing_range,
    "why": lambda entry: cause_counts(entry.causes),
}
LOSS_COLUMNS: Columns = {"what": "what", "why": "why", "times": "times", "items": "missing", "last": "last_at"}


def _of(cause: Cause) -> Column:
    return lambda entry: entry.of(cause)


FILE_COLUMNS: Columns = {
    **{name: name for name in ("subject", "name", "crawl", "service", "facet", "items", "captured", "deleted")},
    **{name: name for name in ("claimed", "claimed_at")},
    "missing_low": "low",
    "missing": "likely",
    "missing_high": "high",
    **{f"missing_{cause}": _of(cause) for cause in Cause},
    "why": lambda entry: "; ".join(dict.fromkeys(f"{part.cause}: {part.why}" for part in entry.missing)),
    **{name: name for name in ("certainty", "is_repeated")},
}


__all__ = [
    "CAUSE_WORDS",
    "DAY_COLUMNS",
    "ENTRY_COLUMNS",
    "FILE_COLUMNS",
    "LOSS_COLUMNS",
    "TOTAL_COLUMNS",
    "VIEWS",
    "Cause",
    "Entry",
    "Loss",
    "Missing",
    "PostSums",
    "Total",
    "View",
    "read_completeness",
    "read_entries",
    "read_losses",
    "read_sums",
    "total_rows",
]
