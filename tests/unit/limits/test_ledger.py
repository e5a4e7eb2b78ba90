"""The account of one bucket: windows, spacing, back-off and what headers change."""

from datetime import UTC, datetime, timedelta

import pytest
from msgspec import structs

from bowerbird.limits.ledger import NEVER, LedgerState, allowed, charged, opened, resume_at, room, stop_at, when
from bowerbird.limits.server_clock import Offset, aged, learned, parse_date
from bowerbird.limits.settling import Heard, Trouble, lost, settled
from bowerbird.model import Charge, Limit, Reading, WindowKind

NOW = datetime(2026, 1, 5, 12, 0, 10, tzinfo=UTC)
QUARTER = timedelta(minutes=15)
RESET = datetime(2026, 1, 5, 12, 15, tzinfo=UTC)
SECOND = timedelta(seconds=1)
EXACT = Offset(timedelta(0), timedelta(0))


def limit(allowance: int = 10, kind: WindowKind = WindowKind.ALIGNED, window: timedelta = QUARTER) -> Limit:
    return Limit(bucket="b", allowance=allowance, window=window, kind=kind)


def running(allowance: int = 10, **values: object) -> LedgerState:
    """A bucket in the middle of business: the server has answered and its clock is known."""
    state = opened("b", limit(allowance), NOW)
    return structs.replace(state, **({"is_probing": False, "offset": EXACT} | values))


def charge(before: int = 0, amount: int = 1) -> Charge:
    return Charge("b", amount, limit(), before)


def heard(at: datetime = NOW, remaining: int | None = None, reset_at: datetime | None = RESET, **values: object) -> Heard:
    reading = None if remaining is None else Reading(10, remaining, reset_at)
    return structs.replace(Heard(sent_at=at, received_at=at, cost=1, reading=reading), **values)


def test_a_new_bucket_is_entered_by_one_probe() -> None:
    state = opened("b", limit(), NOW)
    assert when(state, 1, NOW) == NOW
    state = charged(state, 1, NOW)
    assert when(state, 1, NOW) > NOW
    state = settled(state, charge(), heard(remaining=9))
    assert (when(state, 1, NOW), state.remaining, state.in_flight) == (NOW, 9, 0)


OWN = Charge("b", 1, Limit(bucket="b", allowance=4, window=QUARTER, published=10))
"""A call of a user who allows less than the server."""


def test_a_server_that_allows_more_than_the_user_changes_nothing() -> None:
    state = structs.replace(opened("b", OWN.limit, NOW), is_probing=False, offset=EXACT)
    for left in (3, 2, 1, 0):
        state = settled(charged(state, 1, NOW), structs.replace(OWN, finished_before=state.finished), heard(remaining=9))
        assert (state.allowance, state.remaining) == (4, left)
    assert when(state, 1, NOW) == resume_at(state)


def test_a_new_window_begins_with_what_the_user_allows() -> None:
    later = NOW + QUARTER
    state = structs.replace(opened("b", OWN.limit, NOW), is_probing=False, offset=EXACT, remaining=0)
    told = heard(later, remaining=9, reset_at=RESET + QUARTER)
    state = settled(charged(state, 1, later), OWN, told)
    assert (state.allowance, state.remaining) == (4, 3)


def test_a_server_that_allows_less_than_the_user_wins() -> None:
    state = structs.replace(opened("b", OWN.limit, NOW), is_probing=False, offset=EXACT)
    told = structs.replace(heard(), reading=Reading(2, 1, RESET))
    state = settled(charged(state, 1, NOW), OWN, told)
    assert (state.allowance, state.remaining) == (2, 1)


def test_calls_already_made_count_when_the_user_lowers_the_allowance() -> None:
    assert (allowed(running(10, remaining=7), 4).allowance, allowed(running(10, remaining=7), 4).remaining) == (4, 1)


def test_what_is_in_flight_is_not_available() -> None:
    state = charged(charged(running(2), 1, NOW), 1, NOW)
    assert state.available == 0
    assert when(state, 1, NOW) == resume_at(state)


def test_a_lost_answer_stays_spent() -> None:
    state = lost(charged(running(), 1, NOW), 1, NOW)
    assert (state.remaining, state.in_flight, state.spent) == (9, 0, 1)


def test_a_header_wins_over_our_own_count() -> None:
    state = settled(charged(running(), 1, NOW), charge(), heard(remaining=4))
    assert state.remaining == 4


