"""How many rows a search finds in all, told as exactly as can be done while somebody waits."""

from __future__ import annotations

from bowerbird.db.moment import one_moment
from bowerbird.ports import Database
from bowerbird.reports.blocks.selection.choosing import Choice
from bowerbird.reports.browsing.follows import count_follows
from bowerbird.reports.browsing.searching import MOST_COUNTED, Matching, Search, count_matching
from bowerbird.reports.counting.counts import Count, Counter

_TABLES = {"posts": "posts", "follows": "relations", "media": "media"}


async def how_many(database: Database, wanted: Search) -> Matching:
    """Counted up to ten thousand; beyond that all rows of a kind are estimated, and those that meet conditions are more."""
    async with one_moment(database) as still:
        total = await _all(still, wanted.what) if wanted.choice == Choice() else None
        if total is not None and not total.is_exact:
            return Matching(count=total.value, is_rough=True)
        return await (count_follows if wanted.what == "follows" else count_matching)(still, wanted)


async def _all(database: Database, what: str) -> Count:
    counter = Counter(database, exact=MOST_COUNTED)
    async with database.reading() as tx:
        if what != "users":
            return await counter.total(tx, _TABLES[what])
        seen = await counter.by(tx, "users", "user_no", {"is_seen": "case when seen_at is null then 0 else 1 end"})
        return seen.get((1,), Count(0))
