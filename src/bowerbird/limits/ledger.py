"""Our account of one bucket and the rules for taking calls from it. Pure: it never waits, it answers when.

`available = remaining - in_flight`, and the invariant is that it never exceeds what the server has left. The server's resets
are in the server's time; `Offset` turns them into ours with an early and a late bound. A window is entered by one probe:
only when the server has answered it are the others released. Within a window calls are spread, but for the first quarter,
which a short errand may burn at once.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from msgspec import Struct, structs

from bowerbird.clock import EPOCH
from bowerbird.limits.server_clock import UNKNOWN, Offset, aged
from bowerbird.model import Limit, WindowKind

NEVER = datetime(9999, 1, 1, tzinfo=UTC)
FOREVER = NEVER - timedelta(days=366)
"""Whoever must wait until then waits in vain."""
LOOK_AGAIN = timedelta(seconds=1)
"""When the answer to a call in flight decides, and nobody can say when it comes."""
_AFTER_REFUND = timedelta(seconds=30)
"""The same, where it would only give back what was reserved too much; who settles a call in this process looks again at once."""
_BEFORE_RESET = timedelta(seconds=1)
_AFTER_RESET = timedelta(milliseconds=150)
EARLY = 1.1
BURST = 0.25
"""Part of a window's calls that need not be spread over it."""
_SECOND = timedelta(seconds=1)
_SHORT = timedelta(seconds=10)


class LedgerState(Struct, frozen=True, gc=False, kw_only=True):
    """One row of `ledgers`."""

    bucket: str
    allowance: int
    window: timedelta
    kind: WindowKind
    remaining: int
    in_flight: int = 0
    finished: int = 0
    """Units of all calls that ended, answered or lost."""
    reset_at: datetime | None = None
    """In the server's time; while probing only a guess; None: the window starts with the next call."""
    offset: Offset | None = None
    is_probing: bool = True
    """Nothing was heard from the server in this window yet: one call at a time."""
    resumed_at: datetime | None = None
    backoff_until: datetime | None = None
    backoff_since: datetime | None = None
    """When the wait was decided: only a good answer to a call sent later ends it."""
    backoff_step: int = 0
    next_at: datetime | None = None
    spent: int = 0
    refused: int = 0
    version: int = 0
    updated_at: datetime

    @property
    def available(self) -> int:
        return self.remaining - self.in_flight

    @property
    def is_careful(self) -> bool:
        """One call at a time: the window is new to us, or something went wrong and one good answer must come first."""
        return self.is_probing or self.backoff_step > 0

    @property
    def clock(self) -> Offset:
        return self.offset or UNKNOWN


def opened(bucket: str, limit: Limit, now: datetime) -> LedgerState:
    """The account of a bucket never used before."""
    fresh = LedgerState(
        bucket=bucket,
        allowance=limit.allowance,
        window=limit.window,
        kind=limit.kind,
        remaining=limit.allowance,
        updated_at=now,
    )
    return _entered(fresh, now)


def reopened(state: LedgerState, limit: Limit, now: datetime) -> LedgerState:
    """The same bucket after its published window was changed: counted anew, with what is in flight kept."""
    fresh = structs.replace(state, allowance=limit.allowance, window=limit.window, kind=limit.kind)
    return _entered(fresh, now)


def allowed(state: LedgerState, allowance: int) -> LedgerState:
    """The same bucket after the user allowed more or less than was known: what was taken in this window counts."""
    return structs.replace(state, allowance=allowance, remaining=state.remaining - (state.allowance - allowance))


def rolled(state: LedgerState, now: datetime) -> LedgerState:
    """The account as of now: in the next window if this one is over for certain."""
    if state.reset_at is None:
        return state
    resume = resume_at(state)
    # A reset further away than a window is long can only mean that our clock was set back.
    if now >= resume or (state.kind.is_spread and resume - now > state.window + 10 * _SECOND):
        return _entered(state, now)
    return state


def turned(state: LedgerState, now: datetime) -> LedgerState:
    """The account as a call that ended now may have found it: in the next window as soon as that may have begun.

    A call without a word about its window is booked where it hurts; the window is still entered only when it is certain.
    """
    if state.reset_at is None or now < state.reset_at - state.clock.low - _doubt(state):
        return state
    begin = max(now, resume_at(state))
    return structs.replace(_entered(state, begin), backoff_until=max(begin, state.backoff_until or begin))


