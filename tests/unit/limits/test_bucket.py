"""The account of one bucket: windows, spacing, back-off and what headers change."""

from datetime import UTC, datetime, timedelta

import pytest
from msgspec import structs

from bowerbird.limits.bucket import NEVER, Bucket, CallResult, ClockOffset, learn_offset, new_bucket, parse_date
from bowerbird.model import Charge, Limit, Reading, WindowKind

NOW = datetime(2026, 1, 5, 12, 0, 10, tzinfo=UTC)
QUARTER = timedelta(minutes=15)
RESET = datetime(2026, 1, 5, 12, 15, tzinfo=UTC)
SECOND = timedelta(seconds=1)
EXACT = ClockOffset(timedelta(0), timedelta(0))


def limit(allowance: int = 10, kind: WindowKind = WindowKind.ALIGNED, window: timedelta = QUARTER) -> Limit:
    return Limit(bucket="b", allowance=allowance, window=window, kind=kind)


def running(allowance: int = 10, **values: object) -> Bucket:
    """A bucket in the middle of business: the server has answered and its clock is known."""
    state = new_bucket("b", limit(allowance), NOW)
    return structs.replace(state, **({"is_probing": False, "offset": EXACT} | values))


def charge(before: int = 0, amount: int = 1) -> Charge:
    return Charge("b", amount, limit(), before)


def heard(at: datetime = NOW, remaining: int | None = None, reset_at: datetime | None = RESET, **values: object) -> CallResult:
    reading = None if remaining is None else Reading(10, remaining, reset_at)
    return structs.replace(CallResult(sent_at=at, received_at=at, cost=1, header=reading), **values)


def test_a_new_bucket_is_entered_by_one_probe() -> None:
    state = new_bucket("b", limit(), NOW)
    assert state.available_at(1, NOW) == NOW
    state = state.charge(1, NOW)
    assert state.available_at(1, NOW) > NOW
    state = state.settle(charge(), heard(remaining=9))
    assert (state.available_at(1, NOW), state.remaining, state.in_flight) == (NOW, 9, 0)


OWN = Charge("b", 1, Limit(bucket="b", allowance=4, window=QUARTER, published=10))
"""A call of a user who allows less than the server."""


def test_a_server_that_allows_more_than_the_user_changes_nothing() -> None:
    state = structs.replace(new_bucket("b", OWN.limit, NOW), is_probing=False, offset=EXACT)
    for left in (3, 2, 1, 0):
        state = state.charge(1, NOW).settle(structs.replace(OWN, finished_before=state.finished), heard(remaining=9))
        assert (state.allowance, state.remaining) == (4, left)
    assert state.available_at(1, NOW) == state.resumes_at


def test_a_new_window_begins_with_what_the_user_allows() -> None:
    later = NOW + QUARTER
    state = structs.replace(new_bucket("b", OWN.limit, NOW), is_probing=False, offset=EXACT, remaining=0)
    told = heard(later, remaining=9, reset_at=RESET + QUARTER)
    state = state.charge(1, later).settle(OWN, told)
    assert (state.allowance, state.remaining) == (4, 3)


def test_a_server_that_allows_less_than_the_user_wins() -> None:
    state = structs.replace(new_bucket("b", OWN.limit, NOW), is_probing=False, offset=EXACT)
    told = structs.replace(heard(), header=Reading(2, 1, RESET))
    state = state.charge(1, NOW).settle(OWN, told)
    assert (state.allowance, state.remaining) == (2, 1)


def test_calls_already_made_count_when_the_user_lowers_the_allowance() -> None:
    bucket = running(10, remaining=7).with_limit(OWN.limit, NOW)
    assert (bucket.allowance, bucket.remaining) == (4, 1)


def test_what_is_in_flight_is_not_available() -> None:
    state = running(2).charge(1, NOW).charge(1, NOW)
    assert state.available == 0
    assert state.available_at(1, NOW) == state.resumes_at


def test_a_lost_answer_stays_spent() -> None:
    state = running().charge(1, NOW).lose(1, NOW)
    assert (state.remaining, state.in_flight, state.spent) == (9, 0, 1)


def test_a_header_wins_over_our_own_count() -> None:
    state = running().charge(1, NOW).settle(charge(), heard(remaining=4))
    assert state.remaining == 4


def test_a_header_is_discounted_by_the_calls_it_cannot_know() -> None:
    first = charge(before=0)
    state = running().charge(1, NOW).charge(1, NOW).charge(1, NOW)
    state = state.settle(first, heard(remaining=9))
    state = state.settle(charge(before=0), heard(remaining=8))
    # The third answer was written first of all: only the calls that finished meanwhile save us from believing it.
    state = state.settle(charge(before=0), heard(remaining=9))
    assert state.remaining == 7


