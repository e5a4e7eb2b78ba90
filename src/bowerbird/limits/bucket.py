"""Accounting for one rate-limit bucket: windows, pacing, back-off, and what a response changes. No I/O and no waiting.

Rules that every change keeps:

1. A call is charged before it is sent. `available = remaining - in_flight` never exceeds what the server has left.
2. Reset times are server time. `ClockOffset` bounds the difference from local time: calls stop before the earliest moment at
   which the window can end, and resume after the latest.
3. One call opens a new window. Others wait until the server has answered it.
4. Headers win over our own count, minus the calls that they cannot know. A call that finished while this one was in flight may
   have been processed after it, so `header - overlapped` is safe. Our own count is safe too, and the larger of the two is used.
   A header below our own count means that another program uses the bucket.
5. A call without a response counts as spent.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from functools import lru_cache
from typing import Any

from msgspec import Struct, structs

from bowerbird.clock import EPOCH
from bowerbird.model import Answer, Backoff, Charge, Limit, Outcome, Page, Reading, WindowKind

NEVER = datetime(9999, 1, 1, tzinfo=UTC)
FOREVER = NEVER - timedelta(days=366)
"""A wait until this time or later never ends."""
BURST = 0.25
"""Share of an allowance that is not paced, so that a short crawl finishes at once."""
EARLY = 1.1
"""Pacing uses up a window this much faster than evenly, to finish before it ends."""
_ZERO = timedelta(0)
_SECOND = timedelta(seconds=1)
_POLL = _SECOND
"""When to look again if the response to a call in flight decides."""
_REFUND_POLL = timedelta(seconds=30)
"""When to look again if a call in flight may refund part of its charge."""
_BEFORE_RESET, _AFTER_RESET = _SECOND, timedelta(milliseconds=150)
_TOLERANCE = timedelta(seconds=2)
_BACKOFF = Backoff(first=_SECOND, most=timedelta(minutes=5))
_MAX_BACKOFF_STEP = 10
_MAX_RETRY_AFTER = timedelta(days=1)
_MAX_OFFSET = timedelta(days=366)
_DRIFT = 2e-5
"""How far two clocks may run apart per unit of time."""
_MONTHS = "JanFebMarAprMayJunJulAugSepOctNovDec"
_REFUSALS = frozenset({Outcome.RATE_LIMITED, Outcome.SECOND_LIMIT, Outcome.QUOTA_EXHAUSTED})


class ClockOffset(Struct, frozen=True, gc=False):
    """Bounds of server time minus local time, learned from `Date` headers."""

    low: timedelta
    high: timedelta

    def widened(self, age: timedelta) -> ClockOffset:
        """Return the bounds after clocks drifted for this long."""
        return self if age <= _ZERO else ClockOffset(self.low - age * _DRIFT, self.high + age * _DRIFT)


_UNKNOWN_OFFSET = ClockOffset(timedelta(seconds=-2), timedelta(seconds=2))


def learn_offset(
    known: ClockOffset | None, server_time: datetime, sent_at: datetime, received_at: datetime
) -> ClockOffset | None:
    """Narrow the bounds by one `Date` header, which has whole seconds and was written between the two local times."""
    seen = ClockOffset(server_time - received_at, server_time - sent_at + _SECOND)
    if seen.low < -_MAX_OFFSET or seen.high > _MAX_OFFSET:
        return known
    if known is None:
        return seen
    narrowed = ClockOffset(max(seen.low, known.low), min(seen.high, known.high))
    # Contradicting bounds mean that a clock was set: start again from the newest header.
    return narrowed if narrowed.low <= narrowed.high else seen


@lru_cache(maxsize=64)
def parse_date(text: str) -> datetime | None:
    """Parse an HTTP date such as `Mon, 05 Jan 2026 00:00:00 GMT`; return None if it is malformed."""
    # Not with `strptime`, which reads names of months in the language of the locale.
    try:
        day, month, year = int(text[5:7]), _MONTHS.index(text[8:11]) // 3 + 1, int(text[12:16])
        return datetime(year, month, day, int(text[17:19]), int(text[20:22]), int(text[23:25]), tzinfo=UTC)
    except ValueError:
        return None


class CallResult(Struct, frozen=True, gc=False, kw_only=True):
    """What the end of one call means for one of its buckets."""

    sent_at: datetime
    received_at: datetime
    cost: int
    is_answered: bool = True
    is_good: bool = True
    """The service did its work, whatever it said about the target."""
    is_refusal: bool = False
    is_exhausted: bool = False
    """The server said that nothing is left in this window."""
    backs_off: bool = False
    header: Reading | None = None
    retry_after: timedelta | None = None
    server_time: datetime | None = None


class Bucket(Struct, frozen=True, gc=False, kw_only=True):
    """State of one bucket: a row of the table `ledgers`."""

    name: str
    allowance: int
    window: timedelta
    kind: WindowKind
    remaining: int
    in_flight: int = 0
    finished: int = 0
    """Units of all calls that ended, answered or lost."""
    reset_at: datetime | None = None
    """Server time; a guess while probing; None: the next call starts the window."""
    offset: ClockOffset | None = None
    is_probing: bool = True
    """The server has not answered in this window yet: one call at a time."""
    resumed_at: datetime | None = None
    backoff_until: datetime | None = None
    backoff_since: datetime | None = None
    """Only a good response to a call sent after this ends the back-off."""
    backoff_step: int = 0
    next_at: datetime | None = None
    """Pacing: the next call is due at this time."""
    spent: int = 0
    refused: int = 0
    version: int = 0
    updated_at: datetime

    @property
    def available(self) -> int:
        return self.remaining - self.in_flight

    @property
    def clock(self) -> ClockOffset:
        return self.offset or _UNKNOWN_OFFSET

    @property
    def is_careful(self) -> bool:
        """One call at a time: the window is new, or a failure must be followed by a good response."""
        return self.is_probing or self.backoff_step > 0

    @property
    def resumes_at(self) -> datetime:
        """Local time at which the next window has certainly begun."""
        return NEVER if self.reset_at is None else self.reset_at - self.clock.low + min(_AFTER_RESET, self.window / 20)

    @property
    def stops_at(self) -> datetime:
        """Local time after which a call may arrive in the next window."""
        return NEVER if self.reset_at is None else self._earliest_end(self.reset_at) - min(_BEFORE_RESET, self.window / 10)

    def _earliest_end(self, reset_at: datetime) -> datetime:
        doubt = self.clock.high - self.clock.low
        # Most of a very short window must stay usable.
        return reset_at - self.clock.low - (doubt if self.window > timedelta(seconds=10) else min(doubt, self.window / 4))

    def _enter_window(self, now: datetime) -> Bucket:
        reset_at = self._window_end(now + self.clock.low)
        return structs.replace(self, remaining=self.allowance, reset_at=reset_at, is_probing=True, resumed_at=now, next_at=None)

    def _window_end(self, server_time: datetime) -> datetime | None:
        """Return when the window that contains this time ends; None if the first call decides."""
        if self.kind is WindowKind.ALIGNED:
            return server_time + self.window - (server_time - EPOCH) % self.window
        if self.kind is WindowKind.MONTH:
            return datetime(server_time.year + server_time.month // 12, server_time.month % 12 + 1, 1, tzinfo=UTC)
        return NEVER if self.kind is WindowKind.EVER else None

    def current(self, now: datetime) -> Bucket:
        """Return the state at `now`: in the next window if this one has certainly ended."""
        if self.reset_at is None:
            return self
        # A reset more than a window ahead means that the local clock was set back.
        is_set_back = self.kind.is_spread and self.resumes_at - now > self.window + 10 * _SECOND
        return self._enter_window(now) if now >= self.resumes_at or is_set_back else self

    def with_limit(self, limit: Limit, now: datetime) -> Bucket:
        """Apply a limit that the provider or the user changed. What was used in this window still counts."""
        bucket = self
        if limit.is_money:
            # No server tells us about the user's budget, so there is nothing to probe.
            bucket = structs.replace(self.current(now), is_probing=False)
        elif self.window != limit.window or self.kind is not limit.kind:
            changed = structs.replace(self, allowance=limit.allowance, window=limit.window, kind=limit.kind)
            return changed._enter_window(now)
        elif limit.published is None or self.allowance <= limit.allowance:
            return self
        remaining = bucket.remaining + limit.allowance - bucket.allowance
        return structs.replace(bucket, allowance=limit.allowance, remaining=remaining)

    def available_at(self, amount: int, now: datetime, *, pace: bool = True) -> datetime:
        """Return the earliest time, `now` or later, at which a call of this amount may be made."""
        bucket = self.current(now)
        if amount > bucket.allowance:
            return NEVER
        if bucket.is_careful and bucket.in_flight > 0:
            return max(now + _POLL, bucket.backoff_until or now)
        if bucket.available < amount:
            if not bucket.kind.is_spread and amount <= bucket.remaining:
                return now + _REFUND_POLL
            return now + _POLL if bucket.reset_at is None else max(now, bucket.resumes_at)
        at = max(now, bucket.backoff_until or now, (bucket.next_at or now) if pace else now)
        return max(at, bucket.resumes_at) if not bucket.is_probing and at >= bucket.stops_at else at

    def rate(self, now: datetime) -> float:
        """Return the units available per second of window left."""
        bucket = self.current(now)
        left = bucket.window if bucket.reset_at is None else max(bucket.stops_at - now, _SECOND)
        return max(0, bucket.available) / left.total_seconds()

    def charge(self, amount: int, now: datetime) -> Bucket:
        """Reserve the most that a call may cost, before it is sent."""
        bucket = self.current(now)
        left, pause = bucket.available - amount, _ZERO
        if bucket.kind.is_spread and bucket.reset_at is not None and 0 < left < bucket.allowance * (1 - BURST):
            pause = max(bucket.stops_at - now, _ZERO) / left / EARLY
        return bucket.next_version(now, in_flight=bucket.in_flight + amount, spent=bucket.spent + amount, next_at=now + pause)

    def deliver(self, cost: int, reserved: int, now: datetime) -> Bucket:
        """Book items that a live connection delivered and release its reservation."""
        bucket = self.current(now)
        return bucket.next_version(
            now,
            remaining=bucket.remaining - cost,
            in_flight=max(0, bucket.in_flight - reserved),
            spent=bucket.spent - reserved + cost,
            is_probing=False,
        )

    def lose(self, amount: int, now: datetime) -> Bucket:
        """Book a call whose worker died: it may have been made, so it is spent."""
        return self._end(amount, None, CallResult(sent_at=now, received_at=now, cost=amount, is_answered=False, is_good=False))

    def settle(self, charge: Charge, result: CallResult) -> Bucket:
        """Book a call that was answered or failed."""
        return self._end(charge.amount, charge, result)

    def _end(self, amount: int, charge: Charge | None, result: CallResult) -> Bucket:
        now = result.received_at
        # First the clock: it decides whether a reset has passed.
        offset = self.offset and self.offset.widened(now - self.updated_at)
        if result.server_time is not None:
            offset = learn_offset(offset, result.server_time, result.sent_at, now)
        bucket = structs.replace(self, offset=offset, updated_at=now)
        header = bucket._plausible(result.header, now)
        is_stale = False
        if header is None or charge is None:
            bucket, changes = bucket._count(result)
        elif is_stale := bucket._is_stale(header.reset_at, now):
            changes = {"remaining": bucket.remaining}
        else:
            changes = bucket._read_header(header, charge, result)
        if result.is_exhausted and not is_stale:
            changes["remaining"] = min(0, changes["remaining"])
        return bucket.next_version(
            now,
            in_flight=max(0, bucket.in_flight - amount),
            finished=bucket.finished + amount,
            spent=bucket.spent - amount + result.cost,
            refused=bucket.refused + result.is_refusal,
            **changes,
            **bucket._back_off(result, is_stale),
        )

    def _plausible(self, header: Reading | None, now: datetime) -> Reading | None:
        """Return the header cut to what can be true: within its own limit, and a reset within one window."""
        if header is None or header.remaining is None:
            return None
        limit = header.limit if header.limit is not None and header.limit > 0 else None
        reset_at = header.reset_at
        if reset_at is not None:
            if self.kind is WindowKind.ALIGNED and self.window > 2 * _SECOND:
                # Mastodon adds the fraction of the request's second to the reset.
                fraction = (reset_at - EPOCH) % self.window
                reset_at -= fraction if fraction < _SECOND else _ZERO
            longest = timedelta(days=32) if self.kind is WindowKind.MONTH else self.window
            if reset_at > now + self.clock.high + longest + _TOLERANCE:
                reset_at = None
        return Reading(limit, min(max(0, header.remaining), limit or self.allowance), reset_at)

    def _is_same_window(self, reset_at: datetime | None) -> bool:
        if reset_at is None:
            return True
        return self.reset_at is not None and abs(reset_at - self.reset_at) <= min(_TOLERANCE, self.window / 4)

    def _is_stale(self, reset_at: datetime | None, now: datetime) -> bool:
        """Return whether the header is about a window that is over."""
        if reset_at is None or self._is_same_window(reset_at):
            return False
        # A reset that may have passed is stale only if the server has described a later window since.
        has_later = not self.is_probing and self.reset_at is not None and reset_at < self.reset_at
        return reset_at <= now + (self.clock.high if has_later else self.clock.low)

    def _read_header(self, header: Reading, charge: Charge, result: CallResult) -> dict[str, Any]:
        shown, overlapped = header.remaining or 0, self.finished - charge.finished_before
        remaining, reset_at, allowance = shown - overlapped, header.reset_at, header.limit or self.allowance
        is_same = self._is_same_window(reset_at)
        if is_same:
            remaining = max(min(self.remaining - result.cost, shown), remaining)
            reset_at = max((at for at in (self.reset_at, reset_at) if at is not None), default=self._latest_end(result))
        if charge.limit.published is not None:
            # The user allows less than the server: our own calls count against that.
            before = self.remaining if is_same else charge.limit.allowance - overlapped
            remaining, allowance = min(remaining, before - result.cost), min(allowance, charge.limit.allowance)
        return {"remaining": remaining, "reset_at": reset_at, "allowance": allowance, "is_probing": False}

    def _count(self, result: CallResult) -> tuple[Bucket, dict[str, Any]]:
        """Book a call without a header by our own count, in a window that the call may have opened itself."""
        bucket, now = self, result.received_at
        if self.reset_at is not None and now >= self._earliest_end(self.reset_at):
            # The next window may have begun: book the call there, but make no call before it certainly has.
            begin = max(now, self.resumes_at)
            bucket = structs.replace(self._enter_window(begin), backoff_until=max(begin, self.backoff_until or begin))
        changes: dict[str, Any] = {"remaining": bucket.remaining - result.cost}
        # A lost call to a server whose clock is unknown may be in any window, even of an aligned kind.
        is_guess = bucket.kind is WindowKind.FIRST_CALL or (not result.is_answered and bucket.offset is None)
        if bucket.reset_at is None or (bucket.is_probing and is_guess):
            changes["reset_at"] = bucket._latest_end(result)
        if result.is_good and (bucket.resumed_at is None or result.sent_at >= bucket.resumed_at):
            changes["is_probing"] = False
        return bucket, changes

    def _latest_end(self, result: CallResult) -> datetime:
        """Return the latest server time at which the window that counted this call can end."""
        # With the bound that `resumes_at` subtracts again: in local time the end is certain.
        server_time = result.received_at + self.clock.low
        return (None if self.kind.is_spread else self._window_end(server_time)) or server_time + self.window

    def _back_off(self, result: CallResult, is_stale: bool) -> dict[str, Any]:
        # A call sent before the back-off began says nothing about whether it is over.
        is_later = self.backoff_since is None or result.sent_at > self.backoff_since
        if result.is_good:
            return {"backoff_step": 0, "backoff_until": None, "backoff_since": None} if is_later else {}
        # An exhausted bucket waits for its reset, unless the header is stale or the server asks for a longer wait.
        waits = result.backs_off or (result.is_exhausted and (is_stale or result.retry_after is not None))
        if not waits or not (is_later or result.retry_after):
            return {}
        # Of several failures of one incident, only the first doubles the wait.
        step = min(self.backoff_step + is_later, _MAX_BACKOFF_STEP)
        until = result.received_at + (result.retry_after or _BACKOFF.wait(max(1, step)))
        return {
            "backoff_step": step,
            "backoff_until": max(until, self.backoff_until or until),
            "backoff_since": result.received_at if is_later else self.backoff_since,
        }

    def next_version(self, now: datetime, **changes: Any) -> Bucket:
        """Return the state with these changes, as the database will store it."""
        offset = self.offset and self.offset.widened(now - self.updated_at)
        return structs.replace(self, offset=offset, version=self.version + 1, updated_at=now, **changes)

    def certain_day(self, response: Answer) -> date | None:
        """Return the server's date when it answered; None near midnight, when it may have been either."""
        first, last = (response.sent_at + self.clock.low).date(), (response.received_at + self.clock.high).date()
        return first if first == last else None


