"""How a connection ends: by us, by the service with a word, or without one; and how long to wait before the next one, by the
network's own rules. Policies return values; only the streamer waits.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import timedelta

from msgspec import Struct

from bowerbird.model import Backoff, Channel, Ended, Heard, NoticeKind, Outcome, StreamState
from bowerbird.model.wording import noticed, outcome_words

LONG_WAIT = timedelta(minutes=15)
"""After a refusal that a human must look into; a new start of the crawl tries at once."""

REFUSED = StreamState.REFUSED
"""The state of a stream that only a human can help."""
_LIMITED = frozenset({Outcome.RATE_LIMITED, Outcome.SECOND_LIMIT, Outcome.QUOTA_EXHAUSTED})
_BROKEN = frozenset({Outcome.OK, Outcome.UNANSWERED})
_PASSING = frozenset({Outcome.OVERLOADED, Outcome.UNREADABLE})

STOPPED = Ended("asked to stop")
PAUSED = Ended("asked to pause")
RETUNED = Ended("asked to hear something else")
RESET = (
    "the service has never come as far as our cursor: its numbering was reset. The cursor is kept; to hear on from now, give "
    "the stream another name in the crawl file"
)


class Trouble(Struct, frozen=True, kw_only=True):
    """Why there is no connection any more, or none at all."""

    outcome: Outcome
    words: str
    retry_after: timedelta | None = None
    was_open: bool = False
    """It ended a live connection, as against a refusal to open one."""
    is_final: bool = False
    """No further try will end otherwise, whatever the outcome says."""
    is_wanted: bool = False
    """We ended it ourselves: no trouble at all."""


class Pause(Struct, frozen=True):
    """How long, and what the stream's row says meanwhile."""

    wait: timedelta
    state: StreamState
    words: str


class Waits:
    """Counts failures in a row, by the rule they fall under, and says how long each one waits."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self._failures: Counter[Backoff] = Counter()

    def succeeded(self) -> None:
        self._failures.clear()

    def after(self, trouble: Trouble) -> Pause:
        rule = self._rule(trouble)
        if rule is None:
            return Pause(max(LONG_WAIT, trouble.retry_after or LONG_WAIT), REFUSED, trouble.words)
        self._failures[rule] += 1
        wait = max(rule.wait(self._failures[rule]), trouble.retry_after or timedelta(0))
        return Pause(wait, StreamState.WAITING, trouble.words)

    def _rule(self, trouble: Trouble) -> Backoff | None:
        """The row of the network's table; None where only a human can help."""
        outcome = trouble.outcome
        if trouble.is_final:
            return None
        if outcome in _LIMITED:
            return self._channel.limited
        if outcome in _BROKEN or (trouble.was_open and outcome in _PASSING):
            return self._channel.lost
        return self._channel.refused if outcome in _PASSING else None


def parting(heard: Sequence[Heard]) -> Trouble | None:
    """How the service ends the connection, if it says so."""
    notices = [notice for each in heard for notice in each.notices]
    if any(notice.kind is NoticeKind.FUTURE for notice in notices):
        return Trouble(outcome=Outcome.BAD_REQUEST, words=RESET, was_open=True, is_final=True)
    closing = next((each.closing for each in heard if each.closing is not None), None)
    if closing is None:
        return None
    words = "; ".join(noticed(notice) for notice in notices if notice.kind is not NoticeKind.UNDELIVERED)
    return Trouble(outcome=closing, words=words or f"the service ends the connection: {outcome_words(closing)}", was_open=True)


def trouble_of(ended: Ended) -> Trouble:
    words = f"{ended.reason} ({ended.status})" if ended.status else ended.reason
    return Trouble(outcome=Outcome.OK, words=words, was_open=True, is_wanted=ended in (STOPPED, PAUSED, RETUNED))
