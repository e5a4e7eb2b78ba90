"""Counts of a frame: posts with each hashtag and keyword, slot by slot, and terms that occur together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence

from msgspec import Struct

from bowerbird.keywords.values import Frame, Settings, State
from bowerbird.model.terms import Matcher


class Counts(Struct, frozen=True):
    """Collected posts of a frame by term."""

    slots: int
    by_slot: dict[str, tuple[int, ...]]
    """Posts with each hashtag and keyword in each slot."""
    total: dict[str, int]
    """The same for the whole frame."""
    keywords: tuple[frozenset[str], ...]
    """The keywords of each post of the frame, in the order of `Frame.posts`."""

    def in_slots(self, term: str) -> tuple[int, ...]:
        return self.by_slot.get(term, (0,) * self.slots)


def count_posts(state: State, frame: Frame, settings: Settings) -> Counts:
    """Count the posts of a frame. A post from outside the frame counts in its first or last slot."""
    matcher = Matcher(state.keywords)
    width = frame.length / settings.slots
    slots: list[Counter[str]] = [Counter() for _ in range(settings.slots)]
    keywords = []
    for post in frame.posts:
        carried = frozenset(matcher.matched(post.reading))
        keywords.append(carried)
        slot = min(max(0, int((post.at - frame.start) / width)), settings.slots - 1)
        slots[slot].update(carried | post.reading.hashtags)
    terms = sorted(set().union(*slots))
    by_slot = {term: tuple(slot[term] for slot in slots) for term in terms}
    total = {term: sum(counts) for term, counts in by_slot.items()}
    return Counts(settings.slots, by_slot, total, tuple(keywords))


def count_together(
    terms: Collection[str], by_post: Iterable[Iterable[str]], keywords: Sequence[frozenset[str]]
) -> dict[str, dict[str, int]]:
    """Return by term and keyword how many posts contain both; `by_post` has the terms of posts."""
    wanted = frozenset(terms)
    together: dict[str, Counter[str]] = {term: Counter() for term in sorted(wanted)}
    for own, carried in zip(by_post, keywords, strict=True):
        for term in wanted.intersection(own):
            together[term].update(carried - {term})
    return {term: dict(sorted(counts.items())) for term, counts in together.items()}