def test_a_lost_call_that_the_server_never_saw_is_given_back_by_the_next_header() -> None:
    state = running().charge(1, NOW).lose(1, NOW)
    state = state.charge(1, NOW)
    state = state.settle(charge(before=state.finished), heard(remaining=9))
    assert state.remaining == 9


def test_a_later_reset_starts_a_new_window() -> None:
    late = RESET + timedelta(seconds=3)
    state = running(remaining=3).charge(1, NOW).settle(charge(), heard(late, remaining=9, reset_at=RESET + QUARTER))
    assert (state.remaining, state.reset_at) == (9, RESET + QUARTER)


def test_an_earlier_reset_is_old_news() -> None:
    late = RESET + timedelta(seconds=3)
    state = running().charge(1, NOW).charge(1, late)
    state = state.settle(charge(), heard(late, remaining=0, reset_at=RESET))
    assert (state.remaining, state.in_flight, state.reset_at) == (10, 1, RESET + QUARTER)


def test_calls_stop_before_the_reset_and_resume_after_it() -> None:
    state = running(offset=ClockOffset(timedelta(seconds=-0.2), timedelta(seconds=0.3)))
    assert state.stops_at == RESET - timedelta(seconds=1.3)
    assert state.resumes_at == RESET + timedelta(seconds=0.35)
    assert state.available_at(1, state.stops_at) == state.resumes_at
    assert state.available_at(1, state.resumes_at) == state.resumes_at


def test_the_next_window_is_full_again_and_begins_with_a_probe() -> None:
    state = running(remaining=1).charge(1, NOW)
    state = state.settle(charge(), heard(remaining=0))
    later = state.resumes_at
    state = state.charge(1, later)
    assert (state.remaining, state.in_flight, state.is_probing, state.reset_at) == (10, 1, True, RESET + QUARTER)


def test_calls_are_spread_after_the_first_quarter() -> None:
    state, at, times = running(100), NOW, []
    for _ in range(100):
        at = state.available_at(1, at)
        times.append(at)
        state = state.charge(1, at).settle(charge(before=state.finished), heard(at))
    assert times[24] == NOW
    assert times[60] > NOW + QUARTER / 3
    assert times[-1] < state.stops_at


def test_pacing_can_be_turned_off() -> None:
    state = running(20)
    for _ in range(20):
        assert state.available_at(1, NOW, pace=False) == NOW
        state = state.charge(1, NOW)
    assert state.available_at(1, NOW, pace=False) > RESET


def test_a_huge_allowance_is_not_slowed_down() -> None:
    state = running(10**9, remaining=10**8)
    assert state.charge(1, NOW).available_at(1, NOW) - NOW < timedelta(milliseconds=1)


@pytest.mark.parametrize("kind", [WindowKind.ALIGNED, WindowKind.FIRST_CALL])
def test_even_a_window_of_a_second_stays_usable(kind: WindowKind) -> None:
    state, at = new_bucket("b", limit(1, kind, SECOND), NOW), NOW
    for _ in range(10):
        at = state.available_at(1, at)
        state = state.charge(1, at).settle(charge(before=state.finished), heard(at))
    assert NOW + timedelta(seconds=8) < at < NOW + timedelta(seconds=16)


def test_a_first_call_window_without_headers_ends_a_window_after_its_first_answer() -> None:
    state = new_bucket("b", limit(3, WindowKind.FIRST_CALL), NOW).charge(1, NOW)
    assert state.reset_at is None
    state = state.settle(charge(), heard())
    assert not state.is_probing
    assert NOW + QUARTER < state.resumes_at < NOW + QUARTER + SECOND


def test_lost_probes_never_lock_a_first_call_bucket_for_good() -> None:
    state, at = new_bucket("b", limit(2, WindowKind.FIRST_CALL), NOW), NOW
    for _ in range(4):
        at = state.available_at(1, at)
        state = state.charge(1, at).lose(1, at + 15 * SECOND)
    assert at < NOW + timedelta(hours=2)


def test_failures_back_off_doubling_up_to_five_minutes_and_one_good_answer_ends_it() -> None:
    state, at, waits = running(100), NOW, []
    for _ in range(11):
        state = state.charge(1, at)
        state = state.settle(charge(), heard(at, is_good=False, backs_off=True))
        waits.append(int((state.available_at(1, at, pace=False) - at).total_seconds()))
        at = state.available_at(1, at, pace=False)
        state = structs.replace(state, reset_at=at + QUARTER)
    assert waits[:9] == [1, 2, 4, 8, 16, 32, 64, 128, 256]
    assert waits[9:] == [300, 300]
    state = state.charge(1, at).settle(charge(), heard(at, remaining=None))
    assert state.available_at(1, at, pace=False) == at


