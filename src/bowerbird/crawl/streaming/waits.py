"""How long to wait before the next connection, by the network's own rules. Policies return values; only the streamer waits."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta

from msgspec import Struct

from bowerbird.model import Backoff, Channel, Outcome, StreamState

LONG_WAIT = timedelta(minutes=15)
"""After a refusal that a human must look into; a new start of the crawl tries at once."""

REFUSED = StreamState.REFUSED
"""The state of a stream that only a human can help."""
_LIMITED = frozenset({Outcome.RATE_LIMITED, Outcome.SECOND_LIMIT, Outcome.QUOTA_EXHAUSTED})
_BROKEN = frozenset({Outcome.OK, Outcome.UNANSWERED})
_PASSING = frozenset({Outcome.OVERLOADED, Outcome.UNREADABLE})


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
