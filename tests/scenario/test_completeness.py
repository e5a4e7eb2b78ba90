"""The completeness ledger of whole crawls in virtual time, against what there really was."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from msgspec import Struct

from bowerbird.app import Crawl
from bowerbird.clock import VirtualClock, run_virtual
from bowerbird.evaluate.laboratory import Laboratory
from bowerbird.reports.completeness import Cause, Entry, read_entries
from bowerbird.simulated.faults import Faults, Outage
from bowerbird.simulated.service import Setup
from bowerbird.simulated.world import Availability, WorldSettings
from bowerbird.simulated.world.posts.rows import REPOST, is_live
from bowerbird.simulated.world.posts.tags import FIRST_EVENT_TAG, NO_TAG, tag_name
from bowerbird.simulated.world.settings import to_ms
from marks import long

START = datetime(2026, 1, 5, tzinfo=UTC)
HOUR = timedelta(hours=1)
LONG_AGO = START - timedelta(days=7000)
BUSY = WorldSettings(
    accounts=30, seed=338, following=6.0, posts_per_day=5.0, longest_history=3500, history=timedelta(days=200), silent=0.3
)
STREAMED = WorldSettings(accounts=60, seed=3, following=6.0, posts_per_day=12.0, longest_history=10)


class Account(Struct, frozen=True):
    """The truth about one account, and how much of it is stored."""

    entry: Entry
    state: Availability
    captured: int
    missing: int
    """Posts that exist and are not stored."""

    @property
    def is_within(self) -> bool:
        return self.entry.low <= self.missing and (self.entry.high is None or self.missing <= self.entry.high)


def in_laboratory(setup: Setup, work: Callable[[Laboratory], Awaitable[Any]]) -> Any:
    async def main(clock: VirtualClock) -> Any:
        return await work(Laboratory(setup, clock))

    return run_virtual(main, start=START)


async def lines(crawl: Crawl, by: str) -> list[Entry]:
    return [entry async for _, entry in read_entries(crawl.database, (by,))]


async def keys_of(crawl: Crawl, dialect: str) -> tuple[Mapping[str, str], Mapping[str, set[str]]]:
    """By global id the service's key of each account, and the keys of its stored posts."""
    is_local, is_id = dialect == "mastodon", dialect == "bluesky"
    users = (
        "select u.id, k.key from users u join user_keys k on k.user_no = u.user_no"
        if is_local
        else "select id, id as key from users"
    )
    posts = (
        "select u.id, p.id as key from posts p join users u on u.user_no = p.author "
        "where p.deleted_at is null and coalesce(u.opts_out, 0) = 0"
    )
    if is_local:
        posts = posts.replace("p.id as key from posts p", "k.key from posts p join post_keys k on k.post_no = p.post_no")
    stored: dict[str, set[str]] = {}
    async with crawl.database.reading() as tx:
        keys = {row["id"]: row["key"] if is_local or is_id else row["key"].partition(":")[2] for row in await tx.fetch(users)}
        for row in await tx.fetch(posts):
            stored.setdefault(row["id"], set()).add(row["key"] if is_local or is_id else row["key"].partition(":")[2])
    return keys, stored


async def accounts(laboratory: Laboratory, crawl: Crawl) -> list[Account]:
    """Every line of the ledger by user beside the truth."""
    service, now = laboratory.service, laboratory.clock.now()
    keys, stored = await keys_of(crawl, service.dialect.name)
    found = []
    for entry in await lines(crawl, "user"):
        if entry.items != "posts" or entry.subject not in keys:
            continue
        number = service.account(keys[entry.subject])
        written = {service.dialect.post_key(post.number): post for post in service.truth.posts(number, LONG_AGO, now)}
        there = {key for key, post in written.items() if post.deleted_at is None or post.deleted_at > now}
        has = stored.get(entry.subject, set())
        assert has <= written.keys()
        found.append(Account(entry, service.truth.availability(number, now), len(has), len(there - has)))
    return found


def check_ranges(found: list[Account]) -> None:
    """Captured is exact; what is missing lies within the range for nearly all, and for all together."""
    assert [account.entry.subject for account in found if account.captured != account.entry.captured] == []
    outside = [account for account in found if not account.is_within]
    assert len(outside) <= 0.05 * len(found), outside
    counted = [account for account in found if account.entry.high is not None]
    low, high = sum(each.entry.low for each in counted), sum(each.entry.high or 0 for each in counted)
    assert low <= sum(each.missing for each in counted) <= high
    assert high - low < 0.25 * sum(each.entry.claimed or 0 for each in counted)


def main_cause(entry: Entry) -> Cause | None:
    return max(entry.missing, key=lambda part: (part.likely, part.high is None)).cause if entry.missing else None


