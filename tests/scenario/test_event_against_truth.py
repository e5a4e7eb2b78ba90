"""Flow `event` with the default method in simulated worlds: what it collects, against the truth, and what the demo shows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta

import pytest

from bowerbird.cli.demo_stage.others import event as demo_event
from bowerbird.clock import VirtualClock, run_virtual, to_micros
from bowerbird.evaluate.laboratory import Laboratory
from bowerbird.flows.keywords import KeywordUse
from bowerbird.keywords.burst import ENTRY_PRECISION, EXIT_PRECISION, HASHTAG_DISCOUNT
from bowerbird.ports import Row
from bowerbird.reports.keywords.figures import Thresholds
from bowerbird.reports.keywords.reading import read_thresholds
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


_ENTRIES_AND_EXITS = """
select m.name, k.term, k.why, k.until <= ? as has_left, k.until_why from keywords k join keyword_methods m on m.method = k.method
where k.since <= ? and k.why <> 'seed'
"""


@pytest.mark.parametrize("seed", [1, *(pytest.param(seed, marks=pytest.mark.long) for seed in (2, 3, 4))])
def test_demo_event_within_two_minutes_keywords_enter_and_one_leaves_again(seed: int) -> None:
    async def main(clock: VirtualClock) -> tuple[Sequence[Row], Mapping[str, Thresholds]]:
        other = demo_event(clock.now(), seed)
        laboratory = Laboratory(other.setup, clock)
        keywords = other.crawl_file[other.crawl_file.index("[keywords]") :]
        plan = laboratory.plan('flow = "event"', other.seeds(laboratory.service), f'stop.duration = "2m"\n{keywords}')
        async with laboratory.crawl(plan) as crawl:
            soon = to_micros(clock.now() + timedelta(minutes=2))
            await laboratory.run(crawl)
            async with crawl.database.reading() as tx:
                return await tx.fetch(_ENTRIES_AND_EXITS, soon, soon), await read_thresholds(tx, 1)

    keywords, thresholds = run_virtual(main, start=datetime(2026, 3, 1, 12, tzinfo=UTC))
    assert len({row["term"] for row in keywords if row["name"] == DEFAULT and not row["term"].startswith("#")}) >= 2
    assert any(row["has_left"] for row in keywords if row["name"] == DEFAULT)
    assert all(row["why"] for row in keywords)
    assert all(row["until_why"] for row in keywords if row["has_left"])
    assert thresholds == {
        DEFAULT: Thresholds(
            enters_from=ENTRY_PRECISION,
            hashtag_enters_from=round(ENTRY_PRECISION - HASHTAG_DISCOUNT, 3),
            leaves_below=EXIT_PRECISION,
        )
    }
