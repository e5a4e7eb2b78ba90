"""The ledger by day: posts by the day they were written, and what other lines know to be missing of it."""

from __future__ import annotations

from collections import defaultdict
from datetime import date, datetime, timedelta

from msgspec import Struct, structs

from bowerbird.clock import from_micros, to_micros
from bowerbird.ports import Database, Row, Transaction
from bowerbird.reports.completeness.entries import OPTED_OUT, Cause, Entry, Missing, opted_out, summed
from bowerbird.store.posts.counting import DAY
from bowerbird.store.posts.counting import UNDATED as UNDATED_DAY

_LONGEST = timedelta(days=31)
"""What lies somewhere in more than a month is not laid to single days."""
UNDATED = "undated"
# Some software claims times that cannot be: the service's own then stands for them.
_WRITTEN = "case when p.is_time_doubtful = 1 then coalesce(p.listed_at, p.created_at) else p.created_at end"
_STORED = "select day, sum(stored) as stored, sum(deleted) as deleted from post_days {of} group by day having sum(stored) > 0"
# Few accounts opt out, and their index has only them.
_OPTED_OUT = f"""
select case when p.created_at is null then {UNDATED_DAY} else ({_WRITTEN}) / {DAY} end as day, count(*) as opted_out
from users u cross join posts p where u.opts_out = 1 and p.author = u.user_no and p.deleted_at is null {{found}} group by 1
"""
_OF_ONE = "where crawl in (select crawl from crawls where name = ?)"
_BY_ONE = "and p.found_by in (select k.call from calls k join crawls c on c.crawl = k.crawl where c.name = ?)"
_FIRST = "posts that this crawl was the first to bring"


class PostSums(Struct, frozen=True):
    """Stored posts, of one day or of all."""

    stored: int = 0
    deleted: int = 0
    opted_out: int = 0
    undated: int = 0
    """Of those captured: nobody knows when they were written."""

    @property
    def captured(self) -> int:
        return self.stored - self.deleted - self.opted_out


class Days:
    """Gathers what other lines know to be missing, and lays it to the days it was written on."""

    def __init__(self, crawl: str | None = None) -> None:
        """`crawl`: the only one whose posts count; those it shares with another count for the first to bring them."""
        self._crawl = crawl
        self._missing: defaultdict[str, list[Missing]] = defaultdict(list)
        self._undated: dict[Cause, Missing] = {}

    def add(self, entry: Entry, times: int = 1) -> None:
        """Adds what a line lacks, or one that stands for several.

        Relations have no day of their own: only what counts posts or events is laid to days, and each account's once.

        Posts whose authors opted out are stored with their time: they are counted there, each on its day.
        """
        if entry.items in ("posts", "events") and not entry.is_repeated:
            for part in entry.missing:
                if part.why != OPTED_OUT:
                    self._lay(_multiplied(part, times) if times > 1 else part)

    def _lay(self, part: Missing) -> None:
        span = None if part.after is None or part.before is None else part.before - part.after
        if part.after is None or part.before is None or span is None or span > _LONGEST:
            self._merge(part)
            return
        for day, share in _shares(part.after, part.before):
            self._missing[day.isoformat()].append(_portion(part, share))

    def _merge(self, part: Missing) -> None:
        """Millions of accounts may each have something that no day is known of: one sum for each cause."""
        before = self._undated.get(part.cause)
        low, likely, high = summed([part] if before is None else [before, part])
        why = part.why if before is None or before.why == part.why else "several reasons"
        self._undated[part.cause] = Missing(cause=part.cause, low=low, likely=likely, high=high, why=why)

    async def entries(self, tx: Transaction) -> list[Entry]:
        """Every day that has posts, or lacks some."""
        stored = {UNDATED: PostSums()} | await _by_day(tx, self._crawl)
        days = sorted({*stored, *self._missing})
        return [self._entry(day, stored.get(day, PostSums())) for day in days]

    def _entry(self, day: str, posts: PostSums) -> Entry:
        others = self._undated.values() if day == UNDATED else self._missing.get(day, ())
        return _entry(day, self._crawl, posts, tuple(_together([*others, *opted_out(posts.opted_out)])), bool(others))