def causes(found: list[Account], state: Availability) -> set[Cause | None]:
    return {main_cause(account.entry) for account in found if account.state is state and account.missing > 20}


def test_protected_deleted_capped_and_cut_off_accounts_are_told_apart() -> None:
    async def work(laboratory: Laboratory) -> None:
        plan = laboratory.plan('flow = "timelines"', laboratory.keys(), 'stop.duration = "16h"')
        async with laboratory.crawl(plan) as crawl:
            await laboratory.run(crawl)
            found = await accounts(laboratory, crawl)
            check_ranges(found)
            assert causes(found, Availability.PROTECTED) == {Cause.PROTECTED}
            capped = [each for each in found if each.state is Availability.OPEN and (each.entry.claimed or 0) > 3300]
            assert {main_cause(account.entry) for account in capped} == {Cause.REACH}
            gone = [account for account in found if account.state in (Availability.GONE, Availability.SUSPENDED)]
            assert {main_cause(account.entry) for account in gone} == {Cause.DELETED}
            assert all(account.entry.high is None for account in gone)
            async with crawl.database.reading() as tx:
                (outage,) = await tx.fetch("select began_at, ended_at, calls, reason from outages")
            assert (outage["ended_at"], outage["calls"] >= 3) == (None, True)
            days = {entry.subject: entry for entry in await lines(crawl, "day")}
            today = days["2026-01-05"]
            # Of the six hours of the outage nobody knows anything but the rate before.
            assert today.of(Cause.OUTAGE) == pytest.approx(_unlooked(laboratory), rel=0.7)
            assert today.low <= _unlooked(laboratory) <= (today.high or 0)
            assert sum(entry.captured for entry in days.values()) == sum(account.captured for account in found)

    faults = Faults(outages=(Outage(START + 10 * HOUR, START + 20 * HOUR),))
    in_laboratory(Setup(dialect="twitter_v1", world=BUSY, faults=faults), work)


def _unlooked(laboratory: Laboratory) -> int:
    """Posts that open accounts wrote during the outage and that are still there."""
    now, truth = laboratory.clock.now(), laboratory.service.truth
    return sum(
        post.deleted_at is None or post.deleted_at > now
        for account in range(len(laboratory.service.world))
        if truth.is_available(account, now)
        for post in truth.posts(account, START + 10 * HOUR, now)
    )


@pytest.mark.parametrize("dialect", ["bluesky", "x", *long("mastodon", "weibo")])
def test_a_budget_too_small_is_the_cause_of_what_was_not_listed(dialect: str) -> None:
    async def work(laboratory: Laboratory) -> None:
        calls = {"mastodon": 150, "bluesky": 70, "x": 70, "weibo": 60}[dialect]
        async with laboratory.crawl(laboratory.plan('flow = "timelines"', laboratory.keys(), f"stop.calls = {calls}")) as crawl:
            await laboratory.run(crawl)
            found = await accounts(laboratory, crawl)
            check_ranges(found)
            async with crawl.database.reading() as tx:
                rows = await tx.fetch(
                    "select target from tasks t join lanes l on l.lane = t.lane where l.facet = 'timeline' and cursor is not null"
                )
            keys, _ = await keys_of(crawl, laboratory.service.dialect.name)
            unfinished = {row["target"] for row in rows}
            assert unfinished
            cut_off = [each for each in found if keys[each.entry.subject] in unfinished and each.entry.claimed is not None]
            assert {main_cause(account.entry) for account in cut_off if account.missing} == {Cause.BUDGET}
            assert len([account for account in cut_off if account.missing]) >= 5

    in_laboratory(Setup(dialect=dialect, world=BUSY), work)


WRITING = WorldSettings(
    accounts=220, seed=5, following=8.0, posts_per_day=5.0, longest_history=30, history=timedelta(days=5), silent=0.3
)


@pytest.mark.parametrize("dialect", ["twitter_v1", *long("weibo")])
def test_an_account_seen_beside_another_has_its_own_news_fetched_all_the_same(dialect: str) -> None:
    """Profiles show the newest post, and inside it the profile of whom it passes on: nobody asked about that one yet."""

    async def work(laboratory: Laboratory) -> tuple[int, int]:
        flow = 'flow.use = "timelines"\nflow.facets.profiles.revisit = "3h"'
        async with laboratory.crawl(laboratory.plan(flow, laboratory.keys(), 'stop.duration = "30h"')) as crawl:
            await laboratory.run(crawl)
            now = laboratory.clock.now()
            _, stored = await keys_of(crawl, dialect)
        have = set().union(*stored.values())
        written = _readable(laboratory, now - 6 * HOUR, now)
        return len(written), len(written - have)

    written, lost = in_laboratory(Setup(dialect=dialect, world=WRITING), work)
    assert written > 700
    # A deletion between two looks hides a new post from the counter, until the next one.
    assert lost <= 0.005 * written


