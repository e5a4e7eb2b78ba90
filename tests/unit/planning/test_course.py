"""What a rehearsal says of times beyond its end."""

from __future__ import annotations

from datetime import timedelta

import pytest
from msgspec import structs

from bowerbird.cli.screens.plan_page import rows_of
from bowerbird.flows.flow import Stop
from bowerbird.planning.budget import Means
from bowerbird.planning.course import ENOUGH, HORIZONS, NEVER, Course, Milestone
from bowerbird.planning.plan import Plan, figures, notes, reckoned

DAY = timedelta(days=1)


def course(stop: Stop, *, is_finished: bool = False, reason: str = "") -> Course:
    """Two days in which a hundred calls and ten posts a day were counted, all of them stored."""
    samples = tuple(
        Milestone(at=n * DAY / 4, calls=25 * n, posts=100 + 2.5 * n, done=9, complete=1.0, wanted=round(100 + 2.5 * n))
        for n in range(9)
    )
    return Course(factor=0.5, samples=samples, is_finished=is_finished, uses=(), buckets=(), stop=stop, reason=reason)


def test_a_crawl_without_conditions_goes_on_for_ever() -> None:
    endless = course(Stop())
    assert endless.end is None
    assert endless.count("calls", 30 * DAY) == pytest.approx(6_000)
    assert endless.complete(30 * DAY) == 1.0


def test_share_of_answered_questions_is_never_negative_when_tasks_are_retired() -> None:
    samples = tuple(Milestone(at=n * DAY / 24, done=60 - 10 * n, waiting=20) for n in range(6))
    retiring = Course(factor=1, samples=samples, is_finished=False, uses=(), buckets=(), was_cut=True)
    assert retiring.complete(DAY) == 0.0


def test_a_time_limit_ends_what_would_go_on() -> None:
    limited = course(Stop(duration=3 * DAY))
    assert limited.end is not None
    assert limited.end[0] == 3 * DAY
    assert "3 d 0 h" in limited.end[1]
    assert limited.count("calls", 30 * DAY) == limited.count("calls", 3 * DAY) == pytest.approx(600)


def test_a_number_of_calls_ends_it_when_they_will_have_been_made() -> None:
    limited = course(Stop(calls=1_000, duration=40 * DAY))
    assert limited.end is not None
    assert limited.end[0] / DAY == pytest.approx(5)
    assert limited.end[1] == "1,000 calls are reached"
    assert limited.count("calls", 30 * DAY) == pytest.approx(1_000)


def test_what_is_written_after_the_end_is_missing() -> None:
    limited = course(Stop(duration=3 * DAY))
    assert limited.complete(3 * DAY) == 1.0
    assert limited.complete(13 * DAY) == pytest.approx(130 / 230, rel=0.01)


def test_the_same_calls_at_another_pace_take_as_much_longer_as_that_was_slower_so_far() -> None:
    whole = course(Stop(), is_finished=True)
    brief = structs.replace(whole, samples=tuple(structs.replace(each, at=each.at / 2) for each in whole.samples[:4]))
    faster = whole.as_fast_as(brief)
    assert faster.end == (DAY, "")
    assert faster.count("calls", DAY) == whole.count("calls", 2 * DAY)
    assert whole.as_fast_as(structs.replace(whole, samples=(Milestone(at=DAY),))) == whole


def test_between_two_looks_calls_are_reached_as_if_they_were_made_evenly() -> None:
    whole = course(Stop())
    assert whole.reached(25) == DAY / 4
    assert whole.reached(30) == DAY * 3 / 10
    assert whole.reached(9_999) == 2 * DAY


def test_a_crawl_that_has_asked_everything_stays_complete() -> None:
    done = course(Stop(duration=3 * DAY), is_finished=True)
    assert done.end == (2 * DAY, "")
    assert done.complete(NEVER) == 1.0


def ending(*, goes_round: bool) -> Course:
    """Two days in which a hundred tasks are known and two are done an hour; four calls an hour."""
    samples = tuple(Milestone(at=n * DAY / 4, calls=24 * n, done=12 * n, waiting=100 - 12 * n) for n in range(1, 9))
    return Course(factor=0.5, samples=samples, is_finished=False, uses=(), buckets=(), goes_round=goes_round)


def test_what_does_not_go_round_ends_when_everything_is_asked_and_costs_nothing_more() -> None:
    once = ending(goes_round=False)
    assert once.end == (2 * DAY + timedelta(hours=2), "")
    assert once.count("calls", 30 * DAY) == pytest.approx(2 * (192 + 8))
    assert once.complete(30 * DAY) == 1.0
    assert ending(goes_round=True).end is None


