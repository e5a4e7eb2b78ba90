"""The ledger by day: posts by the day they were written, and what other lines know to be missing of it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from datetime import date, datetime, timedelta

from bowerbird.clock import from_micros, to_micros
from bowerbird.ports import Transaction
from bowerbird.store.completeness.entries import Cause, Entry, Missing, summed

_DAY = timedelta(days=1)
_LONGEST = timedelta(days=31)
"""What lies somewhere in more than a month is not laid to single days."""
UNDATED = "undated"
# Some software claims times that cannot be: the service's own then stands for them.
_WRITTEN = "case when is_time_doubtful = 1 then coalesce(listed_at, created_at) else created_at end"
_POSTS = f"""
select ({_WRITTEN}) / {_DAY // timedelta(microseconds=1)} as day, sum(case when deleted_at is null then 1 else 0 end) as captured,
    sum(case when deleted_at is not null then 1 else 0 end) as deleted
from posts where created_at is not null and {{found}} group by 1 order by 1
"""
_WITHOUT = """
select sum(case when deleted_at is null then 1 else 0 end) as captured,
    sum(case when deleted_at is not null then 1 else 0 end) as deleted from posts where created_at is null and {found}
"""
_BY_ANY = "1 = 1"
_BY_ONE = "found_by in (select k.call from calls k join crawls c on c.crawl = k.crawl where c.name = ?)"
_FIRST = "posts that this crawl was the first to bring"


class Days:
    """Gathers what other lines know to be missing, and lays it to the days it was written on."""

    def __init__(self, crawl: str | None = None) -> None:
        """`crawl`: the only one whose posts count; those it shares with another count for the first to bring them."""
        self._crawl = crawl
        self._missing: defaultdict[str, list[Missing]] = defaultdict(list)
        self._undated: dict[Cause, Missing] = {}

    def add(self, entry: Entry) -> None:
        """Relations have no day of their own: only what counts posts or events is laid to days, and each account's once."""
        if entry.items in ("posts", "events") and not entry.is_repeated:
            for part in entry.missing:
                self._lay(part)

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
        found, names = (_BY_ANY, ()) if self._crawl is None else (_BY_ONE, (self._crawl,))
        rows = await tx.fetch(_POSTS.format(found=found), *names)
        stored = {_day(row["day"]): (int(row["captured"]), int(row["deleted"])) for row in rows}
        row = await tx.fetch_one(_WITHOUT.format(found=found), *names)
        stored[UNDATED] = (int(row["captured"] or 0), int(row["deleted"] or 0)) if row else (0, 0)
        missing: dict[str, Iterable[Missing]] = {day: _together(parts) for day, parts in self._missing.items()}
        missing[UNDATED] = self._undated.values()
        days = sorted({*stored, *missing})
        return [_entry(day, self._crawl, stored.get(day, (0, 0)), tuple(missing.get(day, ()))) for day in days]


def _day(number: int) -> str:
    return from_micros(int(number) * (_DAY // timedelta(microseconds=1))).date().isoformat()


def _shares(after: datetime, before: datetime) -> list[tuple[date, float]]:
    """The days that a stretch of time touches, each with its share of it."""
    span, shares, start = before - after, [], after
    while start < before:
        midnight = from_micros(
            (to_micros(start) // (_DAY // timedelta(microseconds=1)) + 1) * (_DAY // timedelta(microseconds=1))
        )
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


def _together(parts: list[Missing]) -> list[Missing]:
    """One line for each cause."""
    by_cause: defaultdict[Cause, list[Missing]] = defaultdict(list)
    for part in parts:
        by_cause[part.cause].append(part)
    together = []
    for cause, each in sorted(by_cause.items()):
        low, likely, high = summed(each)
        together.append(Missing(cause=cause, low=low, likely=likely, high=high, why=each[0].why))
    return together


def _entry(day: str, crawl: str | None, stored: tuple[int, int], missing: tuple[Missing, ...]) -> Entry:
    low, likely, high = summed(missing)
    words = [_FIRST] if crawl is not None else []
    words += ["sums over users, queries and streams; what two of them miss is in it twice"] if missing else []
    return Entry(
        subject=day,
        crawl=crawl or "",
        captured=stored[0],
        deleted=stored[1],
        low=low,
        likely=likely,
        high=high,
        missing=missing,
        certainty="; ".join(words),
    )
