"""An event of three days in a stream of unrelated posts, followed for 80 hours with the default method, against the truth."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import msgspec
import pytest
from msgspec import Struct

from bowerbird.clock import VirtualClock, from_micros, run_virtual
from bowerbird.evaluate.laboratory import Laboratory
from bowerbird.flows.keywords import KeywordUse
from bowerbird.keywords.values import Estimate
from bowerbird.ports import Database
from bowerbird.simulated.service import Setup
from bowerbird.simulated.world import WorldSettings
from bowerbird.simulated.world.posts.events import planned_event
from bowerbird.simulated.world.settings import PlannedEvent, from_ms, to_ms

BEGINS = datetime(2026, 1, 5, 1, tzinfo=UTC)
STARTS = BEGINS + timedelta(hours=2)
HOURS, FRAMES_PER_HOUR = 80, 2
QUARTERS = tuple(range(0, 72, 18))
"""The event ends after 69 hours of the crawl."""
(DEFAULT,) = KeywordUse().methods
WORLD = WorldSettings(
    seed=1,
    accounts=600,
    posts_per_day=10,
    start=datetime(2026, 1, 5, tzinfo=UTC),
    following=8.0,
    likes_per_post=0.05,
    history=timedelta(days=1),
    longest_history=5,
    warm=1,
    # One post in 19 is about it.
    planned=PlannedEvent(begins=BEGINS, scale=timedelta(hours=15), posts=3_600),
)


class Collected(Struct, frozen=True):
    """What a crawl with the default method brought; times are hours since its start."""

    about: dict[str, float]
    """Posts about the event that the service shows."""
    collected: dict[str, float]
    by_seed: set[str]
    """Those of them that contain the seed."""
    claim: Estimate
    decided: int
    """Frames."""
    followed: int
    """Keywords at the end."""
    left: int
    """Keywords that left."""

    def precision(self) -> float:
        return len(self.collected.keys() & self.about.keys()) / len(self.collected)

    def recall(self, begins: int = 0, ends: int = HOURS) -> float:
        wanted = {key for key, hour in self.about.items() if begins <= hour < ends}
        return len(self.collected.keys() & wanted) / len(wanted)


def _hour(when: datetime) -> float:
    return (when - STARTS) / timedelta(hours=1)


async def _read(laboratory: Laboratory, database: Database) -> Collected:
    service, now = laboratory.service, laboratory.clock.now()
    event = planned_event(service.world.settings)
    assert event is not None
    rows = [service.world.row(number, to_ms(now)) for number in service.truth.event_posts(STARTS, now)[event.number]]
    async with database.reading() as tx:
        bits = {row["name"]: row["bit"] for row in await tx.fetch("select name, bit from keyword_methods")}
        posts = await tx.fetch(
            "select p.id, k.at, k.methods from keyword_posts k join posts p on p.post_no = k.post_no where p.kind <> 'repost'"
        )
        (claimed,) = await tx.fetch(
            "select d.precision, d.keywords from keyword_decisions d join keyword_methods m on m.method = d.method "
            "where m.name = ? order by d.frame desc limit 1",
            DEFAULT,
        )
        (frames,) = await tx.fetch("select count(decided_at) as decided from keyword_frames")
        (exits,) = await tx.fetch("select count(until) as number from keywords")
    collected = {row["id"]: _hour(from_micros(row["at"])) for row in posts if row["methods"] >> bits[DEFAULT] & 1}
    # What was written before the crawl began is about the event too, but no stream brings it.
    return Collected(
        about={
            service.dialect.post_key(row.number): _hour(from_ms(row.ms))
            for row in rows
            if row is not None and service.is_shown(row, to_ms(now))
        },
        collected={key: hour for key, hour in collected.items() if hour >= 0},
        by_seed={row["id"] for row in posts if row["methods"] >> bits["baseline"] & 1},
        claim=msgspec.json.decode(claimed["precision"], type=Estimate),
        decided=frames["decided"],
        followed=claimed["keywords"],
        left=exits["number"],
    )


@pytest.mark.long
@pytest.mark.timeout(600)
def test_event_of_three_days_is_followed_to_its_end_and_not_beyond() -> None:
    async def main(clock: VirtualClock) -> Collected:
        laboratory = Laboratory(Setup(dialect="bluesky", world=WORLD), clock)
        event = planned_event(WORLD)
        assert event is not None
        keywords = f'stop.duration = "{HOURS}h"\n[keywords]\nmethods = ["{DEFAULT}", "baseline"]\nframe = "30m"\n'
        plan = laboratory.plan('flow = "event"', [f"#{event.tags[0]}"], keywords)
        async with laboratory.crawl(plan) as crawl:
            ending = await laboratory.run(crawl)
            assert (ending.state, clock.now() - STARTS >= timedelta(hours=HOURS)) == ("finished", True), ending.reason
            return await _read(laboratory, crawl.database)

    found = run_virtual(main, start=STARTS)
    # The last frame is decided when the crawl has ended.
    assert found.decided == HOURS * FRAMES_PER_HOUR - 1
    assert found.precision() > 0.7
    assert found.recall() > 0.75
    assert found.recall() > 2.5 * len(found.by_seed & found.about.keys()) / len(found.about)
    assert min(found.recall(begins, begins + 18) for begins in QUARTERS) > 0.6
    assert found.claim.mean < found.precision() + 0.1
    # Most keywords have left by now, because the event is over.
    assert found.left > found.followed >= 1
    assert sum(hour >= 72 for hour in found.collected.values()) < 0.02 * len(found.collected)
