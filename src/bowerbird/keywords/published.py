"""The published methods: fixed seeds, SKwA and RKwA of Wang, Tokarchuk, Cuadrado and Poslad, and a naive rule.

The paper describes RKwA twice, with different results:

- Prose: a keyword stays if it correlates with a seed above `thres1`, or with another retained
  keyword above `thres2`.
- Pseudocode: `thres1` applies while only the seeds are retained. After that `thres2` applies
  against any retained keyword, so the first candidate of a frame has the lower threshold alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from datetime import timedelta
from types import MappingProxyType

from msgspec import Struct
from msgspec.structs import replace

from bowerbird.keywords.counting import Counts, count_posts, count_together
from bowerbird.keywords.keyword_set import (
    add_posts,
    apply_changes,
    begin_state,
    count_room,
    find_quiet,
    is_protected,
    may_enter,
    may_stay,
)
from bowerbird.keywords.values import Candidate, Change, Decision, Frame, Settings, State
from bowerbird.model.terms.traffic import pearson

NAIVE_POSTS = 4
"""Posts within `NAIVE_PERIOD` after which the naive rule follows a hashtag."""
NAIVE_PERIOD = timedelta(days=1)


class Baseline:
    """The seeds and nothing else, as in most studies of events."""

    name = "baseline"

    def begin(self, seeds: tuple[str, ...], settings: Settings) -> State:
        return begin_state(self.name, seeds, settings)

    def decide(self, state: State, frame: Frame, settings: Settings) -> Decision:
        return Decision(state=add_posts(state, count_posts(state, frame, settings).total, settings))


class Skwa:
    """Simple Keyword Adaptation: the most frequent hashtags of the collected posts enter."""

    name = "skwa"

    def begin(self, seeds: tuple[str, ...], settings: Settings) -> State:
        return begin_state(self.name, seeds, settings)

    def decide(self, state: State, frame: Frame, settings: Settings) -> Decision:
        """Add the top `N - |H|` frequent hashtags of the frame; drop keywords that were quiet."""
        counts = count_posts(state, frame, settings)
        before = add_posts(state, counts.total, settings)
        exits = find_quiet(before, settings)
        ranked = [
            term
            for term in _rank_hashtags(counts)
            if counts.total[term] >= settings.min_posts and may_enter(before, term, settings)
        ]
        room = count_room(before, exits, settings)
        entries = tuple(
            Change(
                term=term,
                reason=f"in {counts.total[term]} posts of the frame, number {rank} of the new hashtags",
                numbers={"count": counts.total[term], "rank": rank},
            )
            for rank, term in enumerate(ranked[:room], 1)
        )
        together = _hashtags_together(ranked, frame, counts)
        candidates = tuple(
            Candidate(
                term=term,
                counts=counts.in_slots(term),
                verdict="enters" if rank < room else "full",
                together=together[term],
            )
            for rank, term in enumerate(ranked)
        )
        after = apply_changes(before, frame, entries, exits, counts.total)
        return Decision(state=after, entries=entries, exits=exits, candidates=candidates)


def _rank_hashtags(counts: Counts) -> list[str]:
    """Return the hashtags of a frame, the most frequent first, ties by name."""
    hashtags = (term for term in counts.total if term[0] == "#")
    return sorted(hashtags, key=lambda term: (-counts.total[term], term))


def _hashtags_together(terms: Sequence[str], frame: Frame, counts: Counts) -> dict[str, dict[str, int]]:
    return count_together(terms, (post.reading.hashtags for post in frame.posts), counts.keywords)


class Naive:
    """Every hashtag that occurs four times within a day in collected posts enters; none leaves."""

    name = "naive"

    def begin(self, seeds: tuple[str, ...], settings: Settings) -> State:
        return begin_state(self.name, seeds, settings)

    def decide(self, state: State, frame: Frame, settings: Settings) -> Decision:
        counts = count_posts(state, frame, settings)
        before = add_posts(state, counts.total, settings)
        seen: Counter[str] = Counter()
        for post in (*frame.earlier, *frame.posts):
            if post.at > frame.end - NAIVE_PERIOD:
                seen.update(post.reading.hashtags)
        frequent = [
            term
            for term in sorted(seen, key=lambda term: (-seen[term], term))
            if seen[term] >= NAIVE_POSTS and may_enter(before, term, settings)
        ]
        entries = tuple(
            Change(
                term=term,
                reason=f"in {seen[term]} collected posts of the last day",
                numbers={"count": seen[term]},
            )
            for term in frequent[: count_room(before, (), settings)]
        )
        after = apply_changes(before, frame, entries, (), counts.total)
        return Decision(state=after, entries=entries)


class Link(Struct, frozen=True):
    """The highest correlation of a term with a retained keyword, and the threshold it needs."""

    correlation: float
    keyword: str
    threshold: float

    @property
    def holds(self) -> bool:
        return self.correlation > self.threshold


class Thresholds(Struct, frozen=True):
    seed: float = 0.5
    """`Thres1` of the paper."""
    keyword: float = 0.8
    """`Thres2` of the paper."""


Retaining = Callable[[Sequence[str], Sequence[str], Counts, Thresholds], dict[str, Link]]
"""From SKwA's keywords, the most frequent first, and the seeds: the link of each of the former."""


