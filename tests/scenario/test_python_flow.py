"""The flow that docs/crawl-file.md writes in Python, with a ranker and a seeder of its own, crawls as it says."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bowerbird.app import open_store
from bowerbird.clock import VirtualClock, run_virtual
from bowerbird.evaluate.laboratory import BASE, SERVICE, Laboratory
from bowerbird.flows.files.flow_check import check
from bowerbird.flows.flow import Edge
from bowerbird.policies import RANKERS
from bowerbird.providers import provider
from bowerbird.simulated.service import Setup
from bowerbird.simulated.world import WorldSettings

PAGE = (Path(__file__).parents[2] / "docs" / "crawl-file.md").read_text("utf-8")
START = datetime(2026, 1, 5, 12, tzinfo=UTC)
STILL = WorldSettings(accounts=60, seed=3, following=8.0, longest_history=10, posts_per_day=2.0, until=START)
NAMED = """
select k.key, count(*) as posts from post_mentions m join user_keys k on k.user_no = m.user_no
where m.post_no in (select post_no from media) group by k.key
"""


def example() -> str:
    found = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    return str(found[-1])


def test_it_is_short() -> None:
    assert len(example().strip().splitlines()) < 40


def test_it_looks_up_who_is_named_beside_pictures_the_most_named_first(tmp_path: Path) -> None:
    names: dict[str, Any] = {}
    exec(example(), names)
    store = str(tmp_path / "named.db")

    async def main(clock: VirtualClock) -> None:
        laboratory = Laboratory(Setup(dialect="mastodon", world=STILL), clock)
        await names["crawl"](laboratory.service.described(BASE, SERVICE), laboratory.keys(), laboratory.outside(), store)
        async with open_store(store, clock) as database, database.reading() as tx:
            beside = {row["key"]: row["posts"] for row in await tx.fetch(NAMED)}
            tasks = await tx.fetch(
                "select target, priority from tasks where lane = (select lane from lanes where facet = 'profiles')"
            )
        assert len(beside) > 5
        found = {row["target"]: row["priority"] for row in tasks}
        assert beside.items() <= found.items()
        # Of posts whose author opted out no picture is stored, so they are not counted here.
        assert len(found) <= len(beside) + 2
        assert max(beside.values()) > 1

    run_virtual(main, start=START)


def test_its_flow_passes_the_same_checks_as_one_in_toml() -> None:
    names: dict[str, Any] = {}
    exec(example(), names)
    flow, mastodon = names["flow"], provider("mastodon")
    # Its own seeder is the way to `profiles`; a check must be told of the ranker and of such a way.
    led = type(flow)(flow.name, flow.facets, (*flow.edges, Edge("timeline", "profiles", "mentions")), flow.seeds)
    assert check(led, mastodon.facets, {**RANKERS, "most_pictured": frozenset()}) is led