def new_bucket(name: str, limit: Limit, now: datetime) -> Bucket:
    """Return the state of a bucket that was never used."""
    return Bucket(
        name=name, allowance=limit.allowance, window=limit.window, kind=limit.kind, remaining=limit.allowance, updated_at=now
    )._enter_window(now)


def call_results(buckets: Sequence[Bucket], charges: Sequence[Charge], page: Page, response: Answer) -> list[CallResult]:
    """Map a response to the buckets of its call: which one the header describes, and which one a failure blocks."""
    outcome, header = page.outcome, page.reading
    # The service knows nothing of the user's own budget.
    known = [n for n, charge in enumerate(charges) if not charge.limit.is_money] or list(range(len(charges)))
    described = None if header is None else _described_bucket(buckets, charges, known, header, response.received_at)
    blocked = _blocked_bucket(buckets, known, outcome, described)
    is_refusal, is_answered = outcome in _REFUSALS, response.status != 0
    is_empty = header is not None and header.remaining == 0 and header.reset_at is not None
    is_exhausted = (outcome is Outcome.RATE_LIMITED and is_empty) or (
        outcome is Outcome.QUOTA_EXHAUSTED and buckets[blocked].kind is WindowKind.MONTH
    )
    # Without a readable response the cost is unknown: then the most that the call may cost is spent.
    is_cost_known = is_answered and (outcome is not Outcome.UNREADABLE or response.status >= 300)
    retry_after, server_time = _retry_after(response), parse_date(response.headers.get("date", ""))
    results = []
    for n, charge in enumerate(charges):
        cost = charge.limit.per_call + charge.limit.per_result * page.results
        # A service bills results beyond the number that was requested; rate limits count the call only.
        cost = cost if charge.limit.is_money else min(charge.amount, cost)
        results.append(
            CallResult(
                sent_at=response.sent_at,
                received_at=response.received_at,
                cost=cost if is_cost_known else charge.amount,
                is_answered=is_answered,
                is_good=not outcome.is_passing and not (is_refusal and n == blocked),
                is_refusal=is_refusal and is_answered and n == blocked,
                is_exhausted=is_exhausted and n == blocked,
                backs_off=(is_refusal or outcome.is_passing) and not is_exhausted and n == blocked,
                header=header if n == described else None,
                retry_after=retry_after,
                server_time=server_time,
            )
        )
    return results