def retain_by_prose(pool: Sequence[str], seeds: Sequence[str], counts: Counts, thresholds: Thresholds) -> dict[str, Link]:
    """Link each term to a seed, or to another retained term; the order of terms does not matter."""
    links = {term: _best_link(term, seeds, counts, thresholds.seed) for term in pool}
    added = [term for term in pool if links[term].holds]
    while added:
        others = [term for term in pool if not links[term].holds]
        near = {term: _best_link(term, added, counts, thresholds.keyword) for term in others}
        added = [term for term in others if near[term].holds]
        links |= {term: near[term] for term in added}
    return links


def retain_by_pseudocode(pool: Sequence[str], seeds: Sequence[str], counts: Counts, thresholds: Thresholds) -> dict[str, Link]:
    """Link each term in turn: by `thres1` until one is retained, then by `thres2`."""
    links: dict[str, Link] = {}
    retained = list(seeds)
    for term in pool:
        is_first = len(retained) == len(seeds)
        threshold = thresholds.seed if is_first else thresholds.keyword
        links[term] = _best_link(term, retained, counts, threshold)
        if links[term].holds:
            retained.append(term)
    return links


def _best_link(term: str, keywords: Sequence[str], counts: Counts, threshold: float) -> Link:
    own = counts.in_slots(term)
    correlation, keyword = max(
        ((pearson(own, counts.in_slots(each)), each) for each in keywords if each != term),
        default=(0.0, ""),
    )
    return Link(correlation, keyword, threshold)


READINGS = MappingProxyType({"prose": retain_by_prose, "pseudocode": retain_by_pseudocode})
"""The two descriptions of RKwA in the paper."""


class Rkwa:
    """Refined Keyword Adaptation: of SKwA's keywords, those whose traffic follows that of the seeds."""

    name = "rkwa"

    def __init__(self, thres1: float = 0.5, thres2: float = 0.8, reading: str = "prose") -> None:
        self._thresholds = Thresholds(thres1, thres2)
        self._retain: Retaining = READINGS[reading]

    def begin(self, seeds: tuple[str, ...], settings: Settings) -> State:
        return begin_state(self.name, seeds, settings)

    def decide(self, state: State, frame: Frame, settings: Settings) -> Decision:
        """Let SKwA choose a pool, then retain in every frame anew what correlates with the seeds."""
        counts = count_posts(state, frame, settings)
        before = add_posts(state, counts.total, settings)
        skwa_state = replace(state, keywords={**state.keywords, **state.pool})
        pool = Skwa().decide(skwa_state, frame, settings).state.keywords

        seeds = [term for term in before.keywords if is_protected(before, term, settings)]
        others = [
            term
            for term in sorted(pool, key=lambda term: (-counts.total.get(term, 0), term))
            if term not in seeds and may_stay(before, term, settings)
        ]
        links = self._retain(others, seeds, counts, self._thresholds)
        retained = [term for term in others if links[term].holds]
        retained = retained[: max(0, settings.max_keywords - len(seeds))]

        kept = {*seeds, *retained}
        entries = tuple(self._entry(term, links[term]) for term in retained if term not in before.keywords)
        exits = tuple(self._exit(term, links.get(term)) for term in before.keywords if term not in kept)
        together = _hashtags_together(others, frame, counts)
        candidates = tuple(
            Candidate(
                term=term,
                counts=counts.in_slots(term),
                verdict="in" if term in kept else "full" if link.holds else "unlike the seeds",
                numbers={"correlation": link.correlation, "threshold": link.threshold},
                together=together[term],
            )
            for term, link in links.items()
        )
        after = apply_changes(before, frame, entries, exits, counts.total)
        return Decision(
            state=replace(after, pool=pool),
            entries=entries,
            exits=exits,
            candidates=candidates,
            numbers={"thres1": self._thresholds.seed, "thres2": self._thresholds.keyword},
        )

    @staticmethod
    def _entry(term: str, link: Link) -> Change:
        return Change(
            term=term,
            reason=f"its traffic follows that of {link.keyword}: correlation {link.correlation:.2f}, above {link.threshold:.2f}",
            numbers={"correlation": link.correlation, "threshold": link.threshold},
        )

    @staticmethod
    def _exit(term: str, link: Link | None) -> Change:
        if link is None:
            return Change(term=term, reason="too few posts for too long, or blocked")
        return Change(
            term=term,
            reason="its traffic does not follow that of another keyword any more: "
            f"correlation {link.correlation:.2f}, not above {link.threshold:.2f}",
            numbers={"correlation": link.correlation, "threshold": link.threshold},
        )