def posts_of(day: Entry) -> PostSums:
    """The stored posts that the line of a day counts."""
    opted_out = day.of(Cause.OPTED_OUT)
    stored = day.captured + day.deleted + opted_out
    return PostSums(stored, day.deleted, opted_out, day.captured if day.subject == UNDATED else 0)


async def read_sums(database: Database, crawl: str | None = None) -> PostSums:
    """All stored posts, or those that one crawl was the first to bring: what the lines by day add up to."""
    async with database.reading() as tx:
        days = await _by_day(tx, crawl)
    sums = {name: sum(getattr(day, name) for day in days.values()) for name in ("stored", "deleted", "opted_out")}
    return PostSums(**sums, undated=days.get(UNDATED, PostSums()).captured)


async def _by_day(tx: Transaction, crawl: str | None) -> dict[str, PostSums]:
    of, found, names = ("", "", ()) if crawl is None else (_OF_ONE, _BY_ONE, (crawl,))
    opted_out = {row["day"]: row["opted_out"] for row in await tx.fetch(_OPTED_OUT.format(found=found), *names)}
    rows = await tx.fetch(_STORED.format(of=of), *names)
    return {_day(row["day"]): _posts(row, opted_out.get(row["day"], 0)) for row in rows}


def _posts(row: Row, opted_out: int) -> PostSums:
    return PostSums(int(row["stored"]), int(row["deleted"]), opted_out)


def _day(number: int) -> str:
    return UNDATED if number == UNDATED_DAY else from_micros(int(number) * DAY).date().isoformat()


def _shares(after: datetime, before: datetime) -> list[tuple[date, float]]:
    """The days that a stretch of time touches, each with its share of it."""
    span, shares, start = before - after, [], after
    while start < before:
        midnight = from_micros((to_micros(start) // DAY + 1) * DAY)
        end = min(midnight, before)
        shares.append((start.date(), (end - start) / span))
        start = end
    return shares or [(after.date(), 1.0)]


def _portion(part: Missing, share: float) -> Missing:
    """What a day may have of it: all of it, or none, unless the stretch lies within the day."""
    if share == 1.0:
        return part
    likely = round(part.likely * share)
    return Missing(cause=part.cause, low=0, likely=likely, high=part.high, why=part.why, after=part.after, before=part.before)


def _multiplied(part: Missing, times: int) -> Missing:
    high = None if part.high is None else part.high * times
    return structs.replace(part, low=part.low * times, likely=part.likely * times, high=high)


def _together(parts: list[Missing]) -> list[Missing]:
    """One line for each cause."""
    by_cause: defaultdict[Cause, list[Missing]] = defaultdict(list)
    for part in parts:
        by_cause[part.cause].append(part)
    together = []
    for cause, each in sorted(by_cause.items()):
        low, likely, high = summed(each)
        together.append(Missing(cause=cause, low=low, likely=likely, high=high, why=_why(each)))
    return together


def _why(parts: list[Missing]) -> str:
    return parts[0].why if len({part.why for part in parts}) == 1 else "several reasons"


def _entry(day: str, crawl: str | None, posts: PostSums, missing: tuple[Missing, ...], is_estimated: bool) -> Entry:
    low, likely, high = summed(missing)
    words = [_FIRST] if crawl is not None else []
    words += ["sums over accounts, queries and streams; what two of them miss is in it twice"] if is_estimated else []
    return Entry(
        subject=day,
        crawl=crawl or "",
        captured=posts.captured,
        deleted=posts.deleted,
        low=low,
        likely=likely,
        high=high,
        missing=missing,
        certainty="; ".join(words),
    )
