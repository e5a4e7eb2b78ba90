"""An audit in virtual time: what it says is lost is what is missing, it saves nothing, and the card tells of it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any

import pytest
from msgspec import structs

from bowerbird.analysis.capture_rate import AccountPosts, capture_rates
from bowerbird.app.audits import audit_posts
from bowerbird.clock import VirtualClock, run_virtual
from bowerbird.db import open_database
from bowerbird.errors import UserError
from bowerbird.evaluate.laboratory import Laboratory
from bowerbird.ports import Database
from bowerbird.reports.audits import latest_audits
from bowerbird.simulated.service import Setup
from bowerbird.simulated.world import WorldSettings
from bowerbird.studies.audits import AuditOptions
from failures import raises_code

START = datetime(2026, 1, 5, tzinfo=UTC)
WORLD = WorldSettings(seed=3, accounts=60, following=8.0, posts_per_day=12, history=timedelta(days=2), longest_history=5)
FLOW = """
flow.name = "look"
flow.seeds = ["timeline"]
flow.facets.timeline = { ranker = "circular", revisit = "8h" }
stop.duration = "1d"
"""


async def numbers(database: Database, sql: str) -> list[Any]:
    async with database.reading() as tx:
        return [row[0] for row in await tx.fetch(sql)]


@pytest.mark.parametrize(
    ("dialect", "kind"), [("mastodon", "sqlite"), pytest.param("bluesky", "postgresql", marks=pytest.mark.long)]
)
def test_what_an_audit_misses_is_what_is_missing(dialect: str, kind: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    store = str(tmp_path / "c.db") if kind == "sqlite" else str(request.getfixturevalue("migrated_url"))

    async def main(clock: VirtualClock) -> None:
        laboratory = Laboratory(Setup(dialect=dialect, world=WORLD), clock)
        plan = laboratory.plan(FLOW, laboratory.keys(14), store=store)
        async with laboratory.crawl(plan) as crawl:
            await laboratory.run(crawl)
        wish = AuditOptions(accounts=9, random=Random(1))
        whole = await audit_posts(plan, laboratory.outside(), wish)
        assert whole.found[0].wrote > 20
        assert (whole.accounts <= 9, whole.found[0].posts.share, whole.found[0].per_account.share) == (True, 1.0, 1.0)
        database = await open_database(store, clock)
        posts = await numbers(database, "select count(*) from posts")
        # Every third post of the crawl is lost.
        async with database.transaction() as tx:
            await tx.execute("delete from posts where post_no % 3 = 0")
        left = await numbers(database, "select count(*) from posts")
        lost = await audit_posts(plan, laboratory.outside(), structs.replace(wish, random=Random(1)))
        assert lost.found[0].wrote == whole.found[0].wrote
        assert 0.5 < lost.found[0].posts.share < 0.85
        assert lost.found[0].posts.low < 2 / 3 < lost.found[0].posts.high
        assert sum(each.lost for each in lost.found[1:]) == lost.found[0].lost
        # Nothing was saved, and nothing of the crawl's own was changed.
        assert await numbers(database, "select count(*) from posts") == left
        assert left[0] < posts[0]
        assert await numbers(database, "select count(*) from crawls") == [1]
        assert await numbers(database, "select distinct crawl from calls") == [1]
        async with database.reading() as tx:
            (told,) = await latest_audits(tx)
        assert (told.crawl, told.found) == (plan.name, lost.found)
        await database.close()

    run_virtual(main, start=START)


def test_a_crawl_that_has_asked_nobody_cannot_be_audited(tmp_path: Path) -> None:
    async def main(clock: VirtualClock) -> None:
        laboratory = Laboratory(Setup(dialect="bluesky", world=WORLD), clock)
        plan = laboratory.plan(FLOW, laboratory.keys(3), store=str(tmp_path / "c.db"))
        with raises_code(UserError, "unknown_crawl"):
            await audit_posts(plan, laboratory.outside(), AuditOptions(random=Random(1)))
        async with laboratory.crawl(plan):
            pass
        with raises_code(UserError, "nothing_to_do"):
            await audit_posts(plan, laboratory.outside(), AuditOptions(random=Random(1)))

    run_virtual(main, start=START)


def test_shares_are_told_over_posts_over_accounts_and_by_activity() -> None:
    accounts = [AccountPosts(100, 50, 48.0), AccountPosts(2, 2, 48.0), AccountPosts(1, 1, 480.0), AccountPosts(0, 0, 48.0)]
    whole, *classes = capture_rates(accounts)
    assert (whole.accounts, whole.posts.share, whole.per_account.share) == (3, 0.5146, 0.8333)
    assert [(each.under, each.accounts, each.lost) for each in classes] == [("1 h", 1, 50), ("3 d", 1, 0), ("24 d", 1, 0)]
    # Of one account little is certain.
    assert classes[0].posts.high - classes[0].posts.low > 0.5
    assert capture_rates([AccountPosts(0, 0, 1.0)]) == ()
