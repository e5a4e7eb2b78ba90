"""Which of a call's buckets a header describes, and which one bears a failure."""

from datetime import UTC, datetime, timedelta

import pytest
from msgspec import structs

from bowerbird.limits.bucket import Bucket, ClockOffset, call_results, new_bucket
from bowerbird.model import Answer, Charge, Limit, Outcome, Page, Reading, WindowKind

EXHAUSTED, BACK_OFF = "exhausted", "back off"
NOW = datetime(2026, 1, 5, 12, 1, tzinfo=UTC)
IN_5 = datetime(2026, 1, 5, 12, 5, tzinfo=UTC)
IN_15 = datetime(2026, 1, 5, 12, 15, tzinfo=UTC)
EXACT = ClockOffset(timedelta(0), timedelta(0))


def limit(name: str, allowance: int, minutes: float, kind: WindowKind = WindowKind.ALIGNED, **values: int) -> Limit:
    return Limit(bucket=name, allowance=allowance, window=timedelta(minutes=minutes), kind=kind, **values)


TOKEN, ACCOUNT, PAGING = limit("token", 300, 5), limit("account", 1500, 5), limit("paging", 300, 15)
MASTODON = (TOKEN, ACCOUNT, PAGING)


def states_of(limits: tuple[Limit, ...], **remaining: int) -> list[Bucket]:
    fresh = [structs.replace(new_bucket(item.bucket, item, NOW), offset=EXACT, is_probing=False) for item in limits]
    return [structs.replace(state, remaining=remaining.get(state.name, state.remaining)) for state in fresh]


def answer(status: int = 200, **headers: str) -> Answer:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Answer(status=status, headers=named, sent_at=NOW, received_at=NOW)


def described(states: list[Bucket], reading: Reading, at: datetime) -> str:
    """Name of the bucket that the header is about."""
    charges = [Charge(state.name, 1, limit(state.name, state.allowance, 5)) for state in states]
    said = Answer(status=200, sent_at=at, received_at=at)
    results = call_results(states, charges, Page(reading=reading), said)
    return next(state.name for state, result in zip(states, results, strict=True) if result.header is not None)


def troubles(limits: tuple[Limit, ...], outcome: Outcome, reading: Reading | None, said: Answer) -> dict[str, str]:
    charges = [Charge(item.bucket, 1, item) for item in limits]
    words = call_results(states_of(limits), charges, Page(outcome=outcome, reading=reading, results=0), said)
    return {
        c.bucket: EXHAUSTED if word.is_exhausted else BACK_OFF
        for c, word in zip(charges, words, strict=True)
        if word.is_exhausted or word.backs_off
    }


@pytest.mark.parametrize(
    ("reading", "remaining", "bucket"),
    [
        (Reading(300, 299, IN_5), {}, "token"),
        (Reading(300, 120, IN_15), {}, "paging"),
        (Reading(1500, 3, IN_5), {"account": 4}, "account"),
        (Reading(7500, 7000, IN_15), {}, "paging"),
        (Reading(7500, 7000, IN_5 + timedelta(seconds=0.7)), {}, "token"),
        (Reading(None, 12, None), {"account": 13}, "account"),
    ],
)
def test_a_header_describes_the_bucket_that_fits_it(reading: Reading, remaining: dict[str, int], bucket: str) -> None:
    states = states_of(MASTODON, **remaining)
    assert described(states, reading, NOW) == bucket


def test_when_two_buckets_fit_the_tightest_by_our_own_count_is_meant() -> None:
    late = datetime(2026, 1, 5, 12, 11, tzinfo=UTC)
    states = [structs.replace(state, reset_at=IN_15) for state in states_of(MASTODON, paging=7)]
    assert described(states, Reading(300, 6, IN_15), late) == "paging"


def test_a_monthly_budget_is_not_what_headers_speak_of() -> None:
    money = limit("money", 100, 1, WindowKind.MONTH)
    states = states_of((money, TOKEN), money=1)
    assert described(states, Reading(450, 449, IN_5), NOW) == "token"


def test_a_header_is_known_by_the_servers_own_limit_where_the_user_allows_less() -> None:
    own = structs.replace(TOKEN, allowance=100, published=300)
    limits = (own, ACCOUNT, PAGING)
    charges = [Charge(item.bucket, 1, item) for item in limits]
    words = call_results(
        states_of(limits), charges, Page(outcome=Outcome.OK, reading=Reading(300, 299, IN_5), results=0), answer()
    )
    assert [word.header is not None for word in words] == [True, False, False]