def test_a_header_is_discounted_by_the_calls_it_cannot_know() -> None:
    first = charge(before=0)
    state = charged(charged(charged(running(), 1, NOW), 1, NOW), 1, NOW)
    state = settled(state, first, heard(remaining=9))
    state = settled(state, charge(before=0), heard(remaining=8))
    # The third answer was written first of all: only the calls that finished meanwhile save us from believing it.
    state = settled(state, charge(before=0), heard(remaining=9))
    assert state.remaining == 7


def test_a_lost_call_that_the_server_never_saw_is_given_back_by_the_next_header() -> None:
    state = lost(charged(running(), 1, NOW), 1, NOW)
    state = charged(state, 1, NOW)
    state = settled(state, charge(before=state.finished), heard(remaining=9))
    assert state.remaining == 9


def test_a_later_reset_starts_a_new_window() -> None:
    late = RESET + timedelta(seconds=3)
    state = settled(charged(running(remaining=3), 1, NOW), charge(), heard(late, remaining=9, reset_at=RESET + QUARTER))
    assert (state.remaining, state.reset_at) == (9, RESET + QUARTER)


def test_an_earlier_reset_is_old_news() -> None:
    late = RESET + timedelta(seconds=3)
    state = charged(charged(running(), 1, NOW), 1, late)
    state = settled(state, charge(), heard(late, remaining=0, reset_at=RESET))
    assert (state.remaining, state.in_flight, state.reset_at) == (10, 1, RESET + QUARTER)


def test_calls_stop_before_the_reset_and_resume_after_it() -> None:
    state = running(offset=Offset(timedelta(seconds=-0.2), timedelta(seconds=0.3)))
    assert stop_at(state) == RESET - timedelta(seconds=1.3)
    assert resume_at(state) == RESET + timedelta(seconds=0.35)
    assert when(state, 1, stop_at(state)) == resume_at(state)
    assert when(state, 1, resume_at(state)) == resume_at(state)


def test_the_next_window_is_full_again_and_begins_with_a_probe() -> None:
    state = charged(running(remaining=1), 1, NOW)
    state = settled(state, charge(), heard(remaining=0))
    later = resume_at(state)
    state = charged(state, 1, later)
    assert (state.remaining, state.in_flight, state.is_probing, state.reset_at) == (10, 1, True, RESET + QUARTER)


def test_calls_are_spread_after_the_first_quarter() -> None:
    state, at, times = running(100), NOW, []
    for _ in range(100):
        at = when(state, 1, at)
        times.append(at)
        state = settled(charged(state, 1, at), charge(before=state.finished), heard(at))
    assert times[24] == NOW
    assert times[60] > NOW + QUARTER / 3
    assert times[-1] < stop_at(state)


def test_pacing_can_be_turned_off() -> None:
    state = running(20)
    for _ in range(20):
        assert when(state, 1, NOW, pace=False) == NOW
        state = charged(state, 1, NOW)
    assert when(state, 1, NOW, pace=False) > RESET


def test_a_huge_allowance_is_not_slowed_down() -> None:
    state = running(10**9, remaining=10**8)
    assert when(charged(state, 1, NOW), 1, NOW) - NOW < timedelta(milliseconds=1)


@pytest.mark.parametrize("kind", [WindowKind.ALIGNED, WindowKind.FIRST_CALL])
def test_even_a_window_of_a_second_stays_usable(kind: WindowKind) -> None:
    state, at = opened("b", limit(1, kind, SECOND), NOW), NOW
    for _ in range(10):
        at = when(state, 1, at)
        state = settled(charged(state, 1, at), charge(before=state.finished), heard(at))
    assert NOW + timedelta(seconds=8) < at < NOW + timedelta(seconds=16)


def test_a_first_call_window_without_headers_ends_a_window_after_its_first_answer() -> None:
    state = charged(opened("b", limit(3, WindowKind.FIRST_CALL), NOW), 1, NOW)
    assert state.reset_at is None
    state = settled(state, charge(), heard())
    assert not state.is_probing
    assert NOW + QUARTER < resume_at(state) < NOW + QUARTER + SECOND


def test_lost_probes_never_lock_a_first_call_bucket_for_good() -> None:
    state, at = opened("b", limit(2, WindowKind.FIRST_CALL), NOW), NOW
    for _ in range(4):
        at = when(state, 1, at)
        state = lost(charged(state, 1, at), 1, at + 15 * SECOND)
    assert at < NOW + timedelta(hours=2)