def test_calls_that_failed_in_the_same_incident_do_not_prolong_it() -> None:
    state = running(100)
    for _ in range(20):
        state = state.charge(1, NOW)
    for second in range(1, 20):
        failure = CallResult(sent_at=NOW, received_at=NOW + second * SECOND, cost=1, is_good=False, backs_off=True)
        state = state.settle(charge(), failure)
    assert state.backoff_until == NOW + 2 * SECOND


def test_one_call_at_a_time_while_backed_off() -> None:
    state = running().charge(1, NOW).settle(charge(), heard(is_good=False, backs_off=True))
    at = state.available_at(1, NOW)
    assert at == NOW + SECOND
    assert state.charge(1, at).available_at(1, at) > at


def test_retry_after_is_respected() -> None:
    word = heard(is_good=False, backs_off=True, retry_after=timedelta(seconds=77))
    state = running().charge(1, NOW).settle(charge(), word)
    assert state.available_at(1, NOW) == NOW + timedelta(seconds=77)


def test_a_refusal_with_a_reset_empties_the_bucket_until_then() -> None:
    word = heard(remaining=0, is_good=False, is_refusal=True, is_exhausted=True)
    state = running().charge(1, NOW).settle(charge(), word)
    assert (state.refused, state.available_at(1, NOW)) == (1, state.resumes_at)


def test_exhausted_bucket_whose_header_does_not_say_so_has_nothing_left_until_its_reset() -> None:
    word = heard(is_good=False, is_refusal=True, is_exhausted=True)
    state = running().charge(1, NOW).settle(charge(), word)
    assert (state.remaining, state.available_at(1, NOW)) == (0, state.resumes_at)


def test_refusals_by_a_window_that_is_over_make_us_wait_all_the_same() -> None:
    word = heard(remaining=0, reset_at=NOW - QUARTER, is_good=False, is_refusal=True, is_exhausted=True)
    state = running().charge(1, NOW).settle(charge(), word)
    assert state.available_at(1, NOW) == NOW + SECOND


def test_a_refusal_with_an_unbelievable_reset_costs_a_window_at_most() -> None:
    state = new_bucket("b", limit(10, WindowKind.FIRST_CALL), NOW).charge(1, NOW)
    word = heard(remaining=0, reset_at=NOW + timedelta(days=900), is_good=False, is_exhausted=True)
    state = state.settle(charge(), word)
    assert NOW < state.available_at(1, NOW) < NOW + QUARTER + timedelta(seconds=10)


def test_a_header_beyond_its_own_limit_is_cut_to_it() -> None:
    state = running().charge(1, NOW).settle(charge(), heard(remaining=10_000))
    assert state.remaining == 10


def test_the_fraction_that_mastodon_adds_to_a_reset_is_cut_off() -> None:
    state = running().charge(1, NOW).settle(charge(), heard(remaining=8, reset_at=RESET + timedelta(seconds=0.9)))
    assert state.reset_at == RESET


def test_a_new_allowance_is_learned() -> None:
    word = structs.replace(heard(), header=Reading(7_500, 7_499, RESET))
    state = running().charge(1, NOW).settle(charge(), word)
    assert (state.allowance, state.remaining) == (7_500, 7_499)


def test_what_a_call_did_not_cost_is_refunded() -> None:
    monthly = new_bucket("m", limit(1_000, WindowKind.MONTH), NOW)
    state = monthly.charge(100, NOW)
    state = state.settle(charge(amount=100), heard(cost=7))
    assert (state.remaining, state.in_flight, state.spent) == (993, 0, 7)
    assert state.reset_at == datetime(2026, 2, 1, tzinfo=UTC)


def test_a_call_dearer_than_the_whole_allowance_never_comes() -> None:
    assert running(10).available_at(11, NOW) == NEVER


def test_a_clock_set_back_does_not_lock_the_bucket() -> None:
    state = running(remaining=0)
    yesterday = NOW - timedelta(days=1)
    assert state.available_at(1, yesterday) == yesterday


def test_room_is_what_is_left_per_second_left() -> None:
    assert running(100).rate(NOW) == pytest.approx(100 / (running().stops_at - NOW).total_seconds())
    assert running(100, remaining=-3).rate(NOW) == 0


