"""Accounts that are suspended and return while a crawl goes on, in virtual time: absences and relations, against the truth."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import pytest

from bowerbird.clock import VirtualClock, from_micros, run_virtual
from bowerbird.evaluate.laboratory import Laboratory
from bowerbird.ports import Row
from bowerbird.simulated.service import Setup
from bowerbird.simulated.world import World, WorldSettings
from marks import long

START = datetime(2026, 1, 5, tzinfo=UTC)
DAY = timedelta(days=1) // timedelta(milliseconds=1)
SETTINGS = WorldSettings(accounts=60, seed=7, following=10.0, longest_history=4, posts_per_day=0.2)
SUSPENDED = {10: (0.8, 2.2), 11: (1.2, 2.8), 13: (1.1, 9.0)}
"""From which day to which; one of them for longer than the crawl."""
FLOW = """
flow.name = "watch"
flow.seeds = ["profiles"]
flow.facets.profiles = {ranker = "circular", revisit = "6h"}
flow.facets.profile.ranker = "fifo"
flow.facets.followers = {ranker = "fifo", revisit = "10h"}
flow.facets.following = {ranker = "fifo", revisit = "10h"}
flow.edges = [
    {from = "profiles", to = "profile", take = "missing"},
    {from = "profile", to = "profiles", take = "asked"},
    {from = "profiles", to = "followers", take = "asked"},
    {from = "profiles", to = "following", take = "asked"},
]
"""

KEYS = "select u.user_no, u.id, k.key from users u left join user_keys k on k.user_no = u.user_no"


def world() -> World:
    made = World(SETTINGS)
    for account, (left, returned) in SUSPENDED.items():
        made.people.suspended[account] = SETTINGS.start_ms + int(left * DAY)
        made.people.returned[account] = SETTINGS.start_ms + int(returned * DAY)
    return made


@pytest.mark.parametrize("dialect", ["bluesky", *long("mastodon", "twitter_v1")])
def test_a_suspension_is_one_absence_and_no_end_of_relations(dialect: str) -> None:
    async def main(clock: VirtualClock) -> None:
        laboratory = Laboratory(Setup(dialect=dialect, world=SETTINGS), clock, world=world())
        plan = laboratory.plan(FLOW, laboratory.keys(), 'stop.duration = "4d"')
        async with laboratory.crawl(plan) as crawl:
            await laboratory.run(crawl)
            async with crawl.database.reading() as tx:
                numbers = _numbers(laboratory, await tx.fetch(KEYS))
                absences = await tx.fetch("select user_no, until from unavailable order by user_no")
                changes = await tx.fetch("select * from relation_history")
                profiles = await tx.fetch("select user_no, before from user_history")
        told = {numbers[row["user_no"]]: row["until"] is not None for row in absences}
        assert {account: told.get(account) for account in SUSPENDED} == {10: True, 11: True, 13: False}
        assert len(told) == len(absences)
        assert changes
        assert [dict(row) for row in changes if not _is_true(laboratory, row, numbers)] == []
        assert [row["before"] for row in profiles if '"handle":null' in row["before"]] == []

    run_virtual(main, start=START)


def _numbers(laboratory: Laboratory, rows: Sequence[Row]) -> dict[int, int]:
    """The accounts of the world by their numbers in the store."""
    named = {row["user_no"]: row["key"] or row["id"].removeprefix("x:") for row in rows}
    return {number: laboratory.service.account(key) for number, key in named.items()}


def _is_true(laboratory: Laboratory, row: Row, numbers: dict[int, int]) -> bool:
    source, target = numbers[row["source"]], numbers[row["target"]]
    was, now = (target in laboratory.service.truth.following(source, from_micros(row[at])) for at in ("after_at", "before_at"))
    return (was, now) == ((False, True) if row["change"] == "added" else (True, False))
