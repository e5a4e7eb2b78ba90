"""`read_completeness` on random stores of both databases: sums and top entries equal those of all entries."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from random import Random
from typing import Any

import pytest
from store_pages import FEDIVERSE, SKY, X

from bowerbird.clock import to_micros
from bowerbird.errors import Failure
from bowerbird.model import Service
from bowerbird.ports import Database, Transaction
from bowerbird.reports.completeness import VIEWS, Cause, Total, read_completeness, read_entries
from bowerbird.store import register_service
from bowerbird.store.people.names import has_local_keys, id_for

NOW = to_micros(datetime(2026, 3, 1, 12, tzinfo=UTC))
HOUR = 3_600_000_000
ACCOUNTS = 2_300
"""More than are read at once."""
FACETS = ("profiles", "profile", "timeline", "followers")
STATES = ("waiting", "asleep", "asleep", "asleep", "leased", "failed", "retired")
REASONS = ("not_found", "suspended", "deactivated", "protected", "blocked")
_CRAWL = (
    "insert into crawls (name, flow, settings, state, wanted, created_at, updated_at) "
    "values (?, '{}', '{}', 'stopped', 'stopped', ?, ?)"
)
_USER = (
    "insert into users (user_no, id, network, handle, posts, checked_posts, followers, is_protected, opts_out, found_at, "
    "seen_at) values (?, ?, ?, ?, ?, ?, ?, ?, ?, 1, ?)"
)
_TASK = (
    "insert into tasks (lane, target, ready, priority, due, state, cursor, attempts, visits, added_at, visited_at, failure) "
    "values (?, ?, ?, 1.0, ?, ?, ?, ?, ?, ?, ?, ?)"
)
_POST = (
    "insert into posts (short_id, short_network, author, kind, created_at, listed_at, found_at, found_by, short_seen_at, "
    "short_seen_by, deleted_at) values (?, ?, ?, ?, ?, ?, ?, 1, ?, 1, ?)"
)
_FOLLOW = (
    "insert into relations (kind, source, target, found_at, found_by, seen_at, removed_at) values ('follow', ?, ?, 1, 1, 1, ?)"
)
_SHORT = (
    "insert into shortfalls (lane, target, cause, detail, after_at, before_at, missing, at, call) "
    "values (?, ?, 'reach', 'cut', ?, ?, ?, 1, 1)"
)
# As the store counts posts while it saves them.
_COUNT_DAYS = """
insert into post_days (day, crawl, slot, stored, deleted)
select case when p.created_at is null then -2147483648
        when p.is_time_doubtful = 1 then coalesce(p.listed_at, p.created_at) / 86400000000 else p.created_at / 86400000000 end,
    coalesce(c.crawl, 0), 0, count(*), sum(case when p.deleted_at is not null then 1 else 0 end)
from posts p left join calls c on c.call = p.found_by group by 1, 2
"""
_COUNT_AUTHORS = """
insert into post_counts (user_no, stored, deleted, reposts, first_found, last_written, last_seen)
select author, count(*), sum(case when deleted_at is not null then 1 else 0 end),
    sum(case when deleted_at is null and kind = 'repost' then 1 else 0 end), min(found_at),
    max(case when created_at > listed_at then created_at else coalesce(listed_at, created_at, found_at) end), max(seen_at)