def test_dates_narrow_the_offset_from_both_sides() -> None:
    sent, received = NOW, NOW + timedelta(milliseconds=200)
    offset = learn_offset(None, NOW + timedelta(seconds=5), sent, received)
    assert offset == ClockOffset(timedelta(seconds=4.8), timedelta(seconds=6))
    later = learn_offset(offset, NOW + timedelta(seconds=5), sent + timedelta(seconds=0.7), received + timedelta(seconds=0.7))
    assert later == ClockOffset(timedelta(seconds=4.8), timedelta(seconds=5.3))


def test_a_contradiction_means_that_a_clock_jumped_and_only_the_newest_date_counts() -> None:
    offset = ClockOffset(timedelta(seconds=4), timedelta(seconds=5))
    assert learn_offset(offset, NOW, NOW, NOW + SECOND) == ClockOffset(-SECOND, SECOND)


def test_old_knowledge_of_a_clock_grows_vague() -> None:
    vague = EXACT.widened(timedelta(days=1))
    assert timedelta(seconds=3) < vague.high - vague.low < timedelta(seconds=4)


@pytest.mark.parametrize(
    ("text", "date"),
    [
        ("Mon, 05 Jan 2026 12:00:10 GMT", NOW),
        ("", None),
        ("yesterday, of course, at noon", None),
        ("Mon, 35 Jan 2026 12:00:10 GMT", None),
    ],
)
def test_a_date_header_is_read_or_passed_over(text: str, date: datetime | None) -> None:
    assert parse_date(text) == date


def waiting(step: int = 60) -> Bucket:
    """Two calls were out; the first was refused after a second, with a wait."""
    state = running().charge(1, NOW).charge(1, NOW)
    refused = CallResult(sent_at=NOW, received_at=NOW + SECOND, cost=1, is_good=False, backs_off=True)
    return state.settle(charge(), structs.replace(refused, retry_after=step * SECOND))


def test_a_wait_is_not_ended_by_the_answer_to_a_call_sent_before_it() -> None:
    state = waiting().settle(charge(), CallResult(sent_at=NOW, received_at=NOW + 2 * SECOND, cost=1))
    assert state.backoff_until == NOW + 61 * SECOND
    assert state.is_careful
    later = state.charge(1, NOW + 61 * SECOND)
    good = CallResult(sent_at=NOW + 61 * SECOND, received_at=NOW + 62 * SECOND, cost=1)
    assert later.settle(charge(), good).backoff_until is None


def test_a_refusal_that_names_a_later_time_than_the_end_of_its_window_is_waited_for() -> None:
    reading = Reading(300, 0, NOW + 10 * SECOND)
    refused = CallResult(sent_at=NOW, received_at=NOW, cost=1, is_good=False, is_exhausted=True, header=reading)
    state = running().charge(1, NOW)
    assert state.settle(charge(), refused).backoff_until is None
    told = state.settle(charge(), structs.replace(refused, retry_after=timedelta(minutes=30)))
    assert told.backoff_until == NOW + timedelta(minutes=30)


@pytest.mark.parametrize("told", [5 * SECOND, None])
def test_a_second_refusal_of_the_same_incident_makes_no_wait_shorter_and_no_next_one_longer(told: timedelta | None) -> None:
    before = waiting()
    again = CallResult(sent_at=NOW, received_at=NOW + 2 * SECOND, cost=1, is_good=False, backs_off=True, retry_after=told)
    state = before.settle(charge(), again)
    assert (state.backoff_until, state.backoff_step) == (before.backoff_until, before.backoff_step)


def test_a_longer_wait_of_the_same_incident_counts() -> None:
    again = CallResult(sent_at=NOW, received_at=NOW + 2 * SECOND, cost=1, is_good=False, backs_off=True)
    state = waiting().settle(charge(), structs.replace(again, retry_after=300 * SECOND))
    assert state.backoff_until == NOW + 302 * SECOND


@pytest.mark.parametrize("year", [9999, 1, 2286])
def test_a_date_absurdly_far_away_is_no_reading_of_a_clock(year: int) -> None:
    date = datetime(year, 12, 31, 23, 59, 59, tzinfo=UTC)
    assert learn_offset(None, date, NOW, NOW + SECOND) is None
    known = ClockOffset(-SECOND, SECOND)
    assert learn_offset(known, date, NOW, NOW + SECOND) == known
    heard = CallResult(sent_at=NOW, received_at=NOW + SECOND, cost=1, server_time=date)
    assert running(offset=None).charge(1, NOW).settle(charge(), heard).offset is None
