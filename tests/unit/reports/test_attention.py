"""What needs a person, and what each is told to do about it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from msgspec import structs

from bowerbird.crawl.process.endings import NOTHING_LEFT
from bowerbird.crawl.process.workers.running import Member
from bowerbird.errors import Failure
from bowerbird.limits.budget import BudgetStatus
from bowerbird.model import CrawlState, MediaState, Outcome, StreamState
from bowerbird.reports.counting.counts import Count
from bowerbird.reports.modules import Failing
from bowerbird.reports.overview.attention import Need, needs
from bowerbird.reports.status.health import Completeness, GoneCounts, Health, Pace, Quarantined, Refusal
from bowerbird.reports.status.left_out import NotAsked
from bowerbird.reports.status.status import Status
from bowerbird.reports.status.streams import StreamReport
from bowerbird.reports.status.summary import CrawlReport, ErrorNote, LedgerReport, Stored, Summary
from bowerbird.reports.status.timings import Timings

NOW = datetime(2026, 3, 1, tzinfo=UTC)
COMMAND = "bowerbird crawl a.toml"
CRAWL = CrawlReport(
    crawl=1, name="a", flow='{"name": "topic"}', state=CrawlState.RUNNING, wanted=CrawlState.RUNNING, reason=None, calls=1,
    items=1, users=1, posts=0, created_at=NOW, updated_at=NOW,
)  # fmt: skip
PROCESS = Member(worker=1, crawl="a", host="here", pid=1, started_at=NOW, seen_at=NOW)
HEALTH = Health(
    pace=Pace(0, 0, None, None), refusals=(), quarantine=(), completeness=Completeness(0, 0, 0), posts={},
    gone=GoneCounts(0, 0, 0), media=dict[MediaState, Count](), media_trouble="", size=0,
)  # fmt: skip
STORED = Stored(**dict.fromkeys(Stored.__struct_fields__, Count(0)))
SUMMARY = Summary(
    crawls=(CRAWL,), stored=STORED, lanes=(), ledgers=(), calls={}, errors=(),
    timings=Timings(**dict.fromkeys(Timings.__struct_fields__)),  # type: ignore[arg-type]
)  # fmt: skip
WELL = Status(now=NOW, processes=(PROCESS,), summary=SUMMARY, health=HEALTH)


def told(crawl: CrawlReport | None = None, health: Any = None, **more: Any) -> list[Need]:
    summary = {name: more.pop(name) for name in ("ledgers", "errors") if name in more}
    if crawl is not None:
        summary["crawls"] = (crawl,)
    status = structs.replace(
        WELL, summary=structs.replace(SUMMARY, **summary), health=structs.replace(HEALTH, **(health or {})), **more
    )
    return needs(status, {"a": COMMAND})


def test_a_crawl_that_runs_well_needs_nobody() -> None:
    assert told() == []
    done = structs.replace(CRAWL, state=CrawlState.FINISHED, reason=Failure(NOTHING_LEFT, ""))
    assert told(done, processes=()) == []


@pytest.mark.parametrize(
    ("state", "reason", "named", "is_bad"),
    [
        (CrawlState.FAILED, Failure("disk_full", "the disk is full"), "the disk is full", True),
        (CrawlState.RUNNING, None, "a ", True),
        (CrawlState.STOPPED, Failure("stopped", "asked to"), "asked to", False),
        (CrawlState.FINISHED, Failure("limit_reached", "ran for 3 h"), "ran for 3 h", False),
    ],
)
def test_a_crawl_that_does_not_run_is_told_with_the_command_that_goes_on(
    state: CrawlState, reason: Failure | None, named: str, is_bad: bool
) -> None:
    (need,) = told(structs.replace(CRAWL, state=state, reason=reason), processes=())
    assert named in need.what
    assert (need.command, need.is_bad) == (COMMAND, is_bad)
    assert (need.is_wished, need.label, need.crawl) == (not is_bad, "Start", "a")


def test_a_crawl_that_was_paused_is_told_without_alarm() -> None:
    (need,) = told(structs.replace(CRAWL, state=CrawlState.PAUSED, wanted=CrawlState.PAUSED))
    assert (need.is_bad, need.is_wished, need.label, need.command) == (False, True, "Resume", "bowerbird resume --crawl a")
    own = structs.replace(WELL.processes[0], crawl="a b")
    (spaced,) = told(structs.replace(CRAWL, name="a b", state=CrawlState.PAUSED, wanted=CrawlState.PAUSED), processes=(own,))
    assert spaced.command == "bowerbird resume --crawl 'a b'"
    assert told(structs.replace(CRAWL, state=CrawlState.PAUSED)) == [], "it is about to go on"


def test_a_refused_credential_comes_first_with_the_command_that_renews_it() -> None:
    refusal = Refusal("example.org", "mastodon", "mine", "revoked", NOW)
    found = told(health={"refusals": (refusal,), "quarantine": (Quarantined("timeline", "no id", 3, 3),)})
    assert [need.is_bad for need in found] == [True, False]
    assert found[0].command == "bowerbird credentials add mine --provider mastodon --replace"
    assert "3 items" in found[1].what
    assert "timeline" in found[1].what


def test_money_that_runs_out_is_told_with_the_time_when_it_goes_on() -> None:
    month = BudgetStatus(of="x", is_crawl=False, spent=9.5, reserved=0.2, allowed=10.0, resets_at=NOW + timedelta(days=3))
    own = BudgetStatus(of="a", is_crawl=True, spent=5.0, reserved=0, allowed=5.0)
    plenty = BudgetStatus(of="a", is_crawl=True, spent=1.0, reserved=0, allowed=5.0)
    assert told(purses=(plenty,)) == []
    first, second = told(purses=(month, own))
    assert all(value in first.what for value in ("x", "$9.50", "$10.00"))
    assert "$5.00" in second.what
    assert "3 d 0 h" in first.advice
    assert "[stop]" in second.advice


def test_gaps_modules_limits_errors_and_what_is_not_asked_are_told() -> None:
    stream = StreamReport(
        stream=1, crawl="a", service="s", name="filter", channel="filter", state=StreamState.LIVE, reason=None, connections=1,
        events=1, event_at=None, heard_at=None, connected_at=None, gaps=2, open_gaps=1,
    )  # fmt: skip
    ledger = LedgerReport(
        bucket="s/token:mine/timeline", allowance=9, remaining=9, in_flight=0, spent=0, refused=1, reset_at=None,
        backoff_until=NOW + timedelta(minutes=2), next_at=None,
    )  # fmt: skip
    lacking = NotAsked(
        crawl="a", service="s", facet="likes", code="needs_credential", why="no key", advice="add one", since=NOW, targets=4
    )
    late = ErrorNote(at=NOW - timedelta(minutes=1), part="worker", outcome=None, call=None, message="oops")
    old = structs.replace(late, at=NOW - timedelta(days=1))
    found = told(
        streams=(stream,), ledgers=(ledger,), left_out=(lacking,), errors=(late,), failing=(Failing("a", "growth", 2, "no"),)
    )
    said = " | ".join(need.what for need in found)
    for part in ("1 gap", "2 min", "4 targets", "oops", "growth", "2 times"):
        assert part in said
    assert told(errors=(old,)) == []


def test_a_fault_that_is_tried_again_is_told_when_there_are_several_of_it() -> None:
    fault = ErrorNote(at=NOW - timedelta(minutes=1), part="s/timeline", outcome=Outcome.OVERLOADED, call=7, message="502")
    assert told(errors=(fault, fault)) == []
    assert ["502" in need.what for need in told(errors=(fault, fault, fault))] == [True]
    other = structs.replace(fault, outcome=Outcome.BAD_REQUEST, message="no such field")
    assert ["no such field" in need.what for need in told(errors=(fault, other))] == [True]
