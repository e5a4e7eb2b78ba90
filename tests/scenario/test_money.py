"""What the ledgers book on X is what X bills: each thing once per UTC day."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from bowerbird.clock import VirtualClock, run_virtual
from bowerbird.evaluate.laboratory import Laboratory
from bowerbird.simulated.service import Setup
from bowerbird.simulated.world import WorldSettings
from bowerbird.simulated.x_v2 import XV2Dialect

EVENING = datetime(2026, 1, 5, 22, tzinfo=UTC)
WORLD = WorldSettings(accounts=60, start=EVENING, history=timedelta(days=2), longest_history=40, following=5.0)
_BOOKED = "select sum(spent) as spent from ledgers where bucket like '%/money'"
_AT_EACH_SIGHT = "select sum(results * case facet when 'timeline' then 5 else 10 end) as spent from calls"


async def money(clock: VirtualClock, flow: str, accounts: int) -> tuple[int, int, int]:
    """What was booked, what was billed, and what it would be without a rule of days."""
    laboratory = Laboratory(Setup(dialect="x", world=WORLD), clock)
    async with laboratory.crawl(laboratory.plan(flow, laboratory.keys(accounts))) as crawl:
        await laboratory.run(crawl)
        async with crawl.database.reading() as tx:
            booked, seen = (await tx.fetch(_BOOKED))[0]["spent"], (await tx.fetch(_AT_EACH_SIGHT))[0]["spent"]
    dialect = laboratory.service.dialect
    assert isinstance(dialect, XV2Dialect)
    apps = {token.app for token in laboratory.service.tokens}
    return int(booked), sum(dialect.meter.spent(app, clock.now()) for app in apps), int(seen)


@pytest.mark.parametrize(
    ("flow", "accounts"),
    [
        ('flow = "timelines"\nstop.duration = "4h"', 40),
        ('flow = "graph"\nfilters.max_depth = 1', 20),
    ],
    ids=["timelines", "graph"],
)
def test_ledgers_book_what_the_service_bills(flow: str, accounts: int) -> None:
    booked, billed, seen = run_virtual(lambda clock: money(clock, flow, accounts), start=WORLD.start)
    assert billed > 0
    # A look-up that is out at midnight is booked as if nothing were paid.
    assert billed <= booked <= billed + 10 * accounts
    if "timelines" in flow:
        assert booked < seen / 4
