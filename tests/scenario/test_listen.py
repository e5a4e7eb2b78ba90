"""Flow `listen` in virtual time: everything the world tells in a day is stored, through cuts and restarts."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from bowerbird.clock import VirtualClock, run_virtual
from bowerbird.evaluate.laboratory import Laboratory
from bowerbird.ports import Database
from bowerbird.reports.status.streams import read_gaps, read_streams
from bowerbird.reports.studies.collections import find_part, read_collection
from bowerbird.reports.studies.compared import Comparison, compare
from bowerbird.simulated.faults import Faults
from bowerbird.simulated.service import Setup
from bowerbird.simulated.world import WorldSettings
from bowerbird.simulated.world.passing.happenings import Kind

HOURS = 4
CURSORED = ("jetstream", "jetstream_v2", "firehose")


def heard(dialect: str, stream: str, faults: Faults, runs: int, folder: Path) -> dict[str, Any]:
    """What the store holds after listening for some hours, in one run or in several after each other."""

    async def main(clock: VirtualClock) -> dict[str, Any]:
        began = clock.now()
        world = WorldSettings(seed=3, accounts=900, start=began, history=timedelta(days=1), longest_history=5)
        setup = Setup(dialect=dialect, world=world, faults=faults, tokens=1, app_tokens=1)
        laboratory = Laboratory(setup, clock)
        kept: dict[str, Any] = {}
        for run in range(runs):
            hours = HOURS * (run + 1) // runs
            plan = laboratory.plan(
                'flow = "listen"', [], f'stop.duration = "{hours}h"\n[[streams]]\n{stream}\n', store=str(folder / "heard.db")
            )
            async with laboratory.crawl(plan) as crawl:
                await laboratory.run(crawl)
                kept = await _read(crawl.database)
            if run + 1 < runs:
                await clock.sleep_until(clock.now() + timedelta(minutes=5))
        told = list(laboratory.service.happenings(began + timedelta(minutes=1), clock.now() - timedelta(minutes=1)))
        written = {each.post for each in told if each.kind is Kind.WRITTEN and each.is_open and each.visibility == "public"}
        return kept | {"written": written, "deleted": {each.post for each in told if each.kind is Kind.DELETED}}

    result: dict[str, Any] = run_virtual(main)
    return result


async def _read(database: Database) -> dict[str, Any]:
    async with database.reading() as tx:
        rows = await tx.fetch("select id as key from posts union select key from post_keys")
        gone = await tx.fetch("select id from deletions where subject = 'post'")
        stream = (await read_streams(tx))[0]
        gaps = await read_gaps(tx)
    return {"posts": {row["key"] for row in rows}, "gone": {row["id"] for row in gone}, "stream": stream, "gaps": gaps}


@pytest.mark.parametrize("channel", CURSORED)
def test_a_stream_with_a_cursor_misses_nothing_through_cuts_and_restarts(channel: str, tmp_path: Path) -> None:
    faults = Faults(messages={"stream_cut": 0.02, "stream_duplicate": 0.05})
    result = heard("bluesky", f'channel = "{channel}"', faults, 2, tmp_path)
    assert len(result["written"]) > 100
    assert result["written"] - result["posts"] == set()
    assert result["deleted"] - result["gone"] == set()
    assert result["stream"].connections > 3
    assert result["gaps"] == ()


def test_gaps_of_mastodon_are_filled_over_rest_and_recorded(tmp_path: Path) -> None:
    # Public timelines leave out reposts and replies: what they tell is what an undisturbed listener hears.
    (tmp_path / "whole").mkdir()
    whole = heard("mastodon", 'channel = "public"', Faults(), 1, tmp_path / "whole")
    result = heard("mastodon", 'channel = "public"', Faults(messages={"stream_cut": 0.05}), 2, tmp_path)
    assert len(whole["posts"]) > 100
    assert whole["gaps"] == ()
    assert len(result["gaps"]) >= 3
    assert all(gap.is_filled for gap in result["gaps"])
    assert all(gap.ended_at and gap.began_at <= gap.ended_at for gap in result["gaps"])
    # What was written and deleted again while nobody listened cannot be had any more.
    assert whole["posts"] - result["posts"] - whole["gone"] - whole["deleted"] == set()


@pytest.mark.parametrize(("base", "facets"), [("", {"profiles", "repo"}), ('base = "wss://elsewhere.example"', {"profiles"})])
def test_repositories_are_fetched_from_the_host_that_streams_them_and_from_no_appview(base: str, facets: set[str]) -> None:
    async def main(clock: VirtualClock) -> set[str]:
        world = WorldSettings(seed=3, accounts=50, start=clock.now(), history=timedelta(days=1), longest_history=5)
        laboratory = Laboratory(Setup(dialect="bluesky", world=world), clock)
        plan = laboratory.plan('flow = "listen"', [], f'[[streams]]\nchannel = "firehose"\n{base}\n')
        async with laboratory.crawl(plan) as crawl:
            return {lane.facet.name for lane in crawl.lanes.values()}

    assert run_virtual(main) == facets


@pytest.mark.parametrize(("flow", "seeds", "state"), [("listen", [], "failed"), ("topic", ["#music"], "finished")])
def test_a_stream_that_never_connected_is_named_at_the_end_and_a_crawl_of_nothing_else_has_failed(
    flow: str, seeds: list[str], state: str
) -> None:
    async def main(clock: VirtualClock) -> None:
        world = WorldSettings(seed=3, accounts=50, history=timedelta(days=1), longest_history=5)
        laboratory = Laboratory(Setup(dialect="x", world=world, tokens=1, app_tokens=1), clock)
        more = 'stop.duration = "20m"\n[[streams]]\nchannel = "filter"\nrules = ["((never closed"]\n'
        async with laboratory.crawl(laboratory.plan(f'flow = "{flow}"', seeds, more)) as crawl:
            ending = await laboratory.run(crawl)
            assert ending.state == state
            assert ending.reason.code == ("stream_refused" if state == "failed" else "limit_reached")
            assert "filter" in ending.reason.problem
            async with crawl.database.reading() as tx:
                row = await tx.fetch_one("select state, reason from crawls")
            assert row is not None
            assert (row["state"], row["reason"]) == (ending.state, ending.reason.to_json())

    run_virtual(main)


def test_two_streams_of_one_crawl_can_be_compared(tmp_path: Path) -> None:
    async def main(clock: VirtualClock) -> Comparison:
        world = WorldSettings(seed=3, accounts=300, start=clock.now(), history=timedelta(days=1), longest_history=5)
        laboratory = Laboratory(Setup(dialect="bluesky", world=world), clock)
        both = '[[streams]]\nname = "one"\nchannel = "jetstream"\n[[streams]]\nname = "two"\nchannel = "firehose"\n'
        plan = laboratory.plan('flow = "listen"', [], f'stop.duration = "2h"\n{both}', store=str(tmp_path / "both.db"))
        async with laboratory.crawl(plan) as crawl:
            await laboratory.run(crawl)
            async with crawl.database.reading() as tx:
                parts = [await find_part(tx, f"{plan.name}/{name}") for name in ("one", "two")]
            one, two = [await read_collection(crawl.database, part) for part in parts]
            return compare(one, two)

    found = run_virtual(main)
    assert found.posts.both > 10
    assert found.posts.jaccard is not None
    assert found.posts.jaccard > 0.9
