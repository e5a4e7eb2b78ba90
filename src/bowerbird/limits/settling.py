"""What an answer, or its absence, does to the account of one bucket. Pure.

Headers win over our own count, but an answer's header only knows the calls that the server had processed before it. Every
call that finished while this one flew may have been processed after it, so `header - overlapped` is safe, and so is our own
count; the better of the two safe bounds is taken. `header` below our own count means that somebody else uses the bucket.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from enum import Enum
from typing import Any

from msgspec import Struct, structs

from bowerbird.clock import EPOCH
from bowerbird.limits.ledger import LedgerState, boundary, changed, turned
from bowerbird.limits.server_clock import Offset, aged, learned
from bowerbird.model import Backoff, Charge, Reading, WindowKind

_WAITS = Backoff(first=timedelta(seconds=1), most=timedelta(minutes=5))
_LONGEST_STEP = 10
_TOLERANCE = timedelta(seconds=2)
_SECOND = timedelta(seconds=1)
_LONGEST_MONTH = timedelta(days=32)


class Trouble(Enum):
    """What a failed call means for the bucket that bears it."""

    NONE = "none"
    BACK_OFF = "back_off"
    EXHAUSTED = "exhausted"


class Heard(Struct, frozen=True, gc=False, kw_only=True):
    """What the end of one call tells one of its buckets."""

    sent_at: datetime
    received_at: datetime
    cost: int
    is_answered: bool = True
    is_good: bool = True
    """The service did its work; what it said about the target does not matter here."""
    is_refusal: bool = False
    reading: Reading | None = None
    trouble: Trouble = Trouble.NONE
    retry_after: timedelta | None = None
    date: datetime | None = None


class _News(Enum):
    NONE = "none"
    SAME_WINDOW = "same"
    OTHER_WINDOW = "other"
    OLD = "old"


def settled(state: LedgerState, charge: Charge, heard: Heard) -> LedgerState:
    """The account after one call was answered, or will not be."""
    return _ended(state, charge, charge.amount, heard)


def _ended(state: LedgerState, charge: Charge | None, amount: int, heard: Heard) -> LedgerState:
    # Learning comes first: whether a reset has passed depends on the server's clock.
    state = structs.replace(state, offset=_offset(state, heard))
    reading = _believable(state, heard)
    if reading is None:
        state = turned(state, heard.received_at)
    news = _News.NONE if reading is None else _news(state, reading.reset_at, heard.received_at)
    values = _own_count(state, heard) if charge is None or reading is None else _read(state, charge, heard, reading, news)
    if heard.trouble is Trouble.EXHAUSTED and news is not _News.OLD:
        values["remaining"] = min(0, values["remaining"])
    return changed(
        state,
        heard.received_at,
        offset=state.offset,
        in_flight=max(0, state.in_flight - amount),
        finished=state.finished + amount,
        spent=state.spent - amount + heard.cost,
        refused=state.refused + heard.is_refusal,
        **values,
        **_back_off(state, heard, news),
    )


def lost(state: LedgerState, amount: int, now: datetime) -> LedgerState:
    """The account after a call died with its worker: it may have been made, so it is spent."""
    return _ended(state, None, amount, Heard(sent_at=now, received_at=now, cost=amount, is_answered=False, is_good=False))


def _offset(state: LedgerState, heard: Heard) -> Offset | None:
    known = aged(state.offset, heard.received_at - state.updated_at)
    return known if heard.date is None else learned(known, heard.date, heard.sent_at, heard.received_at)


def _read(state: LedgerState, charge: Charge, heard: Heard, reading: Reading, news: _News) -> dict[str, Any]:
    """With a word from the server: its number, less what it cannot have known."""
    if news is _News.OLD:
        return {"remaining": state.remaining}
    told = reading.remaining or 0
    remaining = told - _overlapped(state, charge)
    reset_at = reading.reset_at
    if news is _News.SAME_WINDOW:
        remaining = max(min(state.remaining - heard.cost, told), remaining)
        reset_at = max((at for at in (state.reset_at, reset_at) if at is not None), default=_latest_end(state, heard))
    allowance = reading.limit or state.allowance
    if charge.limit.published is not None:
        # The user allows less than the server: of that, our own calls are taken, whatever the server has left.
        before = state.remaining if news is _News.SAME_WINDOW else charge.limit.allowance - _overlapped(state, charge)
        remaining, allowance = min(remaining, before - heard.cost), min(allowance, charge.limit.allowance)
    return {"remaining": remaining, "reset_at": reset_at, "allowance": allowance, "is_probing": False}


def _overlapped(state: LedgerState, charge: Charge) -> int:
    """What finished while this call flew: its answer cannot have known of it."""
    return state.finished - charge.finished_before


def _own_count(state: LedgerState, heard: Heard) -> dict[str, Any]:
    """Without a word from the server: the call is spent, in a window that it may have opened itself."""
    values: dict[str, Any] = {"remaining": state.remaining - heard.cost}
    # A lost call of a server whose clock we never saw may be in any window, even an aligned one.
    is_lost_in_the_dark = not heard.is_answered and state.offset is None
    is_guess = state.kind is WindowKind.FIRST_CALL or is_lost_in_the_dark
    if state.reset_at is None or (state.is_probing and is_guess):
        values["reset_at"] = _latest_end(state, heard)
    if heard.is_good and (state.resumed_at is None or heard.sent_at >= state.resumed_at):
        values["is_probing"] = False
    return values


def _latest_end(state: LedgerState, heard: Heard) -> datetime:
    """The latest time at which the window that counted this call can end."""
    # With the same bound that `resume_at` takes off again: in our own time the end is certain.
    server_now = heard.received_at + state.clock.low
    return (None if state.kind.is_spread else boundary(state, server_now)) or server_now + state.window


def _believable(state: LedgerState, heard: Heard) -> Reading | None:
    """The reading as far as it can be true: within its own limit, and not more than a window ahead."""
    reading = heard.reading
    if reading is None or reading.remaining is None:
        return None
    limit = reading.limit if reading.limit is not None and reading.limit > 0 else None
    remaining = min(max(0, reading.remaining), limit or state.allowance)
    return Reading(limit, remaining, _reset(state, reading.reset_at, heard.received_at))


def _reset(state: LedgerState, reset_at: datetime | None, received_at: datetime) -> datetime | None:
    if reset_at is None:
        return None
    if state.kind is WindowKind.ALIGNED and state.window > 2 * _SECOND:
        # Mastodon adds the fraction of the request's second to the true reset.
        beyond = (reset_at - EPOCH) % state.window
        reset_at = reset_at - beyond if beyond < _SECOND else reset_at
    longest = _LONGEST_MONTH if state.kind is WindowKind.MONTH else state.window
    return None if reset_at > received_at + state.clock.high + longest + _TOLERANCE else reset_at


def _news(state: LedgerState, reset_at: datetime | None, received_at: datetime) -> _News:
    if reset_at is None:
        return _News.SAME_WINDOW
    if state.reset_at is not None and abs(reset_at - state.reset_at) <= min(_TOLERANCE, state.window / 4):
        return _News.SAME_WINDOW
    # What has passed for certain is old; what may have passed is old only if the server has told us of a later window since.
    may_be_over = reset_at <= received_at + state.clock.high
    knows_better = not state.is_probing and state.reset_at is not None and reset_at < state.reset_at
    is_old = reset_at <= received_at + state.clock.low or (may_be_over and knows_better)
    return _News.OLD if is_old else _News.OTHER_WINDOW


def _back_off(state: LedgerState, heard: Heard, news: _News) -> dict[str, Any]:
    # What was sent before the wait was decided says nothing about whether it is over.
    is_later = state.backoff_since is None or heard.sent_at > state.backoff_since
    if heard.is_good:
        return {"backoff_step": 0, "backoff_until": None, "backoff_since": None} if is_later else {}
    # A refusal by a window that is over says nothing about when to try again; one that names a time may mean a later one than the
    # end of the window.
    is_timed = news is _News.OLD or heard.retry_after is not None
    is_wait = heard.trouble is Trouble.BACK_OFF or (heard.trouble is Trouble.EXHAUSTED and is_timed)
    if not is_wait or not (is_later or heard.retry_after):
        return {}
    # Of one incident only the first answer makes the next wait longer.
    step = min(state.backoff_step + is_later, _LONGEST_STEP)
    until = heard.received_at + (heard.retry_after or _WAITS.wait(max(1, step)))
    return {
        "backoff_step": step,
        "backoff_until": max(until, state.backoff_until or until),
        "backoff_since": heard.received_at if is_later else state.backoff_since,
    }
