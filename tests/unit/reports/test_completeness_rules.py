"""The arithmetic of the completeness ledger: counters against what is stored, times against rates, listings against their end."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from msgspec import structs

from bowerbird.crawl.answers.short_lists import shortfall
from bowerbird.crawl.work.lanes import Lane
from bowerbird.errors import Failure
from bowerbird.model import Page, Progress, Service, Task
from bowerbird.policies import RANKERS
from bowerbird.policies.registry import RankerSetting, ranker
from bowerbird.providers import provider
from bowerbird.providers.page import REPEATED
from bowerbird.reports.completeness.entries import Cause, Entry, Missing, Total, given_up
from bowerbird.reports.completeness.facts import ShortfallFacts, TaskFacts
from bowerbird.reports.completeness.judging import Evidence, Habits, habits_of, judge_account
from bowerbird.reports.completeness.lines.days import Days
from bowerbird.reports.completeness.rates import Rate, missed
from bowerbird.reports.completeness.told import Told

NOW = datetime(2026, 1, 5, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)


def task(**fields: Any) -> TaskFacts:
    values: dict[str, Any] = dict.fromkeys(("cursor", "due", "failure")) | {
        "target": "1", "state": "asleep", "ready": False, "attempts": 0, "visits": 1, "added_at": NOW - 9 * HOUR,
        "visited_at": NOW - HOUR,
    }  # fmt: skip
    return TaskFacts(**values | fields)


def evidence(claimed: int | None, counted: int, **fields: Any) -> Evidence:
    values: dict[str, Any] = {"claimed": claimed, "claimed_at": NOW, "counted": counted, "task": task(), "as_of": NOW}
    return Evidence(**values | fields)


def parts(account: Evidence) -> list[tuple[str, int]]:
    return [(str(part.cause), part.likely) for part in judge_account(account, Habits(deleted=0.0)).missing]


def test_what_is_counted_and_not_shown_by_a_whole_listing_is_hidden_from_us() -> None:
    assert parts(evidence(100, 97)) == [("protected", 3)]
    assert parts(evidence(100, 100)) == []


def test_what_a_listing_left_out_comes_first_then_what_waits() -> None:
    short = ShortfallFacts(cause="reach", detail="3,200 at most", missing=800, after=None, before=NOW)
    waiting = evidence(4100, 3200, shortfalls=[short], task=task(ready=True, state="waiting", due=NOW - HOUR))
    assert parts(waiting) == [("reach", 800), ("budget", 100)]
    assert parts(structs.replace(waiting, was_out=True)) == [("reach", 800), ("outage", 100)]


def test_each_shortfall_is_blamed_only_for_what_it_added() -> None:
    first, second = (
        ShortfallFacts(cause=cause, detail="", missing=missing, after=None, before=None)
        for cause, missing in (("reach", 50), ("budget", 80))
    )
    assert parts(evidence(180, 100, shortfalls=[first, second])) == [("reach", 50), ("budget", 30)]


def test_posts_deleted_since_they_were_stored_widen_the_range_upwards() -> None:
    verdict = judge_account(evidence(1000, 1000, unconfirmed=1000), Habits(deleted=0.01))
    assert (verdict.low, verdict.high) == (0, 17)
    assert "may have been deleted since" in verdict.certainty


def test_how_common_deletion_is_is_learned_from_accounts_whose_listing_is_whole() -> None:
    whole = [evidence(95, 100), evidence(100, 100), evidence(110, 100)]
    pending = evidence(900, 100, task=task(visits=0))
    habits = habits_of([*whole, pending])
    assert habits.deleted == pytest.approx(5 / 300)
    assert habits.hidden == pytest.approx(10 / 305)


@pytest.mark.parametrize(
    ("fields", "cause"),
    [
        ({"absence": "suspended"}, "deleted"),
        ({"opts_out": True}, "opted_out"),
        ({"is_protected": True}, "protected"),
        ({"task": task(visits=0, state="waiting", ready=True)}, "budget"),
        ({"task": task(visits=0, state="waiting", ready=True), "was_out": True}, "outage"),
        ({"task": task(visits=0, state="failed", failure=Failure("unreadable", "").to_json())}, "unknown"),
    ],
)
def test_without_a_counter_the_cause_is_known_and_the_number_is_not(fields: dict[str, Any], cause: str) -> None:
    verdict = judge_account(evidence(None, 0, **fields), Habits())
    assert ([str(part.cause) for part in verdict.missing], verdict.high) == ([cause], None)


def test_posts_kept_without_their_content_are_the_least_that_is_missing_of_who_opted_out() -> None:
    verdict = judge_account(evidence(None, 0, opts_out=True, emptied=7), Habits())
    assert (verdict.low, verdict.likely, verdict.high) == (7, 7, None)
    assert {part.cause for part in verdict.missing} == {Cause.OPTED_OUT}


def test_what_was_written_since_the_last_look_is_estimated_from_the_week_before() -> None:
    unwatched = evidence(
        700, 700, claimed_at=NOW - timedelta(days=1), recent=70, unwatched=(Cause.OUTAGE, "the service was down")
    )
    verdict = judge_account(unwatched, Habits(deleted=0.0))
    (part,) = verdict.missing
    assert (part.cause, part.likely, part.low <= 10 <= (part.high or 0)) == (Cause.OUTAGE, 10, True)
    assert (verdict.low, verdict.likely) == (0, 10)


def test_a_stretch_of_days_is_known_better_than_one_of_an_hour() -> None:
    rate = Rate(2400, timedelta(days=10))
    hour, days = (missed(rate, Cause.OUTAGE, "", NOW, NOW + span) for span in (HOUR, timedelta(days=16)))
    assert (hour.likely, days.likely) == (10, 3840)
    assert (hour.high or 0) / hour.likely > 2 * (days.high or 0) / days.likely
    assert missed(Rate(0, timedelta(0)), Cause.OUTAGE, "", NOW, NOW + HOUR).high is None


async def test_what_is_missing_is_laid_to_the_days_it_was_written_on() -> None:
    days = Days()
    within = Missing(cause=Cause.OUTAGE, low=2, likely=4, high=8, why="", after=NOW, before=NOW + HOUR)
    across = Missing(cause=Cause.BUDGET, low=8, likely=10, high=12, why="", after=NOW, before=NOW + 24 * HOUR)
    older = Missing(cause=Cause.REACH, low=5, likely=5, high=5, why="", before=NOW)
    days.add(Entry(subject="1", missing=(within, across, older)))

    class Empty:
        async def fetch(self, sql: str) -> list[Any]:
            return []

        async def fetch_one(self, sql: str) -> None:
            return None

    found = {entry.subject: entry for entry in await days.entries(Empty())}  # type: ignore[arg-type]
    assert [(name, entry.low, entry.likely, entry.high) for name, entry in found.items()] == [
        ("2026-01-05", 2, 9, 20),
        ("2026-01-06", 0, 5, 12),
        ("undated", 5, 5, 5),
    ]


def test_a_sum_has_no_upper_bound_once_a_line_has_none() -> None:
    total = Total()
    total.add(Entry(subject="1", captured=3, low=1, likely=2, high=5))
    assert (total.low, total.likely, total.high, total.unbounded) == (1, 2, 5, 0)
    for high in (None, 5):
        total.add(Entry(subject="1", captured=3, low=1, likely=2, high=high))
    assert (total.entries, total.captured, total.low, total.high, total.unbounded) == (3, 9, 3, None, 1)


def lane(facet: str, **fields: Any) -> Lane:
    speaks = provider("twitter_v1")
    assert "fifo" in RANKERS
    return Lane(
        lane=1,
        service=Service(name="s", provider="twitter_v1", base="https://s.example"),
        provider=speaks,
        facet=speaks.facets[facet],
        ranker=ranker("fifo", {}, None, RankerSetting(speaks.facets[facet], ())),
        seeder=None,  # type: ignore[arg-type]
        **fields,
    )


def leased(pages: int = 0, visited_at: datetime | None = None, newest: str | None = None) -> Task:
    return Task(task=1, lane=1, target="1", token=1, pages=pages, visited_at=visited_at, progress=Progress(newest=newest))


def test_a_listing_that_came_to_its_own_end_lacks_nothing() -> None:
    assert shortfall(lane("timeline"), leased(pages=3), Page(results=20), NOW) is None
    assert shortfall(lane("search"), leased(visited_at=NOW - timedelta(days=6)), Page(results=3), NOW) is None


@pytest.mark.parametrize(
    ("listing", "task", "page", "cause"),
    [
        (lane("timeline", max_pages=2), leased(pages=1), Page(results=200, cursor="9"), "budget"),
        (lane("timeline"), leased(pages=15), Page(results=190), "reach"),
        (lane("timeline", hints={"limit": "100"}), leased(pages=31), Page(results=100), "reach"),
        (lane("timeline"), leased(pages=4), Page(results=150), "reach"),
        (lane("followers"), leased(), Page(results=5, is_whole=False, detail=REPEATED), "unknown"),
        (lane("search"), leased(visited_at=NOW - timedelta(days=9), newest="5"), Page(results=3), "reach"),
    ],
)
def test_a_listing_that_ended_before_its_end_says_why(listing: Lane, task: Task, page: Page, cause: str) -> None:
    found = shortfall(listing, task, page, NOW)
    assert found is not None
    assert found.cause == cause


def test_what_is_told_twice_is_counted_once() -> None:
    part = Missing(cause=Cause.BUDGET, low=1, likely=2, high=3, why="", after=NOW - HOUR, before=NOW)
    line = Entry(subject="x:1", captured=5, deleted=1, low=1, likely=2, high=3, missing=(part,))
    again = structs.replace(line, crawl="other", is_repeated=True)
    total = Total()
    for entry in (line, again):
        total.add(entry)
    assert (total.entries, total.captured, total.deleted, total.likely, total.causes["budget"]) == (1, 5, 1, 2, 2)


def test_an_account_was_told_of_once_for_each_kind_of_item() -> None:
    told = Told()
    accounts = [("posts", 7, "a"), ("posts", 8, "b"), ("followers", 7, "a"), ("posts", 1_000_000, "c"), ("posts", None, "d")]
    assert [told.again(*each) for each in accounts] == [False] * 5
    assert [told.again(*each) for each in accounts] == [True] * 5
    assert not told.again("posts", 6, "e")


def test_what_a_server_does_not_offer_is_a_matter_of_reach_and_not_unknown() -> None:
    not_offered = Failure("not_offered", "404 Not implemented").to_json()
    assert given_up(not_offered) == (Cause.REACH, "not offered by the server: 404 Not implemented")
    assert given_up(Failure("unreadable", "404").to_json()) == (Cause.UNKNOWN, "given up: unreadable (404)")
