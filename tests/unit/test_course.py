"""What a rehearsal says of times beyond its end."""

from __future__ import annotations

from datetime import timedelta

import pytest

from bowerbird.crawl.flow import Stop
from bowerbird.planning.course import NEVER, Course, Sample

DAY = timedelta(days=1)


def course(stop: Stop, *, is_finished: bool = False, reason: str = "") -> Course:
    """Two days in which a hundred calls and ten posts a day were counted, all of them stored."""
    samples = tuple(
        Sample(at=n * DAY / 4, calls=25 * n, posts=100 + 2.5 * n, done=9, complete=1.0, wanted=round(100 + 2.5 * n))
        for n in range(9)
    )
    return Course(factor=0.5, samples=samples, is_finished=is_finished, uses=(), buckets=(), stop=stop, reason=reason)


def test_a_crawl_without_conditions_goes_on_for_ever() -> None:
    endless = course(Stop())
    assert endless.end is None
    assert endless.count("calls", 30 * DAY) == pytest.approx(6_000)
    assert endless.complete(30 * DAY) == 1.0


def test_a_time_limit_ends_what_would_go_on() -> None:
    limited = course(Stop(duration=3 * DAY))
    assert limited.end == (3 * DAY, "it may run for 72 hours")
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


def test_a_crawl_that_has_asked_everything_stays_complete() -> None:
    done = course(Stop(duration=3 * DAY), is_finished=True)
    assert done.end == (2 * DAY, "")
    assert done.complete(NEVER) == 1.0
