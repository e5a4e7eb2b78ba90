"""How many posts were written when: by hour, day or month, and by hour of the week."""

from __future__ import annotations

from collections import Counter, defaultdict
from datetime import datetime

from msgspec import Struct

from bowerbird.clock import from_micros
from bowerbird.ports import Transaction
from bowerbird.reports.counting.by_time import Unit
from bowerbird.reports.figures.written import DAY, HOUR, WRITTEN, Chosen

_BY_HOUR = f"select {WRITTEN} / {HOUR} as hour, p.kind, count(*) as posts from posts p where {{chosen}} group by 1, 2"
_SPAN = f"select min({WRITTEN}) as first, max({WRITTEN}) as last from posts p where {{chosen}}"
_LONGEST = 100_000
"""Stretches of one figure: more come from times that cannot be, and nobody could see them."""


class Volume(Struct, frozen=True, kw_only=True):
    """The posts that were written in one stretch of time, by kind."""

    since: datetime
    posts: dict[str, int]

    @property
    def total(self) -> int:
        return sum(self.posts.values())


async def read_volumes(tx: Transaction, chosen: Chosen, unit: Unit) -> list[Volume]:
    """One for each stretch from the first post to the last, also where nothing was written."""
    sums: defaultdict[datetime, Counter[str]] = defaultdict(Counter)
    for (hour, kind), posts in (await _by_hour(tx, chosen)).items():
        sums[unit.begin(from_micros(hour * HOUR))][kind] += posts
    return [Volume(since=since, posts=dict(sums.get(since, {}))) for since in _between(list(sums), unit)]


async def fitting_unit(tx: Transaction, chosen: Chosen) -> Unit:
    """Hours for a few days, days for a year, months for more: so that a figure shows some hundred stretches at most."""
    condition, values = chosen.condition()
    row = await tx.fetch_one(_SPAN.format(chosen=condition), *values)
    span = 0 if row is None or row["first"] is None else int(row["last"]) - int(row["first"])
    return Unit.HOUR if span <= 5 * DAY else Unit.DAY if span <= 800 * DAY else Unit.MONTH


async def read_rhythm(tx: Transaction, chosen: Chosen) -> list[list[int]]:
    """Posts by day of the week (Monday first) and hour of the day, in UTC."""
    found = [[0] * 24 for _ in range(7)]
    for (hour, _), posts in (await _by_hour(tx, chosen)).items():
        when = from_micros(hour * HOUR)
        found[when.weekday()][when.hour] += posts
    return found


async def _by_hour(tx: Transaction, chosen: Chosen) -> dict[tuple[int, str], int]:
    condition, values = chosen.condition()
    rows = await tx.fetch(_BY_HOUR.format(chosen=condition), *values)
    return {(int(row["hour"]), str(row["kind"])): int(row["posts"]) for row in rows}


def _between(seen: list[datetime], unit: Unit) -> list[datetime]:
    if not seen:
        return []
    stretches, last = [min(seen)], max(seen)
    while stretches[-1] < last and len(stretches) < _LONGEST:
        stretches.append(unit.next(stretches[-1]))
    return stretches if stretches[-1] == last else sorted(seen)
