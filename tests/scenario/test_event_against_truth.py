"""Flow `event` with the default method in simulated worlds: what it collects, against the truth."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from bowerbird.clock import VirtualClock, run_virtual
from bowerbird.evaluate.laboratory import Laboratory
from bowerbird.flows.keywords import KeywordUse
from bowerbird.simulated.service import Setup
from bowerbird.simulated.world import WorldSettings
from bowerbird.simulated.world.posts.events import planned_event
from bowerbird.simulated.world.settings import PlannedEvent, to_ms

BEGINS = datetime(2026, 1, 5, 10, tzinfo=UTC)
STARTS = BEGINS + timedelta(hours=1)
(DEFAULT,) = KeywordUse().methods
HOURS = 4
LONDON, PORTO = 0, 3


def world(seed: int, town: int, posts: int) -> WorldSettings:
    """About 900 posts an hour; 6,000 posts drawn are 120 an hour about the event at its peak, most of them of one town."""
    return WorldSettings(
        seed=seed, accounts=3_000, posts_per_day=10, start=datetime(2026, 1, 5, tzinfo=UTC), following=8.0, likes_per_post=0.05,
        history=timedelta(days=1), longest_history=5, warm=1, planned=PlannedEvent(begins=BEGINS, posts=posts, town=town),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("seed", "town", "posts"),
    [
        (1, LONDON, 6_000),
        pytest.param(2, LONDON, 6_000, marks=pytest.mark.long),
        pytest.param(3, PORTO, 3_000, marks=pytest.mark.long),
        pytest.param(4, PORTO, 3_000, marks=pytest.mark.long),
    ],
)
def test_event_crawl_collects_most_of_the_event_and_little_else(seed: int, town: int, posts: int) -> None:
    async def main(clock: VirtualClock) -> dict[str, tuple[float, float]]:
        laboratory = Laboratory(Setup(dialect="bluesky", world=world(seed, town, posts)), clock)
        event = planned_event(laboratory.service.world.settings)
        assert event is not None
        keywords = f'stop.duration = "{HOURS}h"\n[keywords]\nmethods = ["{DEFAULT}", "baseline"]\nframe = "10m"\n'
        plan = laboratory.plan('flow = "event"', [f"#{event.tags[0]}"], keywords)
        async with laboratory.crawl(plan) as crawl:
            await laboratory.run(crawl)
            async with crawl.database.reading() as tx:
                bits = {row["name"]: row["bit"] for row in await tx.fetch("select name, bit from keyword_methods")}
                rows = await tx.fetch(
                    "select p.id, k.methods from keyword_posts k join posts p on p.post_no = k.post_no where p.kind <> 'repost'"
                )
        truth, key = laboratory.service.truth, laboratory.service.dialect.post_key
        now = clock.now()
        about = {key(number) for number in truth.event_posts(BEGINS, now)[event.number]}
        to_find = {
            key(row.number)
            for number in truth.event_posts(STARTS, now)[event.number]
            if (row := laboratory.service.world.row(number, to_ms(now))) and laboratory.service.is_shown(row, to_ms(now))
        }
        measured = {}
        for name, bit in bits.items():
            collected = {row["id"] for row in rows if row["methods"] >> bit & 1}
            measured[name] = len(collected & about) / len(collected), len(collected & to_find) / len(to_find)
        return measured

    measured = run_virtual(main, start=STARTS)
    precision, recall = measured[DEFAULT]
    assert precision > 0.6
    assert recall > 0.6
    assert measured["baseline"][0] > 0.95
    assert recall > 1.7 * measured["baseline"][1]
