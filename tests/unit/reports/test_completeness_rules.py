"""The arithmetic of the completeness ledger: counters against what is stored, times against rates, listings against their end."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from msgspec import structs

from bowerbird.clock import to_micros
from bowerbird.crawl.answers.short_lists import shortfall
from bowerbird.crawl.work.lanes import Lane
from bowerbird.errors import Failure
from bowerbird.model import Page, Progress, Service, Task
from bowerbird.policies import RANKERS
from bowerbird.policies.registry import RankerSetting, ranker
from bowerbird.providers import provider
from bowerbird.providers.page import REPEATED
from bowerbird.reports.completeness import Cause, Days, Entry, Missing, Total
from bowerbird.reports.completeness_accounts import Account, Shares, assess_account, learn_shares
from bowerbird.reports.completeness_entries import Queue, Shortfall, TaskFacts, estimate

NOW = datetime(2026, 1, 5, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)


AT = to_micros(NOW)
MICROS_PER_HOUR = HOUR // timedelta(microseconds=1)
X = provider("x")
QUEUE = Queue(lane=1, crawl="c", service=1, service_name="s", network="x", facet=X.facets["timeline"], as_of=AT)
DOWN = structs.replace(QUEUE, outages=[(AT - 99 * MICROS_PER_HOUR, None)])


def task(**fields: Any) -> TaskFacts:
    values: dict[str, Any] = dict.fromkeys(("cursor", "due", "failure")) | {
        "target": "1", "state": "asleep", "ready": False, "attempts": 0, "visits": 1, "added_at": AT - 9 * MICROS_PER_HOUR,
        "visited_at": AT - MICROS_PER_HOUR,
    }  # fmt: skip
    return TaskFacts(**values | fields)


def account(claimed: int | None, counted: int, **fields: Any) -> Account:
    values: dict[str, Any] = {"queue": QUEUE, "target": "1", "claimed": claimed, "claimed_at": AT, "counted": counted}
    return Account(**values | {"task": task()} | fields)


def parts(account: Account) -> list[tuple[str, int]]:
    return [(str(part.cause), part.likely) for part in assess_account(account, Shares(deleted=0.0)).missing]


def test_what_is_counted_and_not_shown_by_a_whole_listing_is_hidden_from_us() -> None:
    assert parts(account(100, 97)) == [("protected", 3)]
    assert parts(account(100, 100)) == []


def test_what_a_listing_left_out_comes_first_then_what_waits() -> None:
    short = Shortfall(cause=Cause.REACH, detail="3,200 at most", missing=800, before=AT)
    waiting = account(4100, 3200, shortfalls=[short], task=task(ready=True, state="waiting", due=AT - MICROS_PER_HOUR))
    assert parts(waiting) == [("reach", 800), ("budget", 100)]
    assert parts(structs.replace(waiting, queue=DOWN)) == [("reach", 800), ("outage", 100)]


def test_each_shortfall_is_blamed_only_for_what_it_added() -> None:
    first, second = (
        Shortfall(cause=cause, detail="", missing=missing) for cause, missing in ((Cause.REACH, 50), (Cause.BUDGET, 80))
    )
    assert parts(account(180, 100, shortfalls=[first, second])) == [("reach", 50), ("budget", 30)]


def test_posts_deleted_since_they_were_stored_widen_the_range_upwards() -> None:
    entry = assess_account(account(1000, 1000, unconfirmed=1000), Shares(deleted=0.01))
    assert (entry.low, entry.high) == (0, 17)
    assert entry.certainty != assess_account(account(1000, 1000), Shares(deleted=0.01)).certainty


def test_how_common_deletion_is_is_learned_from_accounts_whose_listing_is_whole() -> None:
    whole = [account(95, 100), account(100, 100), account(110, 100)]
    pending = account(900, 100, task=task(visits=0))
    shares = learn_shares([*whole, pending])
    assert shares.deleted == pytest.approx(5 / 300)
    assert shares.hidden == pytest.approx(10 / 305)


@pytest.mark.parametrize(
    ("fields", "cause"),
    [
        ({"absence": "suspended"}, "deleted"),
        ({"opts_out": True}, "opted_out"),
        ({"is_protected": True}, "protected"),
        ({"task": task(visits=0, state="waiting", ready=True)}, "budget"),
        ({"task": task(visits=0, state="waiting", ready=True), "queue": DOWN}, "outage"),
        ({"task": task(visits=0, state="failed", failure=Failure("unreadable", "").to_json())}, "unknown"),
    ],
)
def test_without_a_counter_the_cause_is_known_and_the_number_is_not(fields: dict[str, Any], cause: str) -> None:
    entry = assess_account(account(None, 0, **fields), Shares())
    assert ([str(part.cause) for part in entry.missing], entry.high) == ([cause], None)


def test_posts_kept_without_their_content_are_the_least_that_is_missing_of_who_opted_out() -> None:
    entry = assess_account(account(None, 0, opts_out=True, emptied=7), Shares())
    assert (entry.low, entry.likely, entry.high) == (7, 7, None)
    assert {part.cause for part in entry.missing} == {Cause.OPTED_OUT}


def test_what_was_written_since_the_last_look_is_estimated_from_the_week_before() -> None:
    unwatched = account(700, 700, claimed_at=AT - 24 * MICROS_PER_HOUR, recent=70, overdue=(Cause.OUTAGE, "the service was down"))
    entry = assess_account(unwatched, Shares(deleted=0.0))
    (part,) = entry.missing
    assert (part.cause, part.likely, part.low <= 10 <= (part.high or 0)) == (Cause.OUTAGE, 10, True)
    assert (entry.low, entry.likely) == (0, 10)


def test_a_stretch_of_days_is_known_better_than_one_of_an_hour() -> None:
    hours = MICROS_PER_HOUR
    hour, days = (estimate(2400, 240 * hours, Cause.OUTAGE, "", AT, AT + span) for span in (hours, 16 * 24 * hours))
    assert (hour.likely, days.likely) == (10, 3840)
    assert (hour.high or 0) / hour.likely > 2 * (days.high or 0) / days.likely
    assert estimate(0, 0, Cause.OUTAGE, "", AT, AT + hours).high is None


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


def test_why_waiting_not_offered_is_reach_and_other_failures_unknown() -> None:
    failures = Failure("not_offered", "404 Not implemented"), Failure("unreadable", "404")
    not_offered, unreadable = (task(state="failed", failure=failure.to_json()) for failure in failures)
    cause, why = not_offered.why_waiting(QUEUE)
    assert cause is Cause.REACH
    assert "404 Not implemented" in why
    cause, why = unreadable.why_waiting(QUEUE)
    assert cause is Cause.UNKNOWN
    assert "unreadable" in why
    assert "404" in why
