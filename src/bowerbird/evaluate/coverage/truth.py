"""What there was to capture in a period, and how much of it a crawl captured."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import numpy as np
from msgspec import Struct

from bowerbird.evaluate.coverage.activity import Measured, measured, tallied
from bowerbird.simulated.world import World
from bowerbird.simulated.world.people.population import Array
from bowerbird.simulated.world.posts.rows import AUTHOR_MASK, times_of
from bowerbird.simulated.world.settings import to_ms

_TOP = 451 / 19_841
"""Of TwitterEcho's 19,841 users who wrote at least twice, 451 wrote 37 % of the posts (Oliveira 2011, section 3.3.4)."""


class Written(Struct, frozen=True):
    """All posts of a period that a visitor could see when they were written, by number, and which of them can be seen at its end.

    Accounts that asked to be left alone are not collected, so they do not count.
    """

    number: Array
    author: Array
    ms: Array
    is_left: Array
    """Neither deleted by the end, nor its author out of sight."""
    accounts: int

    @property
    def figures(self) -> dict[str, Any]:
        """What kind of world this is; `top_share` is that of the top 2.2 % of those who wrote at least twice."""
        counts = np.sort(np.bincount(self.author, minlength=self.accounts))[::-1]
        active = counts[counts >= 2]
        top = active[: max(1, round(_TOP * len(active)))].sum()
        return {
            "accounts": self.accounts,
            "posts": len(self.number),
            "posts_left": int(self.is_left.sum()),
            "silent": round(float((counts == 0).mean()), 4),
            "wrote_twice": round(float((counts >= 2).mean()), 4),
            "top_share": _share(top, active.sum()),
        }

    def next_after(self, account: int, ms: int) -> int | None:
        """When an account writes next."""
        low, high = np.searchsorted(self.author, [account, account + 1])
        place = low + int(np.searchsorted(self.ms[low:high], ms, side="right"))
        return int(self.ms[place]) if place < high else None


def written(world: World, since: datetime, until: datetime) -> Written:
    """The posts of a period that begins with a day of the world."""
    start, end = to_ms(since), to_ms(until)
    days = [world.calendar.day(index) for index in range(world.calendar.index(start), world.calendar.index(end - 1) + 1)]
    number = np.concatenate([day.number for day in days])
    gone_at = np.concatenate([day.gone_at for day in days])
    author = number & AUTHOR_MASK
    ms = times_of(number)
    keep = (start <= ms) & (ms < end) & (gone_at > ms) & _is_open(world, author, ms) & ~world.people.says_nobot[author]
    place = np.flatnonzero(keep)
    place = place[np.lexsort((ms[place], author[place]))]
    number, author, ms, gone_at = number[place], author[place], ms[place], gone_at[place]
    is_left = (gone_at > end) & _is_open(world, author, np.full(len(author), end))
    return Written(number, author, ms, is_left, len(world))


def _is_open(world: World, author: Array, ms: Array) -> Array:
    people = world.people
    is_out = (people.suspended[author] <= ms) & (ms < people.returned[author])
    is_hidden = (people.protected[author] <= ms) & (ms < people.unprotected[author])
    is_there: Array = (people.created[author] <= ms) & (ms < people.left[author])
    return is_there & ~is_out & ~is_hidden


class Captured(Struct, frozen=True, kw_only=True):
    """How much of it was captured. Shares count what is left at the end, as TwitterEcho's did; `with_deleted` counts all."""

    posts: float
    per_user: float
    """Mean over the accounts that wrote."""
    median_delay_minutes: float
    with_deleted: float
    before_deletion: float
    """Of what was deleted or hidden by the end, the share that was captured while it could be seen."""
    as_published: Measured
    """The same measured as TwitterEcho did: at most the newest 200 posts of each account."""


def captured(there: Written, found: dict[int, int], days: float) -> Captured:
    """`found`: when each stored post was first seen, in ms, by number."""
    numbers = np.fromiter(found.keys(), np.int64, len(found))
    return captured_at(there, numbers, np.fromiter(found.values(), np.int64, len(found)), days)


def captured_at(there: Written, numbers: Array, times: Array, days: float) -> Captured:
    """The same from arrays; a post that was never seen has the time 0."""
    order = np.argsort(numbers)
    order = order[times[order] > 0]
    numbers, times = numbers[order], times[order]
    place = np.minimum(np.searchsorted(numbers, there.number), max(len(numbers) - 1, 0))
    is_found = numbers[place] == there.number if len(numbers) else np.zeros(len(there.number), bool)
    kept = is_found & there.is_left
    delays = (times[place] - there.ms)[kept] if kept.any() else np.zeros(1)
    tallies = tallied(there.author[there.is_left], is_found[there.is_left], there.accounts)
    return Captured(
        posts=_share(kept.sum(), there.is_left.sum()),
        per_user=tallies.per_user,
        median_delay_minutes=round(float(np.median(delays)) / 60_000, 1),
        with_deleted=_share(is_found.sum(), len(there.number)),
        before_deletion=_share((is_found & ~there.is_left).sum(), (~there.is_left).sum()),
        as_published=measured(there.author[there.is_left], is_found[there.is_left], there.accounts, days),
    )


def _share(part: Any, whole: Any) -> float:
    return round(float(part / max(1, whole)), 4)