from posts group by author having count(*) >= 10
"""
_OUTAGE = "insert into outages (service, began_at, ended_at, calls, reason) values (?, ?, ?, 3, 'no answer')"


class Chance:
    """A store of two crawls about the same accounts, of which anything may be known."""

    def __init__(self, service: Service, network: str, seed: int) -> None:
        self._service, self._network, self._chance = service, network, Random(seed)

    async def fill(self, database: Database, *, with_outage: bool) -> None:
        async with database.transaction() as tx:
            await register_service(tx, self._service, self._network)
            for crawl, as_of in ((1, NOW), (2, NOW - 200 * HOUR)):
                await tx.execute(_CRAWL, "one" if crawl == 1 else "two", as_of, as_of)
                lanes = [(10 * crawl + place, crawl, facet) for place, facet in enumerate(FACETS)]
                await tx.execute_many("insert into lanes (lane, crawl, service, facet) values (?, ?, 1, ?)", lanes)
            numbers = range(1, ACCOUNTS + 1)
            await tx.execute_many(_USER, [self._user(number) for number in numbers if number % 40])
            await self._name(tx, [number for number in numbers if number % 40])
            await tx.execute_many(_TASK, [task for number in numbers for task in self._tasks(number)])
            # SQLite keeps ids shorter, in columns of their own.
            insert = _POST if database.dialect == "sqlite" else _POST.replace("short_", "")
            await tx.execute_many(insert, [post for number in numbers if number % 40 for post in self._posts(number)])
            follows = {(self._of(ACCOUNTS), self._of(ACCOUNTS)) for _ in range(3 * ACCOUNTS)}
            await tx.execute_many(_FOLLOW, [(*pair, self._maybe(0.2, self._past())) for pair in sorted(follows)])
            await self._happen(tx, [number for number in numbers if number % 40])
            if with_outage:
                await tx.execute(_OUTAGE, self._service.name, NOW - 90 * HOUR, NOW - 20 * HOUR)
            await tx.execute(_COUNT_DAYS)
            await tx.execute(_COUNT_AUTHORS)

    def _of(self, most: int) -> int:
        return self._chance.randint(1, most)

    def _maybe(self, share: float, value: Any) -> Any:
        return value if self._chance.random() < share else None

    def _past(self) -> int:
        return NOW - self._of(400) * HOUR

    def _target(self, number: int) -> str:
        return f"did:plc:{number:024}" if self._network == "bluesky" else str(number)

    def _user(self, number: int) -> tuple[Any, ...]:
        known = id_for(self._network, self._service.name, self._target(number))
        posts, is_protected, opts_out = self._maybe(0.9, self._of(30)), self._of(12) == 1, self._of(25) == 1
        checked = posts if self._of(3) > 1 else None
        seen_at = self._maybe(0.9, self._past())
        return (
            *(number, known, self._network, f"name{number}", posts, checked, self._maybe(0.8, self._of(8))),
            *(int(is_protected), self._maybe(0.9, int(opts_out)), seen_at),
        )

    async def _name(self, tx: Transaction, numbers: Sequence[int]) -> None:
        """Some are known by their keys, some by two."""
        if has_local_keys(self._network):
            keys = [(1, self._target(number), number) for number in numbers if number % 9]
            also = [(1, f"also{number}", number) for number in numbers[:200]]
            await tx.execute_many("insert into user_keys (service, key, user_no) values (?, ?, ?)", [*keys, *also])

    def _tasks(self, number: int) -> list[tuple[Any, ...]]:
        found = []
        for lane in (10, 11, 12, 13, 20, 21, 22, 23):
            if self._of(10) < 8:
                found.append(self._task(lane, self._target(number)))
            if self._of(30) == 1:
                found.append(self._task(lane, f"@Name{number}"))
            if number <= 200 and self._of(10) == 1:
                found.append(self._task(lane, f"also{number}"))
        return found

    def _task(self, lane: int, target: str) -> tuple[Any, ...]:
        visits = self._chance.choice((0, 1, 3))
        state = self._chance.choice(STATES)
        due = self._maybe(0.4, self._past() + self._of(400) * HOUR)
        failed = Failure("not_offered", "no such list") if self._of(2) == 1 else Failure("unreadable", "what it said")
        failure = failed.to_json()
        return (
            *(lane, target, int(self._of(6) == 1), due, state, self._maybe(0.1, "on"), self._of(2) - 1, visits, self._past()),
            *(self._past() if visits or self._of(20) == 1 else None, failure if state in ("failed", "retired") else None),
        )

    def _posts(self, number: int) -> list[tuple[Any, ...]]:
        found, how_many, base = [], self._chance.choice((0, 0, 3, 12, 14)), self._past() - 100 * HOUR
        for place in range(how_many):
            written, found_at = base - self._of(100) * HOUR, base + self._of(150) * HOUR
            known = f"={self._network}:{number}/{place}"
            found.append(
                (
                    *(known, self._network, number, "repost" if place % 5 == 4 else "post", self._maybe(0.95, written)),
                    *(self._maybe(0.1, written + HOUR), found_at, found_at + self._of(50) * HOUR, self._maybe(0.1, NOW)),
                )
            )
        return found

    async def _happen(self, tx: Transaction, numbers: Sequence[int]) -> None:
        absent = [(number, self._chance.choice(REASONS), self._past()) for number in numbers if self._of(9) == 1]
        await tx.execute_many("insert into unavailable (user_no, reason, since) values (?, ?, ?)", absent)
        short = [
            (lane, self._target(number), self._maybe(0.7, NOW - 300 * HOUR), self._maybe(0.9, NOW - 250 * HOUR), self._of(9))
            for number in numbers
            for lane in (12, 13)
            if self._of(15) == 1
        ]
        await tx.execute_many(_SHORT, short)


@pytest.mark.parametrize(
    ("service", "network", "with_outage"),
    [(FEDIVERSE, "mastodon", False), (FEDIVERSE, "mastodon", True), (SKY, "bluesky", False), (X, "x", True)],
)
async def test_read_completeness_random_store_equals_sums_of_entries(
    database: Database, service: Service, network: str, with_outage: bool
) -> None:
    await Chance(service, network, 5).fill(database, with_outage=with_outage)
    for crawl in (None, "two"):
        report = await read_completeness(database, VIEWS, crawl, 20)
        entries = [pair async for pair in read_entries(database, VIEWS, crawl)]
        for view in VIEWS:
            own = [entry for name, entry in entries if name == view]
            totals: dict[str, Total] = {}
            for entry in own:
                totals.setdefault(entry.items, Total()).add(entry)
            most = sorted(own, key=lambda entry: (entry.likely, entry.high is None, entry.high or 0), reverse=True)[:20]
            assert report[view].totals == totals
            assert report[view].lines == (own if view == "day" else most)
        assert [entry async for _, entry in read_entries(database, ("day",), crawl)] == report["day"].lines
    assert report["user"].totals["posts"].entries > ACCOUNTS / 2
    causes = {cause for cause, likely in report["user"].totals["posts"].causes.items() if likely}
    assert causes >= {Cause.BUDGET, Cause.PROTECTED, Cause.OPTED_OUT, Cause.UNKNOWN}
