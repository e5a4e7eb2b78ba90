"""How the calls of a crawl are spread over its time."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from math import inf

import pytest

from bowerbird.crawl.work.rhythm import EVEN, Rhythm, rhythm_of
from bowerbird.crawl.work.spread import KEPT, LEANING, Spread, pace_of, spread_over
from bowerbird.model import Charge, Limit

DAY = timedelta(days=1)
HOUR = timedelta(hours=1)
TWO_WEEKS = 14 * DAY
BEGAN = datetime(2026, 1, 5, 7, 30, tzinfo=UTC)
BY_DAY = rhythm_of([0] * 8 + [1_000] * 12 + [0] * 4)


def charge(bucket: str, allowance: int, window: timedelta = DAY, *, amount: int = 1, is_money: bool = False) -> Charge:
    return Charge(bucket, amount, Limit(bucket=bucket, allowance=allowance, window=window, is_money=is_money))


def test_without_an_end_to_keep_calls_for_they_go_evenly() -> None:
    spread = Spread(calls=10, length=10 * DAY)
    assert [spread.opens(made, BEGAN) for made in range(10)] == [BEGAN + number * DAY for number in range(10)]
    assert spread.leaning(timedelta(0)) == spread.leaning(9 * DAY) == 1.0


def test_what_is_kept_is_made_at_the_end_as_fast_as_the_limits_allow() -> None:
    spread = spread_over(1400, TWO_WEEKS, pace=400)
    early = round(1400 * (1 - KEPT))
    assert spread.opens(early, BEGAN) == BEGAN + spread.end_begins
    at_the_end = (1400 - early) / ((TWO_WEEKS - spread.end_begins) / DAY)
    assert 0.9 * 400 < at_the_end <= 400
    assert early / (spread.end_begins / DAY) < 100


@pytest.mark.parametrize("rhythm", [EVEN, BY_DAY])
def test_calls_open_one_after_the_other_and_the_last_before_the_time_is_over(rhythm: Rhythm) -> None:
    for calls, pace in ((1, 5.0), (2, 400.0), (1400, 101.0), (1400, 1e9), (1400, inf)):
        opens = [spread_over(calls, TWO_WEEKS, pace).opens(made, BEGAN, rhythm) for made in range(calls)]
        assert abs(opens[0] - BEGAN) < timedelta(seconds=1)
        assert opens == sorted(opens)
        assert opens[-1] < BEGAN + TWO_WEEKS


def test_calls_are_made_at_the_hours_at_which_people_write() -> None:
    opens = [Spread(calls=1000, length=10 * DAY).opens(made, BEGAN, BY_DAY) for made in range(1000)]
    by_day = sum(8 <= at.hour < 20 for at in opens)
    assert 930 < by_day < 960
    assert [sum(at < BEGAN + days * DAY for at in opens) for days in (1, 5, 10)] == pytest.approx([100, 500, 1000], abs=1)


def test_who_has_seen_few_posts_does_not_know_the_hours() -> None:
    assert rhythm_of([0] * 24) == EVEN
    one = rhythm_of([1] + [0] * 23)
    assert max(one.hours) < 1.1
    assert sum(one.hours) == pytest.approx(24)


@pytest.mark.parametrize("share", [0.0, 0.2, 0.5, 0.99, 1.0])
def test_a_rhythm_leads_from_one_moment_to_the_other(share: float) -> None:
    end = BEGAN + 3 * DAY + 5 * HOUR
    assert EVEN.between(BEGAN, end, share) - BEGAN == pytest.approx((end - BEGAN) * share, abs=timedelta(milliseconds=1))
    assert BEGAN <= BY_DAY.between(BEGAN, end, share) <= end


def test_the_end_takes_its_time_however_fast_the_service_is() -> None:
    assert spread_over(1400, TWO_WEEKS, pace=inf).end_takes >= TWO_WEEKS / 20


def test_look_ups_weigh_more_before_the_end_and_less_at_it() -> None:
    spread = spread_over(1400, TWO_WEEKS, pace=400)
    assert spread.leaning(timedelta(0)) == LEANING
    assert spread.leaning(spread.end_begins) == 1 / LEANING


@pytest.mark.parametrize("pace", [1.0, 50.0, 100.0])
def test_who_may_call_as_much_as_the_limits_allow_keeps_nothing(pace: float) -> None:
    spread = spread_over(1400, TWO_WEEKS, pace)
    assert spread.leaning(timedelta(0)) == spread.leaning(13 * DAY) == 1.0
    assert spread.opens(700, BEGAN) == BEGAN + 7 * DAY


def test_the_slowest_limit_of_each_credential_counts_and_a_shared_one_once() -> None:
    together = charge("together", 300)
    assert pace_of([{"a": (charge("a", 900), charge("a/daily", 100)), "b": (charge("b", 50),)}]) == 150
    assert pace_of([{"a": (charge("a", 900), together), "b": (charge("b", 900), together)}]) == 300
    assert pace_of([{"a": (charge("a", 10, timedelta(hours=1), amount=2),)}]) == 120


def test_money_is_no_pace() -> None:
    assert pace_of([{"a": (charge("purse", 3, is_money=True), charge("a", 900))}]) == 900
    assert pace_of([{None: ()}]) == inf
