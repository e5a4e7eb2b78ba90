"""Who learns what from an answer: which of a call's buckets its header describes, and which one bears a failure. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from bowerbird.clock import EPOCH
from bowerbird.limits.ledger import LedgerState
from bowerbird.limits.server_clock import parse_date
from bowerbird.limits.settling import Heard, Trouble
from bowerbird.model import Answer, Charge, Outcome, Reading, WindowKind

_LONGEST_RETRY_AFTER = timedelta(days=1)
_NEAR = timedelta(seconds=2)
_REFUSALS = frozenset({Outcome.RATE_LIMITED, Outcome.SECOND_LIMIT, Outcome.QUOTA_EXHAUSTED})


def hear(
    states: Sequence[LedgerState],
    charges: Sequence[Charge],
    outcome: Outcome,
    reading: Reading | None,
    answer: Answer,
    results: int,
) -> list[Heard]:
    """What the end of one call tells each of its buckets, in the order given."""
    if not charges:
        return []
    limits = [charge.limit.published or state.allowance for charge, state in zip(charges, states, strict=True)]
    heeded = _told_of(charges)
    described = describes(states, reading, answer.received_at, limits, heeded) if reading is not None else None
    bearer = _bearer(states, heeded, outcome, described)
    trouble = _trouble(outcome, reading, states[bearer])
    date, retry_after = parse_date(answer.headers.get("date", "")) if answer.headers else None, _retry_after(answer)
    is_answered, is_good = answer.status != 0, outcome is Outcome.OK or not outcome.is_passing
    # What a good answer held that cannot be read is not known: then the most is spent that it can have cost.
    is_told = is_answered and (outcome is not Outcome.UNREADABLE or answer.status >= 300)
    return [
        Heard(
            sent_at=answer.sent_at,
            received_at=answer.received_at,
            cost=_cost(charge, results) if is_told else charge.amount,
            is_answered=is_answered,
            is_good=is_good and (outcome not in _REFUSALS or n != bearer),
            # By what it says and not by its status: Weibo refuses with 403.
            is_refusal=is_answered and outcome in _REFUSALS and n == bearer,
            reading=reading if n == described else None,
            trouble=trouble if n == bearer else Trouble.NONE,
            retry_after=retry_after,
            date=date,
        )
        for n, charge in enumerate(charges)
    ]


def _cost(charge: Charge, results: int) -> int:
    cost = charge.limit.per_call + charge.limit.per_result * results
    # A service that lists more than it was asked for bills it too.
    return cost if charge.limit.is_money else min(charge.amount, cost)


def _told_of(charges: Sequence[Charge]) -> Sequence[int]:
    """The buckets that a service can speak of: of the user's own budget it knows nothing."""
    return [n for n, charge in enumerate(charges) if not charge.limit.is_money] or range(len(charges))


def _trouble(outcome: Outcome, reading: Reading | None, bearer: LedgerState) -> Trouble:
    if outcome is Outcome.OK:
        return Trouble.NONE
    if outcome is Outcome.QUOTA_EXHAUSTED and bearer.kind is WindowKind.MONTH:
        return Trouble.EXHAUSTED
    if outcome is Outcome.RATE_LIMITED and reading is not None and reading.remaining == 0 and reading.reset_at is not None:
        return Trouble.EXHAUSTED
    return Trouble.BACK_OFF if outcome in _REFUSALS or outcome.is_passing else Trouble.NONE


def _bearer(states: Sequence[LedgerState], order: Sequence[int], outcome: Outcome, described: int | None) -> int:
    """The one bucket that waits after a failure, never the others.

    Faults of the service go to the first bucket, which by convention is the facet's own. A 429 goes to the bucket it
    describes; one with calls remaining (X: one search per second, not in the headers) to the shortest window that the
    header does not describe.
    """
    if outcome is Outcome.SECOND_LIMIT:
        others = [n for n in order if n != described] or list(order)
        return min(others, key=lambda n: states[n].window)
    if outcome is Outcome.QUOTA_EXHAUSTED:
        return max(order, key=lambda n: states[n].window)
    if outcome is Outcome.RATE_LIMITED:
        return described if described is not None else min(order, key=lambda n: states[n].available)
    return order[0]


def describes(
    states: Sequence[LedgerState],
    reading: Reading,
    received_at: datetime,
    limits: Sequence[int] | None = None,
    heeded: Sequence[int] | None = None,
) -> int:
    """Which bucket (of those `heeded`) the header is about: services with several limits tell only the tightest.

    By limit (`limits`: as the server knows them, where the user allows less) and reset; if several fit, the one our own
    count says is tightest; if the limit is nobody's, it is a new number for the tightest of those whose window fits the reset.
    """
    heeded = range(len(states)) if heeded is None else heeded
    order = [n for n in heeded if states[n].kind.is_spread] or list(heeded)
    if len(order) == 1:
        return order[0]
    fitting = [n for n in order if _fits(states[n], reading.reset_at, received_at)]
    named = [n for n in order if (limits[n] if limits is not None else states[n].allowance) == reading.limit]
    candidates = [n for n in fitting if n in named] or named or fitting or order
    return min(candidates, key=lambda n: states[n].available)


def _fits(state: LedgerState, reset_at: datetime | None, received_at: datetime) -> bool:
    if reset_at is None:
        return True
    if state.reset_at is not None and not state.is_probing and abs(reset_at - state.reset_at) <= _NEAR:
        return True
    if reset_at > received_at + state.clock.high + state.window + _NEAR:
        return False
    if state.kind is WindowKind.ALIGNED:
        beyond = (reset_at - EPOCH) % state.window
        return beyond <= _NEAR or state.window - beyond <= _NEAR
    return state.is_probing or state.reset_at is None


def _retry_after(answer: Answer) -> timedelta | None:
    """The wait the server asks for, in seconds or as a date, at most a day."""
    text = answer.headers.get("retry-after", "").strip() if answer.headers else ""
    if not text:
        return None
    if text.isascii() and text.isdigit():
        return min(timedelta(seconds=int(text[:9])), _LONGEST_RETRY_AFTER)
    until, date = parse_date(text), parse_date(answer.headers.get("date", ""))
    if until is None:
        return None
    return min(max(until - (date or answer.received_at), timedelta(0)), _LONGEST_RETRY_AFTER)