@pytest.mark.parametrize(
    ("status", "outcome", "is_counted"),
    [
        (429, Outcome.RATE_LIMITED, True),
        (403, Outcome.RATE_LIMITED, True),
        (420, Outcome.RATE_LIMITED, True),
        (429, Outcome.SECOND_LIMIT, True),
        (402, Outcome.QUOTA_EXHAUSTED, True),
        (403, Outcome.FORBIDDEN_SCOPE, False),
        (503, Outcome.OVERLOADED, False),
        (0, Outcome.UNANSWERED, False),
    ],
)
def test_a_refusal_is_counted_by_what_it_says_and_not_by_its_status(status: int, outcome: Outcome, is_counted: bool) -> None:
    charges = [Charge(item.bucket, 1, item) for item in MASTODON]
    words = call_results(states_of(MASTODON), charges, Page(outcome=outcome, reading=None, results=0), answer(status))
    assert sum(word.is_refusal for word in words) == is_counted


def test_an_exhausted_limit_empties_only_the_bucket_it_describes() -> None:
    told = troubles(MASTODON, Outcome.RATE_LIMITED, Reading(300, 0, IN_15), answer(429))
    assert told == {"paging": EXHAUSTED}


def test_a_refusal_without_headers_backs_off_the_tightest_bucket() -> None:
    assert troubles(MASTODON, Outcome.RATE_LIMITED, None, answer(429)) == {"token": BACK_OFF}


def test_a_refusal_with_calls_remaining_backs_off_the_limit_that_headers_do_not_tell() -> None:
    per_second = limit("second", 1, 1 / 60)
    told = troubles((TOKEN, per_second), Outcome.SECOND_LIMIT, Reading(300, 200, IN_5), answer(429))
    assert told == {"second": BACK_OFF}
    assert troubles((TOKEN,), Outcome.SECOND_LIMIT, Reading(300, 200, IN_5), answer(429)) == {"token": BACK_OFF}


def test_a_used_up_monthly_quota_empties_the_monthly_bucket() -> None:
    money = limit("money", 100, 43_200, WindowKind.MONTH)
    assert troubles((TOKEN, money), Outcome.QUOTA_EXHAUSTED, None, answer(429)) == {"money": EXHAUSTED}


@pytest.mark.parametrize("outcome", [Outcome.OVERLOADED, Outcome.UNREADABLE, Outcome.UNANSWERED])
def test_a_fault_of_the_service_backs_off_the_facets_own_bucket(outcome: Outcome) -> None:
    assert troubles(MASTODON, outcome, None, answer(0)) == {"token": BACK_OFF}


@pytest.mark.parametrize("outcome", [Outcome.OK, Outcome.NOT_FOUND, Outcome.SUSPENDED, Outcome.BAD_TOKEN])
def test_an_answer_about_the_target_troubles_no_bucket(outcome: Outcome) -> None:
    assert troubles(MASTODON, outcome, None, answer(404)) == {}


def test_only_one_bucket_counts_the_refusal() -> None:
    charges = [Charge(item.bucket, 1, item) for item in MASTODON]
    words = call_results(
        states_of(MASTODON), charges, Page(outcome=Outcome.RATE_LIMITED, reading=Reading(300, 0, IN_5), results=0), answer(429)
    )
    assert [word.is_refusal for word in words] == [True, False, False]


def test_results_are_paid_for_one_by_one_and_an_unanswered_call_in_full() -> None:
    posts = limit("posts", 10_000, 43_200, WindowKind.MONTH, per_call=0, per_result=1)
    charges = [Charge("posts", 100, posts)]
    assert call_results(states_of((posts,)), charges, Page(outcome=Outcome.OK, reading=None, results=31), answer())[0].cost == 31
    assert (
        call_results(states_of((posts,)), charges, Page(outcome=Outcome.OVERLOADED, reading=None, results=0), answer(503))[0].cost
        == 0
    )
    assert (
        call_results(states_of((posts,)), charges, Page(outcome=Outcome.UNANSWERED, reading=None, results=0), answer(0))[0].cost
        == 100
    )


@pytest.mark.parametrize(
    ("text", "wait"),
    [
        ("120", timedelta(minutes=2)),
        ("99999999999", timedelta(days=1)),
        ("Mon, 05 Jan 2026 12:02:00 GMT", timedelta(minutes=1)),
        ("Mon, 05 Jan 2026 11:00:00 GMT", timedelta(0)),
        ("soon", None),
    ],
)
def test_retry_after_is_read_as_seconds_or_date(text: str, wait: timedelta | None) -> None:
    said = answer(503, retry_after=text, date="Mon, 05 Jan 2026 12:01:00 GMT")
    assert (
        call_results(
            states_of((TOKEN,)), [Charge("token", 1, TOKEN)], Page(outcome=Outcome.OVERLOADED, reading=None, results=0), said
        )[0].retry_after
        == wait
    )


@pytest.mark.parametrize(("status", "cost"), [(200, 500), (502, 0)])
def test_a_good_answer_that_cannot_be_read_costs_the_most_it_can(status: int, cost: int) -> None:
    money = limit("money", 9_000, 60, WindowKind.MONTH, per_call=0, per_result=5)
    heard = call_results(
        states_of((money,)),
        [Charge("money", 500, money)],
        Page(outcome=Outcome.UNREADABLE, reading=None, results=0),
        answer(status),
    )
    assert heard[0].cost == cost
