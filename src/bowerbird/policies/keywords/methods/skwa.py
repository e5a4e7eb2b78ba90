"""`skwa`: the most frequent hashtags of the collected posts join, as published (Simple Keyword Adaptation)."""

from __future__ import annotations

from collections.abc import Iterator

from bowerbird.model.terms import Kind, kind_of
from bowerbird.policies.keywords.members import begun, changed, counted, may_enter, quiet_exits, room
from bowerbird.policies.keywords.values import Candidate, Change, Decision, Frame, Settings, State


class Skwa:
    name = "skwa"
    kinds = frozenset({Kind.HASHTAG})

    def begins(self, seeds: tuple[str, ...], settings: Settings) -> State:
        return begun(self.name, seeds, settings)

    def decides(self, state: State, frame: Frame, settings: Settings) -> Decision:
        """Top `N - |H|` of the frame's hashtags that are not blacklisted and frequent enough; who is quiet for long leaves."""
        before = counted(state, frame, settings)
        exits = quiet_exits(before, settings)
        ranked = list(frequent_hashtags(before, frame, settings))
        free = room(before, exits, settings)
        entries = tuple(_entry(term, frame, rank) for rank, term in enumerate(ranked[:free], 1))
        full = tuple(Candidate(term=term, counts=frame.counts[term], verdict="full") for term in ranked[free:])
        entered = tuple(Candidate(term=each.term, counts=frame.counts[each.term], verdict="enters") for each in entries)
        return Decision(state=changed(before, frame, entries, exits), entries=entries, exits=exits, candidates=(*entered, *full))


def frequent_hashtags(state: State, frame: Frame, settings: Settings) -> Iterator[str]:
    """Hashtags of the frame that may come in, the most frequent first, ties by name."""
    ranked = sorted(frame.counts, key=lambda term: (-frame.count(term), term))
    for term in ranked:
        is_frequent = frame.count(term) >= settings.minimum
        if is_frequent and kind_of(term) is Kind.HASHTAG and may_enter(state, term, settings):
            yield term


def _entry(term: str, frame: Frame, rank: int) -> Change:
    count = frame.count(term)
    return Change(
        term=term,
        reason=f"in {count} of the frame's posts, number {rank} among new hashtags",
        numbers={"count": count, "rank": rank},
    )