def test_a_sample_ends_with_the_calls_that_make_it_good_enough() -> None:
    walk = structs.replace(course(Stop(half_width=0.05)), enough=300)
    assert walk.end == (3 * DAY, ENOUGH)
    assert walk.done_after == 3 * DAY
    assert walk.count("calls", 30 * DAY) == pytest.approx(600)


def test_the_disk_grows_when_the_room_left_by_bills_is_filled() -> None:
    samples = tuple(Milestone(at=n * DAY, bytes=1_000, free=300, kept=500 + 100 * n) for n in range(3))
    billed = Course(factor=1, samples=samples, is_finished=False, uses=(), buckets=())
    assert [billed.count("bytes", n * DAY) for n in (2, 4, 7)] == pytest.approx([1_000, 1_000, 1_200])


def test_what_the_network_does_not_show_never_becomes_complete() -> None:
    looks = [(6, 0.5), (24, 0.7), (48, 0.8), (48.1, 0.8)]
    samples = tuple(Milestone(at=timedelta(hours=at), done=1, complete=part, wanted=100, hidden=10) for at, part in looks)
    reading = Course(factor=1, samples=samples, is_finished=False, uses=(), buckets=())
    assert reading.complete(2.5 * DAY) == pytest.approx(0.85, abs=0.01)
    assert reading.complete(7 * DAY) == pytest.approx(0.9)


def spending(means: Means, *, was_cut: bool = False) -> Course:
    """Two days in which ten dollars a day were spent, in a model of half the size."""
    samples = tuple(Milestone(at=n * DAY / 4, calls=25 * n, dollars=1.25 * n, done=9) for n in range(9))
    return Course(factor=0.5, samples=samples, is_finished=False, uses=(), buckets=(), means=means, was_cut=was_cut)


def test_a_plan_ends_where_the_budget_does_and_names_money() -> None:
    limited = spending(Means(60.0, is_monthly=False))
    assert limited.end is not None
    assert limited.end[0] / DAY == pytest.approx(6)
    assert "$60.00" in limited.end[1]
    assert limited.is_spent
    assert limited.count("dollars", 30 * DAY) == pytest.approx(60)


def test_a_month_s_budget_that_lasts_for_the_month_ends_nothing() -> None:
    assert spending(Means(350.0, is_monthly=True)).end is None
    soon = spending(Means(100.0, is_monthly=True)).end
    assert soon is not None
    assert "$100.00" in soon[1]
    assert soon[1] != spending(Means(100.0, is_monthly=False)).end[1], "a month's budget comes again"  # type: ignore[index]


def test_what_is_multiplied_from_a_world_that_was_cut_early_says_so() -> None:
    plenty = Means(1e6, is_monthly=True)
    short, whole = spending(plenty, was_cut=True), spending(plenty)
    plan = Plan(courses=(whole, whole, short), credentials=(), variants={})
    assert not short.is_reckoned(2 * DAY)
    assert short.is_reckoned(7 * DAY)
    assert not whole.is_reckoned(7 * DAY)
    assert [figures(plan)["after"][name]["reckoned"] for name in ("day", "week", "month")] == [1.0, 3.5, 15.0]
    shown = " ".join(cell for row in brought(plan) for cell in row)
    assert "~ 1,400" in shown
    assert any("~" in note and "48.0 h" in note for note in notes(plan))


def test_what_ends_soon_after_its_rehearsal_is_hardly_multiplied_however_late_one_asks() -> None:
    walked = structs.replace(course(Stop()), was_cut=True, enough=300.0)
    plan = Plan(courses=(walked, walked, walked), credentials=(), variants={})
    assert [reckoned(plan, at) for at in HORIZONS.values()] == [1.0, pytest.approx(1.5), pytest.approx(1.5)]
    assert [note.partition(":")[0] for note in notes(plan)[1:]] == ["~ is reckoned"]


def test_beyond_thirty_times_what_was_rehearsed_nothing_is_foreseen() -> None:
    brief = structs.replace(
        spending(Means(1e6, is_monthly=True), was_cut=True), samples=(Milestone(at=DAY / 50, calls=9, done=1),)
    )
    plan = Plan(courses=(brief, brief, brief), credentials=(), variants={})
    assert [row[1:] for row in brought(plan) if row[0] == "calls"] == [("over 18", "over 18", "over 18")]


def brought(plan: Plan) -> list[tuple[str, ...]]:
    return list(rows_of(plan, {f"after a {name}": at for name, at in HORIZONS.items()}, is_on_x=True))
