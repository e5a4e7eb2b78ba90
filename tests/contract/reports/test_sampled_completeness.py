"""How complete a store is, told at a glance: by a sample of the timelines that were read, whatever else was asked."""

from __future__ import annotations

import pytest
from store_pages import TIMELINE, Crawled, post, user

from bowerbird.crawl.life import registry
from bowerbird.model import Page
from bowerbird.ports import Database
from bowerbird.reports.status.health import read_completeness

_LANE = "insert into lanes (lane, crawl, service, facet) values (?, 1, 1, ?)"
_TASK = "insert into tasks (task, lane, target, state, ready, priority, added_at, visits) values (?, ?, ?, 'asleep', 0, 0, 0, 1)"


@pytest.fixture
async def crawled(database: Database) -> Crawled:
    return await Crawled(database).register()


@pytest.mark.parametrize(("others", "is_sample"), [(5_000, False), (30_000, True)])
async def test_questions_about_other_things_do_not_make_the_sample_of_timelines_smaller(
    crawled: Crawled, others: int, is_sample: bool
) -> None:
    keys = [str(number) for number in range(1, 201)]
    page = Page(users=tuple(user(key, posts=2) for key in keys), posts=tuple(post(f"{key}00", key) for key in keys))
    await crawled.save(page, TIMELINE, *keys)
    async with crawled.database.transaction() as tx:
        await registry.enrol_crawl(tx, "c", "{}", "{}", crawled.now)
        await tx.execute_many(_LANE, [(1, "timeline"), (2, "followers")])
        step = (others + len(keys)) // len(keys)
        read = {number * step + 1: key for number, key in enumerate(keys)}
        rest = [number for number in range(1, others + len(keys) + 1) if number not in read]
        await tx.execute_many(_TASK, [(number, 1, key) for number, key in read.items()])
        await tx.execute_many(_TASK, [(number, 2, str(number)) for number in rest])
        found = await read_completeness(tx, crawled.database)
    assert found.is_sample is is_sample
    assert (found.users, found.claimed, found.stored) == (200, 400, 200) or is_sample
    assert found.users >= 100
    assert found.stored * 2 == found.claimed
