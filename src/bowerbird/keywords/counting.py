"""Counts of a frame: posts with each hashtag and keyword, slot by slot, and terms that occur together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence

from msgspec import Struct

from bowerbird.keywords.values import Frame, Post, Settings, State
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
    """Count the posts of a frame."""
    matcher = Matcher(state.keywords)
    keywords = tuple(frozenset(matcher.matched(post.reading)) for post in frame.posts)
    by_post = [carried | post.reading.hashtags for carried, post in zip(keywords, frame.posts, strict=True)]
    by_slot = count_slots(sorted(set().union(*by_post)), by_post, frame, settings)
    total = {term: sum(counts) for term, counts in by_slot.items()}
    return Counts(settings.slots, by_slot, total, keywords)


def count_together(
    terms: Collection[str], by_post: Iterable[Collection[str]], keywords: Sequence[frozenset[str]]
) -> dict[str, dict[str, int]]:
    """Return by term and keyword how many posts contain both; `by_post` has the terms of posts."""
    together: dict[str, Counter[str]] = {term: Counter() for term in terms}
    for own, carried in zip(by_post, keywords, strict=True):
        for term in together.keys() & own:
            together[term].update(carried - {term})
    return {term: dict(sorted(counts.items())) for term, counts in together.items()}


def count_slots(
    terms: Collection[str], by_post: Iterable[Collection[str]], frame: Frame, settings: Settings
) -> dict[str, tuple[int, ...]]:
    """Return by term how many posts of each slot contain it; `by_post` has the terms of posts."""
    counts = {term: [0] * settings.slots for term in terms}
    for post, own in zip(frame.posts, by_post, strict=True):
        for term in counts.keys() & own:
            counts[term][find_slot(post, frame, settings)] += 1
    return {term: tuple(slots) for term, slots in counts.items()}


def find_slot(post: Post, frame: Frame, settings: Settings) -> int:
    """Return the slot of a post; one from outside the frame is in the first or last slot."""
    slot = int((post.at - frame.start) / (frame.length / settings.slots))
    return min(max(0, slot), settings.slots - 1)
