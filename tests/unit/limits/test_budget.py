"""Purses: dollars in ledgers, and in words."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from msgspec import structs

from bowerbird.errors import UserError
from bowerbird.limits.bucket import FOREVER, Bucket, new_bucket
from bowerbird.limits.budget import BudgetStatus, budget_charges, budget_statuses
from bowerbird.model import Charge, Limit, WindowKind
from bowerbird.model.money import Budget, in_dollars, thousandths
from failures import raises_code

NOW = datetime(2026, 11, 16, 12, tzinfo=UTC)
MONEY = Limit(
    bucket="x/money",
    allowance=10_000,
    window=timedelta(days=31),
    kind=WindowKind.MONTH,
    per_call=0,
    per_result=10,
    is_money=True,
)
CALLS = Limit(bucket="x/mine/followers", allowance=15, window=timedelta(minutes=15))
BUDGET = Budget(crawl="topic", in_all=2.0, a_month=25.0)


@pytest.mark.parametrize(
    ("amount", "words"), [(9_940, "$9.94"), (10_000, "$10.00"), (5, "$0.005"), (1_250_000, "$1,250.00"), (0, "$0.00")]
)
def test_dollars_are_written_as_dollars(amount: int, words: str) -> None:
    assert in_dollars(amount) == words


@pytest.mark.parametrize(("written", "counted"), [(10, 10_000), (2.5, 2_500), (0.29, 290), (1.9999, 1_999), (1.1, 1_100)])
def test_a_ledger_never_counts_more_than_was_written(written: float, counted: int) -> None:
    assert thousandths(written) == counted


def test_what_costs_money_is_taken_from_the_month_and_from_the_crawl() -> None:
    taken = budget_charges(
        "followers", [Charge(CALLS.bucket, 1, CALLS), Charge(MONEY.bucket, 500, MONEY, payer="x/app:mine")], BUDGET
    )
    assert [(each.bucket, each.amount, each.limit.allowance) for each in taken] == [
        ("x/mine/followers", 1, 15),
        ("x/money", 500, 25_000),
        ("crawl:topic/money", 500, 2_000),
    ]
    assert {each.payer for each in taken[1:]} == {"x/app:mine"}


def test_a_call_that_could_never_be_paid_for_is_named_at_the_start() -> None:
    with raises_code(UserError, "budget_too_small") as caught:
        budget_charges("followers", [Charge(MONEY.bucket, 2_500, MONEY)], BUDGET)
    assert all(value in caught.value.problem for value in ("followers", "$2.50", "$2.00"))


def test_a_budget_is_good_for_twenty_calls() -> None:
    assert BUDGET.a_call == 100


def spent(bucket: str, kind: WindowKind, allowance: int, *, gone: int, under_way: int = 0) -> Bucket:
    state = new_bucket(bucket, structs.replace(MONEY, kind=kind, allowance=allowance), NOW)
    return structs.replace(state, remaining=allowance - gone, in_flight=under_way, is_probing=False)


def test_purses_are_found_among_the_ledgers_and_speak_dollars() -> None:
    states = [
        new_bucket(CALLS.bucket, CALLS, NOW),
        spent("crawl:topic/money", WindowKind.EVER, 10**12, gone=1_970),
        spent("x/money", WindowKind.MONTH, 10_000, gone=9_940, under_way=50),
    ]
    month, crawl = budget_statuses(states, NOW)
    assert (month.of, month.spent, month.allowed, month.reserved, month.words) == ("x", 9.94, 10.0, 0.05, "$9.94 of $10.00")
    assert crawl == BudgetStatus(of="topic", is_crawl=True, spent=1.97, reserved=0.0, allowed=None)
    assert month.resets_at == datetime(2026, 12, 1, tzinfo=UTC)


def test_a_new_month_fills_the_purse_of_a_service_but_never_that_of_a_crawl() -> None:
    states = [spent("x/money", WindowKind.MONTH, 10_000, gone=9_000), spent("crawl:a/money", WindowKind.EVER, 5_000, gone=4_000)]
    later = NOW + timedelta(days=400)
    assert [each.spent for each in budget_statuses(states, later)] == [0.0, 4.0]


def test_a_clock_that_was_set_back_does_not_fill_the_purse_of_a_crawl() -> None:
    (crawl,) = budget_statuses([spent("crawl:a/money", WindowKind.EVER, 5_000, gone=4_000)], NOW - timedelta(days=4_000))
    assert crawl.spent == 4.0


def test_what_is_under_way_may_come_back_and_is_waited_for_but_what_is_spent_is_not() -> None:
    state = spent("crawl:a/money", WindowKind.EVER, 1_000, gone=800, under_way=150)
    assert state.available_at(50, NOW) == NOW
    assert state.available_at(200, NOW) == NOW + timedelta(seconds=30)
    assert state.available_at(201, NOW) >= FOREVER


def test_a_small_run_of_a_crawl_that_has_spent_much_makes_small_calls() -> None:
    """Or else what one call may cost, a twentieth of all, would be more than the run may spend: it would end before it began."""
    budget = Budget(crawl="a", in_all=10.5, a_month=50, a_run=0.5)
    assert budget.a_call == 25
    assert budget.least == 10.5
