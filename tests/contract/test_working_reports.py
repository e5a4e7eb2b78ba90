"""What pages about work in progress read: calls, timings, errors, workers, paces, the frontier and how targets came there."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import msgspec
import pytest

from bowerbird.clock import to_micros
from bowerbird.crawl.life import registry
from bowerbird.flows.flow import Edge, FacetUse, Flow, Size, Stop
from bowerbird.model import Service, TaskState
from bowerbird.ports import Database
from bowerbird.reports.working import calls, errors, frontier, messages, paces, spans, workers
from bowerbird.reports.working.left import time_left

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
FLOW = Flow(
    name="small",
    facets=(FacetUse("profiles", ranker="echo"), FacetUse("timeline")),
    edges=(Edge("profiles", "timeline", take="asked"),),
    seeds=("profiles",),
)
_CALL = """
insert into calls (crawl, lane, facet, worker, state, charges, objects, targets, leased_at, expires_at, settled_at, outcome,
    results, new_items, call_micros, rank_micros, detail) values (?, ?, ?, ?, ?, '', ?, ?, ?, ?, ?, ?, ?, ?, ?, 10, ?)
"""
_TASK = """
insert into tasks (lane, target, ready, priority, state, visits, visited_at, depth, added_at, added_by)
values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
"""
_ERROR = "insert into errors (at, crawl, part, outcome, call, message) values (?, ?, ?, ?, ?, ?)"


def at(minutes: float) -> int:
    """So many minutes before now, as it is stored."""
    return to_micros(NOW - minutes * MINUTE)


@pytest.fixture
async def crawled(database: Database) -> Database:
    """A crawl of two lanes: thirty good calls in ten minutes, one that failed, one under way, and an open connection."""
    async with database.transaction() as tx:
        crawl = (await registry.enrol_crawl(tx, "small", msgspec.json.encode(FLOW).decode(), "{}", NOW)).crawl
        service = await registry.enrol_service(tx, Service(name="here", provider="bluesky", base="http://x"), "bluesky")
        profiles, timeline, stream = [
            await registry.enrol_lane(tx, crawl, service, facet) for facet in ("profiles", "timeline", "jetstream")
        ]
        worker = await registry.enrol_worker(tx, "small", NOW, "mine")
        good = [
            (crawl, profiles, "profiles", worker, "settled", 25, f"did:{n}", at(10 - n / 3), 0, at(10 - n / 3 - 0.1), "ok", 25, n,
             1_000 * (n + 1), None)
            for n in range(30)
        ]  # fmt: skip
        await tx.execute_many(_CALL, good)
        others = [
            (crawl, timeline, "timeline", worker, "settled", 1, "Did:Odd_One", at(0.5), 0, at(0.4), "server_error", 0, 0, 5_000,
             "502 bad gateway"),
            (crawl, timeline, "timeline", worker, "flying", 1, "did:7", at(0.1), 0, None, None, None, None, None, None),
        ]  # fmt: skip
        await tx.execute_many(_CALL, others)
        await tx.execute_many(
            "insert into calls (crawl, lane, facet, worker, state, charges, objects, targets, leased_at, expires_at, sent_at, "
            "results, new_items) values (?, ?, 'jetstream', ?, 'flying', '', 1, 'all', ?, 0, ?, 90, 60)",
            [(crawl, stream, worker, at(20), at(20))],
        )
        tasks = [
            (profiles, "did:1", 1, 81.0, "waiting", 0, None, 0, at(9), None),
            (profiles, "did:2", 1, 100.0, "waiting", 1, at(30), 0, at(9), None),
            (profiles, "did:3", 0, 0.0, "asleep", 1, at(60 * 24 * 40), 0, at(9), None),
            (timeline, "did:1", 1, 0.0, "waiting", 0, None, 1, at(5), 1),
            (timeline, "did:2", 1, 0.0, "waiting", 0, None, 1, at(5), 2),
        ]
        await tx.execute_many(_TASK, tasks)
        await tx.execute_many(
            _ERROR,
            [
                (at(90), crawl, "here/timeline", "server_error", 31, "502 Bad Gateway"),
                (at(1), crawl, "module growth", None, None, "100% odd_one"),
            ],
        )
    return database


async def test_the_last_calls_come_newest_first_and_page_by_page(crawled: Database) -> None:
    async with crawled.reading() as tx:
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
async def test_calls_are_found_by_what_is_known_of_them(crawled: Database, wanted: calls.CallFilter, found: list[int]) -> None:
    async with crawled.reading() as tx:
        page = await calls.read_calls(tx, wanted)
    assert [line.call for line in page.lines] == found


async def test_timings_are_told_by_step_and_facet(crawled: Database) -> None:
    async with crawled.reading() as tx:
        found = await spans.read_spans(tx)
    step = found.facets["profiles"]["call"]
    assert (step.count, step.median, step.p90, step.most) == (30, *(timedelta(milliseconds=each) for each in (15, 27, 30)))
    assert found.steps["get to put"].median == timedelta(seconds=6)
    assert found.steps["rank"].p99 == timedelta(microseconds=10)
    assert "settle" not in found.steps
    assert found.stored is None


async def test_errors_are_searched_and_counted_by_kind_time_and_worker(crawled: Database) -> None:
    async with crawled.reading() as tx:
        sums = await errors.read_error_sums(tx)
        pages = {
            name: await errors.read_errors(tx, errors.ErrorFilter(**wanted))
            for name, wanted in {"words": {"words": "BAD gate"}, "sign": {"words": "100%"}, "worker": {"worker": 1}}.items()
        }
        first = await errors.read_errors(tx, errors.ErrorFilter(), most=1)
    assert (sums.count, sums.kinds, sums.workers) == (2, {"server_error": 1, "other": 1}, {1: 1})
    assert list(sums.hours.values()) == [{"server_error": 1}, {"other": 1}]
    assert {name: [line.error for line in page.lines] for name, page in pages.items()} == {
        "words": [1],
        "sign": [2],
        "worker": [1],
    }
    assert ([line.part for line in first.lines], first.before) == (["module growth"], 2)


async def test_workers_are_shown_with_what_they_did(crawled: Database) -> None:
    async with crawled.reading() as tx:
        (mine,) = await workers.read_workers(tx, NOW)
    assert (mine.label, mine.crawl) == ("mine", "small")
    assert mine.did is not None
    assert (mine.did.calls, mine.did.good, mine.did.flying, mine.did.items) == (33, 30, 2, sum(range(30)) + 60)


async def test_paces_are_records_per_minute_and_open_connections_count(crawled: Database) -> None:
    since = NOW - timedelta(hours=1)
    async with crawled.reading() as tx:
        minutes, course = await paces.read_minutes(tx, 1, since), await paces.read_course(tx, 1)
        heard = await paces.read_open(tx, 1)
    found = {pace.facet: pace for pace in paces.paces(minutes, course, heard, since, NOW)}
    assert (found["profiles"].calls, found["profiles"].items, found["profiles"].is_exact) == (30, sum(range(30)), True)
    assert found["profiles"].a_minute == pytest.approx(sum(range(30)) / 10)
    assert found["jetstream"].a_minute == pytest.approx(60 / 20)
    assert sum(sum(rates) for rates in course.rates.values()) == pytest.approx(sum(range(30)) + 60)


async def test_a_long_log_is_told_from_an_even_sample(crawled: Database) -> None:
    rows = [(1, 1, "profiles", 1, "settled", 1, "", at(0) + n * 1_000_000, 0, None, "ok", 1, 2, 1, None) for n in range(12_000)]
    async with crawled.transaction() as tx:
        await tx.execute_many(_CALL, rows)
    async with crawled.reading() as tx:
        course = await paces.read_course(tx, 1)
    assert not course.is_exact
    assert course.sums["profiles"][0] == pytest.approx(12_030, rel=0.02)
    assert course.rates["profiles"][-2] == pytest.approx(120, rel=0.01)


async def test_the_frontier_is_told_by_state_age_and_class(crawled: Database) -> None:
    async with crawled.reading() as tx:
        profiles, timeline, _ = await frontier.read_frontier(tx, crawled, 1, FLOW, NOW)
        first = await frontier.read_next(tx, profiles.lane)
    assert profiles.states == {TaskState.WAITING: 2, TaskState.ASLEEP: 1}
    assert {age: count for age, count in profiles.ages.items() if count} == {"never": 1, "within the hour": 1, "longer ago": 1}
    assert profiles.classes == {100: 1, 81: 1, 0: 1}
    assert (timeline.waiting, timeline.classes) == (2, {})
    assert [task.target for task in first] == ["did:2", "did:1"]


async def test_targets_are_counted_by_where_they_came_from(crawled: Database) -> None:
    async with crawled.reading() as tx:
        led = await frontier.read_led(tx, crawled, 1, NOW)
    assert {edge: each.targets for edge, each in led.items()} == {("seeds", "profiles"): 3, ("profiles", "timeline"): 2}
    assert led["profiles", "timeline"].a_minute == pytest.approx(2 / 9)


async def test_each_facet_has_its_last_messages(crawled: Database) -> None:
    async with crawled.reading() as tx:
        found = await messages.read_messages(tx, 1, each=2)
    assert {facet: [line.call for line in lines] for facet, lines in found.items()} == {
        "jetstream": [33], "profiles": [30, 29], "timeline": [32, 31],
    }  # fmt: skip


def load(facet: str, waiting: int) -> frontier.LaneLoad:
    return frontier.LaneLoad(
        lane=1, facet=facet, service="here", states={TaskState.WAITING: waiting}, ages={}, classes={}, is_exact=True
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
