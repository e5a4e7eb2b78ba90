"""Posts and accounts as a whole: sums, shares, means, extremes; followers against following; where they are."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from msgspec import Struct

from bowerbird.clock import from_micros
from bowerbird.modules.statistics.places import MOST
from bowerbird.modules.statistics.tally import TOTALS
from bowerbird.modules.statistics.users import COUNTERS, AccountSums
from bowerbird.ports import Database, Transaction
from bowerbird.reports.statistics.documents import read_document
from bowerbird.reports.statistics.people import Person, read_people

_FOLLOWS_MANY = 7_000
"""Beyond that nobody reads: the third group of TwitterEcho's figure."""
_STEPS = [timedelta(seconds=2**digits) for digits in (3, 6, 9, 12, 16, 19, 22, 25)]


class PostTotals(Struct, frozen=True, kw_only=True):
    """All counted posts together."""

    as_of: datetime
    sums: dict[str, int]
    delays: Sequence[tuple[timedelta, int]]
    """Posts by how long after they were written they were stored: at most so long, and how many."""

    @property
    def mean_length(self) -> float | None:
        return self.sums["characters"] / self.sums["posts"] if self.sums["posts"] else None

    def share(self, name: str) -> float | None:
        """Of posts in their author's own words."""
        return self.sums[name] / self.sums["posts"] if self.sums["posts"] else None

    def within(self) -> Sequence[tuple[timedelta, int, float]]:
        """Posts that were stored within so long, and which part that is; some steps until all are."""
        whole, seen, rows = sum(n for _, n in self.delays), 0, []
        for delay, n in self.delays:
            seen += n
            if delay in _STEPS or seen == whole:
                rows.append((delay, seen, seen / whole))
        return rows

    @property
    def median_delay(self) -> timedelta | None:
        """Within which time half of the posts were stored; seconds to the next power of two."""
        half, seen = sum(n for _, n in self.delays) / 2, 0
        for delay, n in self.delays:
            seen += n
            if seen >= half and n:
                return delay
        return None


class CounterRow(Struct, frozen=True, kw_only=True):
    """One counter of profiles over all accounts that have it."""

    name: str
    accounts: int
    least: int
    most: int
    mean: float
    zero: float
    """Share of accounts that have none."""
    whose: Person | None
    """Who has the most, if that may be told."""


class Degree(Struct, frozen=True):
    """Accounts with about so many followers that follow about so many."""

    followers: int
    following: int
    accounts: int


class AccountFigures(Struct, frozen=True, kw_only=True):
    """All counted accounts together."""

    as_of: datetime
    since: datetime | None
    """The oldest of the numbers."""
    accounts: int
    seen: int
    with_posts: int
    with_followers: int
    with_following: int
    counters: Sequence[CounterRow]
    degrees: Sequence[Degree]

    def groups(self) -> dict[str, int]:
        """Who is followed more than follows, about as much, less, and who follows more than anybody reads."""
        found = {"followed more": 0, "about even": 0, "follow more": 0, "follow very many": 0}
        for each in self.degrees:
            if each.following > _FOLLOWS_MANY:
                name = "follow very many"
            elif each.followers > 2 * each.following:
                name = "followed more"
            else:
                name = "follow more" if each.following > 2 * each.followers else "about even"
            found[name] += each.accounts
        return found


class Cell(Struct, frozen=True):
    """A tenth of a degree in each direction."""

    latitude: float
    longitude: float
    users: int
    posts: int


class Map(Struct, frozen=True, kw_only=True):
    as_of: datetime
    cells: Sequence[Cell]
    left_out: int
    looked_at: int | None = None
    """Of accounts and of posts so many judgements at most were looked at, and there are more; None: all were."""


class _Sums(Struct):
    sums: dict[str, int]
    delays: dict[str, int]


class _DatedSums(AccountSums):
    since: int = 0


class _Cells(Struct):
    cells: list[tuple[int, int, int, int]]
    left_out: int
    is_cut: bool = False


async def read_totals(tx: Transaction) -> PostTotals | None:
    found = await read_document(tx, "totals", _Sums)
    if found is None:
        return None
    kept, at = found
    sums = {name: kept.sums.get(str(place), 0) for place, name in enumerate(TOTALS)}
    delays = [(timedelta(seconds=2**digits), n) for digits, n in sorted((int(key), n) for key, n in kept.delays.items())]
    return PostTotals(as_of=at, sums=sums, delays=delays)


async def read_accounts(tx: Transaction, database: Database) -> AccountFigures | None:
    found = await read_document(tx, "people", _DatedSums)
    if found is None:
        return None
    kept, at = found
    spreads = {name: kept.counters[name] for name in COUNTERS if name in kept.counters}
    people = await read_people(tx, database, [spread.whose for spread in spreads.values()])
    return AccountFigures(
        as_of=at,
        since=from_micros(kept.since) if kept.since else None,
        accounts=kept.accounts,
        seen=kept.seen,
        with_posts=kept.with_posts,
        with_followers=kept.with_followers,
        with_following=kept.with_following,
        counters=[
            CounterRow(
                name=name,
                accounts=spread.accounts,
                least=spread.least or 0,
                most=spread.most or 0,
                mean=spread.total / spread.accounts,
                zero=spread.zero / spread.accounts,
                whose=people.get(spread.whose),
            )
            for name, spread in spreads.items()
        ],
        degrees=sorted(map(_degree, kept.degrees.items()), key=lambda each: -each.accounts),
    )


def _degree(item: tuple[str, int]) -> Degree:
    """Both numbers as the middle of the powers of two between which they lie."""
    followers, following = (0 if digits == 0 else 3 * 2 ** (digits - 1) // 2 for digits in map(int, item[0].split()))
    return Degree(followers, following, item[1])


async def read_map(tx: Transaction) -> Map | None:
    found = await read_document(tx, "map", _Cells)
    if found is None:
        return None
    kept, at = found
    return Map(as_of=at, cells=[Cell(lat / 10, lon / 10, users, posts) for lat, lon, users, posts in kept.cells],
               left_out=kept.left_out, looked_at=MOST if kept.is_cut else None)  # fmt: skip
