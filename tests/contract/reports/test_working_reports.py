"""What pages about work in progress read: calls, timings, errors, workers, paces, the frontier and how targets came there."""

from __future__ import annotations

from datetime import timedelta

import msgspec
import pytest
from working_scene import CALL, FLOW, NOW, at, fill

from bowerbird.clock import from_micros
from bowerbird.flows.flow import FacetUse, Flow, Size, Stop
from bowerbird.model import TaskState
from bowerbird.ports import Database
from bowerbird.reports.working import calls, errors, frontier, messages, paces, spans, workers
from bowerbird.reports.working.left import time_left


@pytest.fixture
async def worked(database: Database) -> Database:
    await fill(database)
    return database


async def test_the_last_calls_come_newest_first_and_page_by_page(worked: Database) -> None:
    async with worked.reading() as tx:
        first = await calls.read_calls(tx, calls.CallFilter(), most=3)
        second = await calls.read_calls(tx, calls.CallFilter(), first.before, most=30)
        rest = await calls.read_calls(tx, calls.CallFilter(), second.before, most=30)
    assert [line.call for line in first.lines] == [33, 32, 31]
    assert (first.lines[1].outcome, first.lines[2].outcome, first.lines[2].detail) == (
        "flying",
        "server_error",
        "502 bad gateway",
    )
    assert (first.lines[2].service, first.lines[2].crawl, first.lines[2].took) == ("here", "small", timedelta(milliseconds=5))
    assert [line.call for line in second.lines] == list(range(30, 0, -1))
    assert (second.before, rest.lines, rest.is_cut) == (None, first.lines + second.lines[:27], False)


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        (calls.CallFilter(outcome="failed"), [31]),
        (calls.CallFilter(outcome="flying", facet="timeline"), [32]),
        (calls.CallFilter(target="odd_o"), [31]),
        (calls.CallFilter(target="odd%o"), []),
        (calls.CallFilter(facet="profiles", target="did:29"), [30]),
        (calls.CallFilter(worker=7), []),
        (calls.CallFilter(crawl=7), []),
    ],
)
async def test_calls_are_found_by_what_is_known_of_them(worked: Database, wanted: calls.CallFilter, found: list[int]) -> None:
    async with worked.reading() as tx:
        page = await calls.read_calls(tx, wanted)
    assert [line.call for line in page.lines] == found


async def test_timings_are_told_by_step_and_facet(worked: Database) -> None:
    async with worked.reading() as tx:
        found = await spans.read_spans(tx)
    between = found.facets["profiles"]["between"]
    assert (between.count, between.least, between.median) == (29, timedelta(seconds=20), timedelta(seconds=20))
    step = found.facets["profiles"]["call"]
    assert step.least == timedelta(milliseconds=1)
    assert (step.count, step.median, step.p90, step.most) == (30, *(timedelta(milliseconds=each) for each in (15, 27, 30)))
    assert found.steps["get to put"].median == timedelta(seconds=6)
    assert found.steps["rank"].p99 == timedelta(microseconds=10)
    assert "settle" not in found.steps
    assert (found.live, found.backfill) == (None, None)


async def test_errors_are_searched_and_counted_by_kind_time_and_worker(worked: Database) -> None:
    async with worked.reading() as tx:
        sums = await errors.read_error_sums(tx)
        pages = {
            name: await errors.read_errors(tx, errors.ErrorFilter(**wanted))
            for name, wanted in {"words": {"words": "BAD gate"}, "sign": {"words": "100%"}, "worker": {"worker": 1}}.items()
        }
        first = await errors.read_errors(tx, errors.ErrorFilter(), most=1)
    assert (sums.count, sums.workers) == (2, {1: 1})
    groups = {"other": errors.ErrorGroup(1, from_micros(at(1))), "server_error": errors.ErrorGroup(1, from_micros(at(90)))}
    assert sums.kinds == groups
    assert [each.count for each in sums.machines.values()] == [1], "of an error that is no call's the machine is not known"
    assert list(sums.hours.values()) == [{"server_error": 1}, {"other": 1}]
    assert {name: [line.error for line in page.lines] for name, page in pages.items()} == {
        "words": [1],
        "sign": [2],
        "worker": [1],
    }
    assert ([line.part for line in first.lines], first.before) == (["module growth"], 2)


async def test_workers_are_shown_with_what_they_did(worked: Database) -> None:
    async with worked.reading() as tx:
        (mine,) = await workers.read_workers(tx, NOW)
    assert (mine.label, mine.crawl) == ("mine", "small")
    assert mine.did is not None
    assert (mine.did.calls, mine.did.good, mine.did.flying, mine.did.items) == (33, 30, 2, sum(range(30)) + 60)
    assert mine.did.last == {
        facet: from_micros(at(ago)) for facet, ago in (("jetstream", 20), ("profiles", 1 / 3), ("timeline", 0.1))
    }


