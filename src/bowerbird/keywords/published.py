"""The published methods: fixed seeds, SKwA and RKwA of Wang, Tokarchuk, Cuadrado and Poslad, and a naive rule.

The paper describes RKwA twice, with different results:

- Prose: a keyword stays if it correlates with a seed above `thres1`, or with another retained
  keyword above `thres2`.
- Pseudocode: `thres1` applies while only the seeds are retained. After that `thres2` applies
  against any retained keyword, so the first candidate of a frame has the lower threshold alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import timedelta

from msgspec import Struct
from msgspec.structs import replace

from bowerbird.keywords.counting import Counts, count_posts, count_together
from bowerbird.keywords.keyword_set import (
    add_posts,
    apply_changes,
    count_room,
    find_quiet,
    is_protected,
    may_enter,
    may_stay,
)
from bowerbird.keywords.values import Candidate, Change, Decision, Frame, Settings, State
from bowerbird.model.terms.traffic import pearson

NAIVE_POSTS = 4
NAIVE_PERIOD = timedelta(days=1)


def baseline(state: State, frame: Frame, settings: Settings) -> Decision:
    """Keep the seeds and nothing else, as in most studies of events."""
    return Decision(state=add_posts(state, count_posts(state, frame, settings).total, settings))


def skwa(state: State, frame: Frame, settings: Settings) -> Decision:
    """Simple Keyword Adaptation: add the top `N - |H|` frequent hashtags of the frame; drop keywords that were quiet."""
    counts = count_posts(state, frame, settings)
    before = add_posts(state, counts.total, settings)
    exits = find_quiet(before, settings)
    ranked = [
        term
        for term in sorted(counts.total, key=lambda term: (-counts.total[term], term))
        if term[0] == "#" and counts.total[term] >= settings.min_posts and may_enter(before, term, settings)
    ]
    room = count_room(before, exits, settings)
    entries = tuple(
        Change(
            term=term,
            reason=f"in {counts.total[term]} posts of the frame, number {rank} of the new hashtags",
            numbers={"posts_in_frame": counts.total[term], "rank": rank},
        )
        for rank, term in enumerate(ranked[:room], 1)
    )
    together = count_together(ranked, (post.reading.hashtags for post in frame.posts), counts.keywords)
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


def naive(state: State, frame: Frame, settings: Settings) -> Decision:
    """Add every hashtag that occurs four times within a day in collected posts; drop none."""
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
        Change(term=term, reason=f"in {seen[term]} collected posts of the last day", numbers={"posts_in_a_day": seen[term]})
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


def retain_by_prose(pool: Sequence[str], seeds: Sequence[str], counts: Counts, thres1: float, thres2: float) -> dict[str, Link]:
    """Link each term to a seed, or to another retained term; the order of terms does not matter."""
    links = {term: _best_link(term, seeds, counts, thres1) for term in pool}
    added = [term for term in pool if links[term].holds]
    while added:
        others = [term for term in pool if not links[term].holds]
        near = {term: _best_link(term, added, counts, thres2) for term in others}
        added = [term for term in others if near[term].holds]
        links |= {term: near[term] for term in added}
    return links


def retain_by_pseudocode(
    pool: Sequence[str], seeds: Sequence[str], counts: Counts, thres1: float, thres2: float
) -> dict[str, Link]:
    """Link each term in turn: by `thres1` until one is retained, then by `thres2`."""
    links: dict[str, Link] = {}
    retained = list(seeds)
    for term in pool:
        links[term] = _best_link(term, retained, counts, thres1 if len(retained) == len(seeds) else thres2)
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


READINGS = {"prose": retain_by_prose, "pseudocode": retain_by_pseudocode}


def rkwa(
    state: State,
    frame: Frame,
    settings: Settings,
    *,
    thres1: float = 0.5,
    thres2: float = 0.8,
    reading: str = "prose",
) -> Decision:
    """Refined Keyword Adaptation: let SKwA choose a pool, then retain in every frame anew what correlates with the seeds."""
    counts = count_posts(state, frame, settings)
    before = add_posts(state, counts.total, settings)
    pool = skwa(replace(state, keywords={**state.keywords, **state.pool}), frame, settings).state.keywords

    seeds = [term for term in before.keywords if is_protected(before, term, settings)]
    others = [
        term
        for term in sorted(pool, key=lambda term: (-counts.total.get(term, 0), term))
        if term not in seeds and may_stay(before, term, settings)
    ]
    links = READINGS[reading](others, seeds, counts, thres1, thres2)
    retained = [term for term in others if links[term].holds][: max(0, settings.max_keywords - len(seeds))]

    kept = {*seeds, *retained}
    numbers = {term: {"correlation": link.correlation, "threshold": link.threshold} for term, link in links.items()}
    entries = tuple(
        Change(
            term=term,
            reason=f"its traffic follows that of {links[term].keyword}: "
            f"correlation {links[term].correlation:.2f}, above {links[term].threshold:.2f}",
            numbers=numbers[term],
        )
        for term in retained
        if term not in before.keywords
    )
    exits = tuple(
        Change(
            term=term,
            reason="its traffic does not follow that of another keyword any more: "
            f"correlation {links[term].correlation:.2f}, not above {links[term].threshold:.2f}"
            if term in links
            else "too few posts for too long, or blocked",
            numbers=numbers.get(term, {}),
        )
        for term in before.keywords
        if term not in kept
    )
    together = count_together(others, (post.reading.hashtags for post in frame.posts), counts.keywords)
    candidates = tuple(
        Candidate(
            term=term,
            counts=counts.in_slots(term),
            verdict="in" if term in kept else "full" if link.holds else "unlike the seeds",
            numbers=numbers[term],
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
        numbers={"thres1": thres1, "thres2": thres2},
    )
