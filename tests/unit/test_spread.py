"""How the calls of a crawl are spread over its time."""

from __future__ import annotations

from datetime import timedelta
from math import inf

import pytest

from bowerbird.crawl.work.spread import KEPT, LEANING, Spread, pace_of, spread_over
from bowerbird.model import Charge, Limit

DAY = timedelta(days=1)
TWO_WEEKS = 14 * DAY


def charge(bucket: str, allowance: int, window: timedelta = DAY, *, amount: int = 1, is_money: bool = False) -> Charge:
    return Charge(bucket, amount, Limit(bucket=bucket, allowance=allowance, window=window, is_money=is_money))


def test_without_an_end_to_keep_calls_for_they_go_evenly() -> None:
    spread = Spread(calls=10, length=10 * DAY)
    assert [spread.opens(made) for made in range(10)] == [number * DAY for number in range(10)]
    assert spread.leaning(timedelta(0)) == spread.leaning(9 * DAY) == 1.0


def test_what_is_kept_is_made_at_the_end_as_fast_as_the_limits_allow() -> None:
    spread = spread_over(1400, TWO_WEEKS, pace=400)
    early = round(1400 * (1 - KEPT))
    assert spread.opens(early) == spread.end_begins
    at_the_end = (1400 - early) / ((TWO_WEEKS - spread.end_begins) / DAY)
    assert 0.9 * 400 < at_the_end <= 400
    assert early / (spread.end_begins / DAY) < 100


def test_calls_open_one_after_the_other_and_the_last_before_the_time_is_over() -> None:
    for calls, pace in ((1, 5.0), (2, 400.0), (1400, 101.0), (1400, 1e9), (1400, inf)):
        opens = [spread_over(calls, TWO_WEEKS, pace).opens(made) for made in range(calls)]
        assert opens[0] == timedelta(0)
        assert opens == sorted(opens)
        assert opens[-1] < TWO_WEEKS


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
    assert spread.opens(700) == 7 * DAY


def test_the_slowest_limit_of_each_credential_counts_and_a_shared_one_once() -> None:
    together = charge("together", 300)
    assert pace_of([{"a": (charge("a", 900), charge("a/daily", 100)), "b": (charge("b", 50),)}]) == 150
    assert pace_of([{"a": (charge("a", 900), together), "b": (charge("b", 900), together)}]) == 300
    assert pace_of([{"a": (charge("a", 10, timedelta(hours=1), amount=2),)}]) == 120


def test_money_is_no_pace() -> None:
    assert pace_of([{"a": (charge("purse", 3, is_money=True), charge("a", 900))}]) == 900
    assert pace_of([{None: ()}]) == inf