async def test_paces_are_records_per_minute_and_open_connections_count(worked: Database) -> None:
    since = NOW - timedelta(hours=1)
    async with worked.reading() as tx:
        minutes, course = await paces.read_minutes(tx, 1, since), await paces.read_course(tx, 1)
        heard = await paces.read_open(tx, 1)
    found = {pace.facet: pace for pace in paces.paces(minutes, course, heard, NOW)}
    assert (found["profiles"].calls, found["profiles"].items, found["profiles"].is_exact) == (30, sum(range(30)), True)
    assert found["profiles"].a_minute == pytest.approx(sum(range(30)) / 10)
    assert found["jetstream"].a_minute == pytest.approx(60 / 20)
    assert sum(sum(rates) for rates in course.rates.values()) == pytest.approx(sum(range(30)) + 60)


async def test_a_long_log_is_told_from_an_even_sample(worked: Database) -> None:
    rows = [(1, 1, "profiles", 1, "settled", 1, "", at(0) + n * 1_000_000, 0, None, "ok", 1, 2, 1, None) for n in range(12_000)]
    async with worked.transaction() as tx:
        await tx.execute_many(CALL, rows)
    async with worked.reading() as tx:
        course, minutes = await paces.read_course(tx, 1), await paces.read_minutes(tx, 1, from_micros(at(0)))
    assert not course.is_exact
    assert course.sums["profiles"][0] == pytest.approx(12_030, rel=0.02)
    assert course.rates["profiles"][-2] == pytest.approx(120, rel=0.01)
    assert (minutes.is_cut, minutes.since) == (True, from_micros(at(0) + 7_000 * 1_000_000))
    (lately,) = paces.paces(minutes, course, {}, minutes.since + timedelta(seconds=5_000))[:1]
    assert (lately.facet, lately.a_minute) == ("profiles", pytest.approx(120))


async def test_the_frontier_is_told_by_state_age_and_class(worked: Database) -> None:
    async with worked.reading() as tx:
        profiles, timeline, _ = await frontier.read_frontier(tx, worked, 1, FLOW, NOW)
        first = await frontier.read_next(tx, profiles.lane)
    assert profiles.states == {TaskState.WAITING: 2, TaskState.ASLEEP: 1}
    assert {age: count for age, count in profiles.ages.items() if count} == {"never": 1, "within the hour": 1, "longer ago": 1}
    assert profiles.classes == {100: 1, 81: 1, 0: 1}
    assert profiles.class_ages == {100: {"within the hour": 1}, 81: {"never": 1}, 0: {"longer ago": 1}}
    assert (timeline.waiting, timeline.classes) == (2, {})
    assert [task.target for task in first] == ["did:2", "did:1"]


async def test_targets_are_counted_by_where_they_came_from(worked: Database) -> None:
    async with worked.reading() as tx:
        led = await frontier.read_led(tx, worked, 1, NOW)
    assert {edge: each.targets for edge, each in led.items()} == {("seeds", "profiles"): 3, ("profiles", "timeline"): 2}
    assert led["profiles", "timeline"].a_minute == pytest.approx(2 / 9)


async def test_each_facet_has_its_last_messages(worked: Database) -> None:
    async with worked.reading() as tx:
        found = await messages.read_messages(tx, 1, each=2)
    assert {facet: [line.call for line in lines] for facet, lines in found.items()} == {
        "jetstream": [33], "profiles": [30, 29], "timeline": [32, 31],
    }  # fmt: skip


def load(facet: str, waiting: int) -> frontier.LaneLoad:
    return frontier.LaneLoad(
        lane=1,
        facet=facet,
        service="here",
        states={TaskState.WAITING: waiting},
        ages={},
        classes={},
        class_ages={},
        is_exact=True,
    )


def pace(facet: str, objects: float) -> paces.Pace:
    return paces.Pace(facet=facet, calls=1, items=1, is_exact=True, a_minute=1.0, calls_a_minute=6.0, objects_a_minute=objects)


def test_time_left_is_told_by_the_slowest_facet_or_the_first_stop() -> None:
    once = Flow(name="once", facets=(FacetUse("profiles"), FacetUse("timeline")))
    loads, speeds = [load("profiles", 50), load("timeline", 10)], [pace("profiles", 25), pace("timeline", 1)]
    assert time_left(once, loads, speeds, Size()).least == timedelta(minutes=10)
    assert time_left(once, loads, speeds[:1], Size()).least is None
    ends = msgspec.structs.replace(once, stop=Stop(calls=12))
    assert time_left(ends, loads, speeds, Size()).least == timedelta(minutes=1)
    assert time_left(FLOW, loads, speeds, Size()).goes_on