def test_failures_back_off_doubling_up_to_five_minutes_and_one_good_answer_ends_it() -> None:
    state, at, waits = running(100), NOW, []
    for _ in range(11):
        state = charged(state, 1, at)
        state = settled(state, charge(), heard(at, is_good=False, trouble=Trouble.BACK_OFF))
        waits.append(int((when(state, 1, at, pace=False) - at).total_seconds()))
        at = when(state, 1, at, pace=False)
        state = structs.replace(state, reset_at=at + QUARTER)
    assert waits[:9] == [1, 2, 4, 8, 16, 32, 64, 128, 256]
    assert waits[9:] == [300, 300]
    state = settled(charged(state, 1, at), charge(), heard(at, remaining=None))
    assert when(state, 1, at, pace=False) == at


def test_calls_that_failed_in_the_same_incident_do_not_prolong_it() -> None:
    state = running(100)
    for _ in range(20):
        state = charged(state, 1, NOW)
    for second in range(1, 20):
        failure = Heard(sent_at=NOW, received_at=NOW + second * SECOND, cost=1, is_good=False, trouble=Trouble.BACK_OFF)
        state = settled(state, charge(), failure)
    assert state.backoff_until == NOW + 2 * SECOND


def test_one_call_at_a_time_while_backed_off() -> None:
    state = settled(charged(running(), 1, NOW), charge(), heard(is_good=False, trouble=Trouble.BACK_OFF))
    at = when(state, 1, NOW)
    assert at == NOW + SECOND
    assert when(charged(state, 1, at), 1, at) > at


def test_retry_after_is_respected() -> None:
    word = heard(is_good=False, trouble=Trouble.BACK_OFF, retry_after=timedelta(seconds=77))
    state = settled(charged(running(), 1, NOW), charge(), word)
    assert when(state, 1, NOW) == NOW + timedelta(seconds=77)


def test_a_refusal_with_a_reset_empties_the_bucket_until_then() -> None:
    word = heard(remaining=0, is_good=False, is_refusal=True, trouble=Trouble.EXHAUSTED)
    state = settled(charged(running(), 1, NOW), charge(), word)
    assert (state.refused, when(state, 1, NOW)) == (1, resume_at(state))


def test_refusals_by_a_window_that_is_over_make_us_wait_all_the_same() -> None:
    word = heard(remaining=0, reset_at=NOW - QUARTER, is_good=False, is_refusal=True, trouble=Trouble.EXHAUSTED)
    state = settled(charged(running(), 1, NOW), charge(), word)
    assert when(state, 1, NOW) == NOW + SECOND


def test_a_refusal_with_an_unbelievable_reset_costs_a_window_at_most() -> None:
    state = charged(opened("b", limit(10, WindowKind.FIRST_CALL), NOW), 1, NOW)
    word = heard(remaining=0, reset_at=NOW + timedelta(days=900), is_good=False, trouble=Trouble.EXHAUSTED)
    state = settled(state, charge(), word)
    assert NOW < when(state, 1, NOW) < NOW + QUARTER + timedelta(seconds=10)


def test_a_header_beyond_its_own_limit_is_cut_to_it() -> None:
    state = settled(charged(running(), 1, NOW), charge(), heard(remaining=10_000))
    assert state.remaining == 10


def test_the_fraction_that_mastodon_adds_to_a_reset_is_cut_off() -> None:
    state = settled(charged(running(), 1, NOW), charge(), heard(remaining=8, reset_at=RESET + timedelta(seconds=0.9)))
    assert state.reset_at == RESET


def test_a_new_allowance_is_learned() -> None:
    word = structs.replace(heard(), reading=Reading(7_500, 7_499, RESET))
    state = settled(charged(running(), 1, NOW), charge(), word)
    assert (state.allowance, state.remaining) == (7_500, 7_499)


def test_what_a_call_did_not_cost_is_refunded() -> None:
    monthly = opened("m", limit(1_000, WindowKind.MONTH), NOW)
    state = charged(monthly, 100, NOW)
    state = settled(state, charge(amount=100), heard(cost=7))
    assert (state.remaining, state.in_flight, state.spent) == (993, 0, 7)
    assert state.reset_at == datetime(2026, 2, 1, tzinfo=UTC)


def test_a_call_dearer_than_the_whole_allowance_never_comes() -> None:
    assert when(running(10), 11, NOW) == NEVER


def test_a_clock_set_back_does_not_lock_the_bucket() -> None:
    state = running(remaining=0)
    yesterday = NOW - timedelta(days=1)
    assert when(state, 1, yesterday) == yesterday


