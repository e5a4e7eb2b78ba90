"""What becomes of a task after a call."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from bowerbird.crawl.answers.verdict import MOST_ATTEMPTS, Verdict, judge, part_to_ask, progress_after, retry_delay, settled
from bowerbird.errors import Failure
from bowerbird.model import Outcome, Page, Progress, Task, Visit
from bowerbird.policies.registry import ranker

NOW = datetime(2026, 3, 1, tzinfo=UTC)


def task(number: int = 1, **values: object) -> Task:
    return Task(task=number, lane=1, target=f"t{number}", token=5, **values)  # type: ignore[arg-type]


def visit(of: Task, outcome: Outcome = Outcome.OK, *, is_finished: bool = True) -> Visit:
    return Visit(task=of, at=NOW, outcome=outcome, is_finished=is_finished)


def test_a_page_with_a_cursor_goes_on_and_one_without_is_a_visit() -> None:
    assert judge(task(), Page(cursor="2"), 1) is Verdict.CONTINUES
    assert judge(task(), Page(), 1) is Verdict.VISITED


def test_a_listing_ends_after_the_pages_it_may_take() -> None:
    assert judge(task(pages=1), Page(cursor="3"), 1, max_pages=3) is Verdict.CONTINUES
    assert judge(task(pages=2), Page(cursor="4"), 1, max_pages=3) is Verdict.VISITED


@pytest.mark.parametrize(
    "outcome", [Outcome.NOT_FOUND, Outcome.SUSPENDED, Outcome.PROTECTED, Outcome.DEACTIVATED, Outcome.BLOCKED]
)
def test_what_the_service_says_about_a_target_is_an_answer_and_not_retried(outcome: Outcome) -> None:
    assert judge(task(), Page(outcome=outcome), 1) is Verdict.VISITED


@pytest.mark.parametrize("outcome", [Outcome.RATE_LIMITED, Outcome.SECOND_LIMIT, Outcome.QUOTA_EXHAUSTED, Outcome.BAD_TOKEN])
def test_limits_and_tokens_leave_a_task_as_it_was(outcome: Outcome) -> None:
    before = task(attempts=3, pages=4, progress=Progress("9", "5", "12"))
    after = settled(visit(before, outcome), Page(outcome=outcome), judge(before, Page(outcome=outcome), 1), ranker("fifo"))
    assert (after.attempts, after.pages, after.progress, after.placement.due) == (3, 4, before.progress, NOW)
    assert not after.is_visit


@pytest.mark.parametrize("outcome", [Outcome.OVERLOADED, Outcome.UNREADABLE, Outcome.UNANSWERED])
def test_passing_faults_are_retried_later_and_only_nonsense_is_given_up_at_last(outcome: Outcome) -> None:
    page = Page(outcome=outcome, detail="502 Bad Gateway")
    first = settled(visit(task(), outcome), page, judge(task(), page, 1), ranker("fifo"))
    assert first.placement.due == NOW + timedelta(seconds=2)
    assert first.failure is None
    last = task(attempts=MOST_ATTEMPTS - 1)
    end = settled(visit(last, outcome), page, judge(last, page, 1), ranker("fifo"))
    assert end.failure == (Failure(outcome, "502 Bad Gateway") if outcome is Outcome.UNREADABLE else None)


def test_a_refused_question_is_given_up_alone_but_divided_in_a_batch() -> None:
    page = Page(outcome=Outcome.BAD_REQUEST)
    assert judge(task(), page, 1) is Verdict.GIVEN_UP
    assert judge(task(), page, 40) is Verdict.RETRY


def test_suspects_of_a_failed_batch_are_asked_in_ever_smaller_groups() -> None:
    tasks = [task(n, attempts=1 if n < 60 else 0) for n in range(100)]
    asked, later = part_to_ask(tasks, 100)
    assert [each.task for each in asked] == list(range(25))
    assert len(later) == 75
    alone, rest = part_to_ask([task(1, attempts=4), task(2, attempts=4)], 100)
    assert (len(alone), len(rest)) == (1, 1)
    assert part_to_ask([task(1), task(2)], 100)[1] == []


def test_an_empty_answer_to_a_batch_is_asked_again_as_it_was() -> None:
    page = Page(is_doubtful=True)
    before = task(attempts=2, pages=1)
    after = settled(visit(before), page, judge(before, page, 20), ranker("fifo"))
    assert (after.attempts, after.pages, after.is_visit, after.failure) == (2, 2, False, None)
    assert after.placement.due == NOW + timedelta(seconds=4)


def test_an_incremental_listing_remembers_its_newest_item_only_when_it_ends() -> None:
    first = progress_after(task(), Page(cursor="50", head="99"), Verdict.CONTINUES)
    assert first == Progress("50", None, "99")
    second = progress_after(task(progress=first), Page(head="49"), Verdict.VISITED)
    assert second == Progress(None, "99", None)
    nothing_new = progress_after(task(progress=second), Page(), Verdict.VISITED)
    assert nothing_new == Progress(None, "99", None)


def test_a_failed_page_keeps_its_place_in_the_listing() -> None:
    middle = Progress("50", "10", "99")
    assert progress_after(task(progress=middle), Page(outcome=Outcome.OVERLOADED), Verdict.RETRY) == middle


def test_waits_grow_to_ten_minutes_and_no_further() -> None:
    delays = [retry_delay(attempts) for attempts in range(40)]
    assert delays == sorted(delays)
    assert delays[0] == timedelta(seconds=2)
    assert delays[-1] == timedelta(minutes=10)


def test_a_listing_that_is_given_up_begins_anew_the_next_time() -> None:
    before = task(pages=4, progress=Progress("a position that the service refuses", "5", "12"))
    after = settled(visit(before, Outcome.BAD_REQUEST), Page(outcome=Outcome.BAD_REQUEST), Verdict.GIVEN_UP, ranker("fifo"))
    assert (after.progress, after.pages) == (Progress(None, "5", None), 0)


def test_a_position_that_only_brings_errors_for_hours_is_left() -> None:
    trouble, at = Page(outcome=Outcome.OVERLOADED), Progress("poisoned", "5", "12")
    early = settled(visit(task(pages=4, attempts=5, progress=at)), trouble, Verdict.RETRY, ranker("fifo"))
    late = settled(visit(task(pages=4, attempts=2 * MOST_ATTEMPTS, progress=at)), trouble, Verdict.RETRY, ranker("fifo"))
    assert (early.progress, early.pages) == (at, 4)
    assert (late.progress, late.pages) == (Progress(None, "5", None), 0)
