"""The simplest rule that anybody would try first: any hashtag seen four times within a day among collected posts is followed."""

from __future__ import annotations

from collections import Counter, deque
from datetime import datetime, timedelta

from bowerbird.model.terms import Kind, kind_of
from bowerbird.policies.keywords.members import begun, changed, counted, may_enter
from bowerbird.policies.keywords.values import Change, Decision, Frame, Settings, State

_TIMES = 4
_DAY = timedelta(days=1)


class Naive:
    """Only for comparison: it keeps what it saw in memory, and nobody ever leaves."""

    name = "naive"
    kinds = frozenset({Kind.HASHTAG})

    def __init__(self) -> None:
        self._seen: deque[tuple[datetime, dict[str, int]]] = deque()

    def begins(self, seeds: tuple[str, ...], settings: Settings) -> State:
        return begun(self.name, seeds, settings)

    def decides(self, state: State, frame: Frame, settings: Settings) -> Decision:
        self._seen.append((frame.ended, {term: frame.count(term) for term in frame.counts if kind_of(term) is Kind.HASHTAG}))
        while self._seen[0][0] <= frame.ended - _DAY:
            self._seen.popleft()
        seen: Counter[str] = Counter()
        for _, counts in self._seen:
            seen.update(counts)
        entries = [
            Change(term=term, reason=f"seen {count} times in a day", numbers={"count": count})
            for term, count in seen.items()
            if count >= _TIMES and may_enter(state, term, settings)
        ]
        return Decision(state=changed(counted(state, frame, settings), frame, entries, ()), entries=tuple(entries))