def _described_bucket(
    buckets: Sequence[Bucket], charges: Sequence[Charge], known: Sequence[int], header: Reading, now: datetime
) -> int:
    """Return the bucket that the header is about; a service with several limits reports only the tightest.

    Match by limit and reset time. Among several matches take the one with the least available.
    """
    candidates = [n for n in known if buckets[n].kind.is_spread] or list(known)
    if len(candidates) == 1:
        return candidates[0]
    fitting = [n for n in candidates if _fits(buckets[n], header.reset_at, now)]
    named = [n for n in candidates if (charges[n].limit.published or buckets[n].allowance) == header.limit]
    matches = [n for n in fitting if n in named] or named or fitting or candidates
    return min(matches, key=lambda n: buckets[n].available)


def _fits(bucket: Bucket, reset_at: datetime | None, now: datetime) -> bool:
    if reset_at is None:
        return True
    if bucket.reset_at is not None and not bucket.is_probing and abs(reset_at - bucket.reset_at) <= _TOLERANCE:
        return True
    if reset_at > now + bucket.clock.high + bucket.window + _TOLERANCE:
        return False
    if bucket.kind is WindowKind.ALIGNED:
        return (reset_at - EPOCH + _TOLERANCE) % bucket.window <= 2 * _TOLERANCE
    return bucket.is_probing or bucket.reset_at is None


def _blocked_bucket(buckets: Sequence[Bucket], known: Sequence[int], outcome: Outcome, described: int | None) -> int:
    """Return the one bucket that waits after a failure: the facet's own, which comes first, unless a limit was exceeded."""
    if outcome is Outcome.SECOND_LIMIT:
        # X refuses a second search within one second although its headers show calls remaining.
        return min([n for n in known if n != described] or known, key=lambda n: buckets[n].window)
    if outcome is Outcome.QUOTA_EXHAUSTED:
        return max(known, key=lambda n: buckets[n].window)
    if outcome is Outcome.RATE_LIMITED:
        return described if described is not None else min(known, key=lambda n: buckets[n].available)
    return known[0]


def _retry_after(response: Answer) -> timedelta | None:
    """Parse `Retry-After`: seconds or a date, at most a day."""
    text = response.headers.get("retry-after", "").strip()
    if text.isascii() and text.isdigit():
        return min(timedelta(seconds=int(text[:9])), _MAX_RETRY_AFTER)
    if (until := parse_date(text)) is None:
        return None
    now = parse_date(response.headers.get("date", "")) or response.received_at
    return min(max(until - now, _ZERO), _MAX_RETRY_AFTER)
