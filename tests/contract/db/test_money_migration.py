"""What applications had spent before there were purses is spent in the purse of their service."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from bowerbird.clock import RealClock
from bowerbird.crawl.life import registry
from bowerbird.db import open_database
from bowerbird.db.migrate import scripts, statements
from bowerbird.limits.bucket import new_bucket
from bowerbird.limits.budget import budget_statuses
from bowerbird.limits.rate_limits import add_bucket, read_buckets
from bowerbird.model import Limit, Service, WindowKind

NOW = datetime(2026, 11, 16, tzinfo=UTC)


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
async def test_the_months_money_of_all_applications_becomes_one_purse(kind: str, request: pytest.FixtureRequest) -> None:
    store = ":memory:" if kind == "sqlite" else str(request.getfixturevalue("postgres_url"))
    database = await open_database(store, RealClock())
    script = next(text for number, _, text in scripts() if number == 17)
    async with database.transaction() as tx:
        for step in [step for number, _, text in scripts() if number < 17 for step in statements(text, database.dialect)]:
            await tx.execute(step)
        await registry.enrol_service(tx, Service(name="api.x.com", provider="x", base="https://api.x.com"), "x")
        for app, spent, under_way in (("mine", 1_500, 0), ("yours", 700, 300)):
            limit = Limit(bucket="b", allowance=15_000_000, window=timedelta(days=31), kind=WindowKind.MONTH)
            state = new_bucket(f"api.x.com/app:{app}/money", limit, NOW).charge(under_way, NOW)
            await add_bucket(tx, state.deliver(spent, 0, NOW))
        await add_bucket(tx, new_bucket("api.x.com/app:mine/posts", limit, NOW))
        for step in statements(script, database.dialect):
            await tx.execute(step)
        states = await read_buckets(tx)
    await database.close()
    (purse,) = budget_statuses(states, NOW)
    assert (purse.of, purse.words, purse.reserved) == ("api.x.com", "$2.50 of $10.00", 0.0)
    assert sorted(state.name for state in states) == ["api.x.com/app:mine/posts", "api.x.com/money"]