def test_room_is_what_is_left_per_second_left() -> None:
    assert room(running(100), NOW) == pytest.approx(100 / (stop_at(running()) - NOW).total_seconds())
    assert room(running(100, remaining=-3), NOW) == 0


def test_dates_narrow_the_offset_from_both_sides() -> None:
    sent, received = NOW, NOW + timedelta(milliseconds=200)
    offset = learned(None, NOW + timedelta(seconds=5), sent, received)
    assert offset == Offset(timedelta(seconds=4.8), timedelta(seconds=6))
    later = learned(offset, NOW + timedelta(seconds=5), sent + timedelta(seconds=0.7), received + timedelta(seconds=0.7))
    assert later == Offset(timedelta(seconds=4.8), timedelta(seconds=5.3))


def test_a_contradiction_means_that_a_clock_jumped_and_only_the_newest_date_counts() -> None:
    offset = Offset(timedelta(seconds=4), timedelta(seconds=5))
    assert learned(offset, NOW, NOW, NOW + SECOND) == Offset(-SECOND, SECOND)


def test_old_knowledge_of_a_clock_grows_vague() -> None:
    vague = aged(EXACT, timedelta(days=1))
    assert vague is not None
    assert timedelta(seconds=3) < vague.width < timedelta(seconds=4)


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


def waiting(step: int = 60) -> LedgerState:
    """Two calls were out; the first was refused after a second, with a wait."""
    state = charged(charged(running(), 1, NOW), 1, NOW)
    refused = Heard(sent_at=NOW, received_at=NOW + SECOND, cost=1, is_good=False, trouble=Trouble.BACK_OFF)
    return settled(state, charge(), structs.replace(refused, retry_after=step * SECOND))


def test_a_wait_is_not_ended_by_the_answer_to_a_call_sent_before_it() -> None:
    state = settled(waiting(), charge(), Heard(sent_at=NOW, received_at=NOW + 2 * SECOND, cost=1))
    assert state.backoff_until == NOW + 61 * SECOND
    assert state.is_careful
    later = charged(state, 1, NOW + 61 * SECOND)
    good = Heard(sent_at=NOW + 61 * SECOND, received_at=NOW + 62 * SECOND, cost=1)
    assert settled(later, charge(), good).backoff_until is None


def test_a_refusal_that_names_a_later_time_than_the_end_of_its_window_is_waited_for() -> None:
    reading = Reading(300, 0, NOW + 10 * SECOND)
    refused = Heard(sent_at=NOW, received_at=NOW, cost=1, is_good=False, trouble=Trouble.EXHAUSTED, reading=reading)
    state = charged(running(), 1, NOW)
    assert settled(state, charge(), refused).backoff_until is None
    told = settled(state, charge(), structs.replace(refused, retry_after=timedelta(minutes=30)))
    assert told.backoff_until == NOW + timedelta(minutes=30)


@pytest.mark.parametrize("told", [5 * SECOND, None])
def test_a_second_refusal_of_the_same_incident_makes_no_wait_shorter_and_no_next_one_longer(told: timedelta | None) -> None:
    before = waiting()
    again = Heard(sent_at=NOW, received_at=NOW + 2 * SECOND, cost=1, is_good=False, trouble=Trouble.BACK_OFF, retry_after=told)
    state = settled(before, charge(), again)
    assert (state.backoff_until, state.backoff_step) == (before.backoff_until, before.backoff_step)


def test_a_longer_wait_of_the_same_incident_counts() -> None:
    again = Heard(sent_at=NOW, received_at=NOW + 2 * SECOND, cost=1, is_good=False, trouble=Trouble.BACK_OFF)
    state = settled(waiting(), charge(), structs.replace(again, retry_after=300 * SECOND))
    assert state.backoff_until == NOW + 302 * SECOND


@pytest.mark.parametrize("year", [9999, 1, 2286])
def test_a_date_absurdly_far_away_is_no_reading_of_a_clock(year: int) -> None:
    date = datetime(year, 12, 31, 23, 59, 59, tzinfo=UTC)
    assert learned(None, date, NOW, NOW + SECOND) is None
    known = Offset(-SECOND, SECOND)
    assert learned(known, date, NOW, NOW + SECOND) == known
    heard = Heard(sent_at=NOW, received_at=NOW + SECOND, cost=1, date=date)
    assert settled(charged(running(offset=None), 1, NOW), charge(), heard).offset is None
