"""How time passes between posts: from a post to its reposts, and from one post of an account to its next."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta

from msgspec import Struct

from bowerbird.clock import to_micros
from bowerbird.ports import Clock, Transaction
from bowerbird.reports.figures.written import DAY, HOUR, WRITTEN, Chosen

_SECOND = timedelta(seconds=1) // timedelta(microseconds=1)
# Crossed, so that SQLite goes through the reposts and not through all posts.
# Ten seconds are fine enough within a day, an hour after it: the table stays small, whatever the number of reposts.
_DELAYS = f"""
select case when d.delay < {DAY} then d.delay / {10 * _SECOND} * 10 else d.delay / {HOUR} * 3600 end as seconds,
    count(*) as reposts
from (select r.at - {WRITTEN} as delay from reposts r cross join posts p
    where p.post_no = r.post_no and r.at is not null and {{chosen}}) d
where d.delay >= 0 group by 1
"""
_GAPS = f"""
select g.gap / {DAY} as days, g.is_last, count(*) as gaps from (
    select case when s.next_at is null then cast(? as bigint) - s.at else s.next_at - s.at end as gap,
        case when s.next_at is null then 1 else 0 end as is_last
    from (select {WRITTEN} as at, lead({WRITTEN}) over (partition by p.author order by {WRITTEN}) as next_at
        from posts p join users u on u.user_no = p.author where {{chosen}} and {{there}}) s
) g where g.gap >= 0 group by 1, 2
"""
_THERE = "not exists (select 1 from unavailable a where a.user_no = p.author and a.until is null)"


class Silence(Struct, frozen=True, kw_only=True):
    """What became of accounts that wrote nothing for so many days."""

    days: int
    silent: int
    """How often an account was silent for at least so long."""
    returned: int
    """How often it wrote again after that, as far as is known by now."""

    @property
    def share(self) -> float:
        return self.returned / self.silent if self.silent else 0.0


async def read_repost_delays(tx: Transaction, chosen: Chosen) -> dict[int, int]:
    """How many reposts came how many seconds after the post, for reposts whose time is known."""
    condition, values = chosen.condition()
    rows = await tx.fetch(_DELAYS.format(chosen=condition), *values)
    return {int(row["seconds"]): int(row["reposts"]) for row in rows}


async def read_silence(tx: Transaction, chosen: Chosen, clock: Clock) -> list[Silence]:
    """For every number of days: how often accounts were silent for so long, and how often they wrote again.

    A silence that lasts until now counts as one that has not ended: for long ones the share is what is known by now, and rises
    with time. Accounts that are gone do not count.
    """
    condition, values = chosen.condition()
    rows = await tx.fetch(_GAPS.format(chosen=condition, there=_THERE), to_micros(clock.now()), *values)
    ended, lasting = Counter[int](), Counter[int]()
    for row in rows:
        (lasting if row["is_last"] else ended)[int(row["days"])] += int(row["gaps"])
    return _curve(ended, lasting)


def _curve(ended: Counter[int], lasting: Counter[int]) -> list[Silence]:
    curve: list[Silence] = []
    returned = silent = 0
    for days in range(max([*ended, *lasting], default=-1), 0, -1):
        returned, silent = returned + ended[days], silent + ended[days] + lasting[days]
        curve.append(Silence(days=days, silent=silent, returned=returned))
    return curve[::-1]