def _entered(state: LedgerState, now: datetime) -> LedgerState:
    return structs.replace(
        state,
        remaining=state.allowance,
        reset_at=boundary(state, now + state.clock.low),
        is_probing=True,
        resumed_at=now,
        next_at=None,
    )


def boundary(state: LedgerState, server_now: datetime) -> datetime | None:
    """Where the window of that time ends by itself; None where a first call must start it."""
    if state.kind is WindowKind.ALIGNED:
        return server_now + state.window - (server_now - EPOCH) % state.window
    if state.kind is WindowKind.MONTH:
        return datetime(server_now.year + server_now.month // 12, server_now.month % 12 + 1, 1, tzinfo=UTC)
    return NEVER if state.kind is WindowKind.EVER else None


def _doubt(state: LedgerState) -> timedelta:
    # Very short windows cannot afford it all: three fifths of them must stay usable.
    return min(state.clock.width, state.window / 4) if state.window <= _SHORT else state.clock.width


def stop_at(state: LedgerState) -> datetime:
    """Our time after which a call might arrive in the next window."""
    if state.reset_at is None:
        return NEVER
    return state.reset_at - state.clock.low - _doubt(state) - min(_BEFORE_RESET, state.window / 10)


def resume_at(state: LedgerState) -> datetime:
    """Our time from which the next window has begun for certain."""
    if state.reset_at is None:
        return NEVER
    return state.reset_at - state.clock.low + min(_AFTER_RESET, state.window / 20)


def when(state: LedgerState, amount: int, now: datetime, *, pace: bool = True) -> datetime:
    """The earliest time at which a call of this amount may be made: `now` or later."""
    state = rolled(state, now)
    if amount > state.allowance:
        return NEVER
    if state.is_careful and state.in_flight > 0:
        return max(now + LOOK_AGAIN, state.backoff_until or now)
    if state.available < amount:
        if not state.kind.is_spread and amount <= state.remaining:
            return now + _AFTER_REFUND
        return max(now, resume_at(state)) if state.reset_at is not None else now + LOOK_AGAIN
    at = max(now, state.backoff_until or now, (state.next_at or now) if pace else now)
    if not state.is_probing and at >= stop_at(state):
        return max(at, resume_at(state))
    return at


def room(state: LedgerState, now: datetime) -> float:
    """Units available per second of window left."""
    state = rolled(state, now)
    left = state.window if state.reset_at is None else max(stop_at(state) - now, _SECOND)
    return max(0, state.available) / left.total_seconds()


def charged(state: LedgerState, amount: int, now: datetime) -> LedgerState:
    """The account after a call was taken from it, before it is made."""
    state = rolled(state, now)
    return changed(
        state,
        now,
        in_flight=state.in_flight + amount,
        spent=state.spent + amount,
        next_at=now + _spacing(state, state.available - amount, now),
    )


def delivered(state: LedgerState, amount: int, now: datetime, reserved: int = 0) -> LedgerState:
    """The account after something came that costs, whether there was room for it or not; what was reserved for it is free."""
    state = rolled(state, now)
    return changed(
        state,
        now,
        remaining=state.remaining - amount,
        in_flight=max(0, state.in_flight - reserved),
        spent=state.spent - reserved + amount,
        # The service speaks: nobody need wait for the connection to end to know that this window is good.
        is_probing=False,
    )


def reserved(state: LedgerState, amount: int, now: datetime) -> LedgerState:
    """The account after so much of it was set aside for what a live connection brings next."""
    return changed(state, now, in_flight=state.in_flight + amount, spent=state.spent + amount)


def _spacing(state: LedgerState, available: int, now: datetime) -> timedelta:
    is_burst = state.allowance - available <= state.allowance * BURST
    if is_burst or available <= 0 or not state.kind.is_spread or state.reset_at is None:
        return timedelta(0)
    return max(stop_at(state) - now, timedelta(0)) / available / EARLY


def changed(state: LedgerState, now: datetime, **values: Any) -> LedgerState:
    """The next version of the account."""
    values.setdefault("offset", aged(state.offset, now - state.updated_at))
    return structs.replace(state, version=state.version + 1, updated_at=now, **values)