def _readable(laboratory: Laboratory, until: datetime, now: datetime) -> set[str]:
    """Keys of the posts that open accounts wrote since the start, for everybody, and that are still there."""
    truth = laboratory.service.truth
    return {
        laboratory.service.dialect.post_key(post.number)
        for account in range(len(laboratory.service.world))
        if truth.availability(account, now) is Availability.OPEN
        for post in truth.posts(account, START, until)
        if post.visibility != "private" and (post.deleted_at is None or post.deleted_at > now)
    }


POLLING = """
flow.seeds = ["hashtag"]
flow.facets.hashtag.revisit = "8h"
"""


@pytest.fixture(params=["sqlite", *long("postgresql")])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return str(tmp_path / "crawl.db") if request.param == "sqlite" else str(request.getfixturevalue("migrated_url"))


def test_a_search_that_was_away_for_longer_than_the_service_remembers_knows_what_it_lost(place: str) -> None:
    async def work(laboratory: Laboratory) -> None:
        tag, clock = _common_tag(laboratory), laboratory.clock
        seeds, week = [f"#{tag_name(tag)}"], timedelta(days=7)
        async with laboratory.crawl(laboratory.plan(POLLING, seeds, 'stop.duration = "3d"', store=place)) as crawl:
            await laboratory.run(crawl)
            left = clock.now()
        await clock.sleep_until(left + timedelta(days=10))
        back = clock.now()
        async with laboratory.crawl(laboratory.plan(POLLING, seeds, 'stop.duration = "4d"', store=place)) as crawl:
            await laboratory.run(crawl)
            (query,) = await lines(crawl, "query")
        (reach,) = [part for part in query.missing if part.cause is Cause.REACH]
        lost = _tagged(laboratory, tag, left, back - week, at=clock.now())
        assert reach.low <= lost <= (reach.high or 0)
        assert lost > 0
        assert abs((reach.after or START) - left) < 9 * HOUR
        assert abs((reach.before or START) - (back - week)) < HOUR
        last = clock.now() - 8 * HOUR
        shown = _tagged(laboratory, tag, START - week, left - 8 * HOUR) + _tagged(laboratory, tag, back - week, last)
        # Some of those stored were deleted later: they are in the store, and no longer in the count.
        assert shown <= query.captured <= 1.15 * shown

    world = WorldSettings(accounts=80, seed=3, following=8.0, posts_per_day=5.0, longest_history=50)
    in_laboratory(Setup(dialect="twitter_v1", world=world), work)


def _common_tag(laboratory: Laboratory) -> int:
    world = laboratory.service.world
    counts: dict[int, int] = {}
    for account in range(len(world)):
        for row in world.all_rows(account, to_ms(START - timedelta(days=7)), to_ms(START)):
            counts[row.tag] = counts.get(row.tag, 0) + 1
    return max((tag for tag in counts if NO_TAG < tag < FIRST_EVENT_TAG), key=lambda tag: counts[tag])


def _tagged(laboratory: Laboratory, tag: int, since: datetime, until: datetime, at: datetime | None = None) -> int:
    world, now = laboratory.service.world, to_ms(at or until)
    return sum(
        row.kind != REPOST and tag in (row.tag, row.second_tag) and is_live(row, now)
        for account in range(len(world))
        if world.is_open(account, now)
        for row in world.all_rows(account, to_ms(since), to_ms(until))
    )


def test_a_stream_knows_about_how_much_an_outage_cost_that_nothing_could_fill() -> None:
    async def work(laboratory: Laboratory) -> Entry:
        options = 'streams = [{channel = "sample"}]\nstop.duration = "12h"'
        async with laboratory.crawl(laboratory.plan('flow = "listen"', [], options)) as crawl:
            await laboratory.run(crawl)
            (stream,) = await lines(crawl, "stream")
        return stream

    def heard(*outages: Outage) -> Entry:
        faults = Faults(outages=outages)
        setup = Setup(dialect="twitter_v1", world=STREAMED, sample=1.0, faults=faults)
        entry: Entry = in_laboratory(setup, work)
        return entry

    whole, cut = heard(), heard(Outage(START + 5 * HOUR, START + 8 * HOUR))
    assert (whole.low, whole.high, whole.missing) == (0, 0, ())
    lost = whole.captured - cut.captured
    assert lost > 20
    assert cut.low <= lost <= (cut.high or 0)
    assert {part.cause for part in cut.missing} == {Cause.OUTAGE}
    (gap,) = [part for part in cut.missing if part.before is not None and part.before > START + 7 * HOUR]
    assert gap.after is not None
    assert abs(gap.after - (START + 5 * HOUR)) < timedelta(minutes=30)
