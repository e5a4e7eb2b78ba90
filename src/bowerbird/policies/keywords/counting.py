"""Counts the posts of a frame, one after the other. The engine and replays of recorded posts count in the same way."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Sequence
from datetime import datetime, timedelta

from msgspec import Struct

from bowerbird.model.terms import Kind, Matcher, Reading, read_text
from bowerbird.model.terms.forms import LONGEST_PHRASE
from bowerbird.model.terms.matcher import overlapping
from bowerbird.model.terms.reading import phrases
from bowerbird.policies.keywords.values import Background, Counts, Frame, Probe, Settings, State, Volume

MOST_TERMS = 2_000
"""Terms of a frame that are kept besides its keywords, the most frequent ones."""
_PROBED_TERMS = 100
_LEAST = 2
"""A word or phrase that one post alone has is no candidate."""


class Sampled(Struct, frozen=True):
    """A post as a probe shows it."""

    text: str
    at: datetime
    tags: tuple[str, ...] = ()
    author: str = ""


class FrameCounter:
    """The counts of one method in one frame: `add` what its keywords collected, `sample` what the background shows."""

    def __init__(self, began: datetime, state: State, settings: Settings, kinds: Collection[Kind] = frozenset(Kind)) -> None:
        self.began, self._settings, self._state, self._kinds = began, settings, state, frozenset(kinds)
        self._matcher = Matcher(state.keywords)
        self._core = Matcher(state.core)
        self._width = settings.frame / settings.slots
        self._seen: set[str] = set()
        self._posts = [0] * settings.slots
        self._counts: defaultdict[str, list[int]] = defaultdict(self._zeros)
        self._together: defaultdict[str, Counter[str]] = defaultdict(Counter)
        self._sampled = [0] * settings.slots
        self._sampled_counts: defaultdict[str, list[int]] = defaultdict(self._zeros)
        self._sampled_core = 0
        self._share = 0.0

    def _zeros(self) -> list[int]:
        return [0] * self._settings.slots

    def add(self, post: Reading, at: datetime, key: str = "") -> None:
        """Counts a collected post; one with the same key as another is not counted twice."""
        if key:
            if key in self._seen:
                return
            self._seen.add(key)
        slot, keywords = self._slot(at), self._matcher.matched(post)
        self._posts[slot] += 1
        for term in terms_of(post, self._kinds) | keywords:
            self._counts[term][slot] += 1
            self._together[term].update(keywords - {term})

    def sample(self, post: Reading, at: datetime, share: float = 1.0) -> None:
        """Counts a post of the background; `share`: the part of all posts that the sample holds."""
        slot, self._share = self._slot(at), share
        self._sampled[slot] += 1
        self._sampled_core += bool(self._core.matched(post))
        for term in terms_of(post, self._kinds):
            self._sampled_counts[term][slot] += 1

    def end(self, probes: Iterable[Probe] = (), volume: Volume | None = None) -> Frame:
        kept = self._kept()
        return Frame(
            began=self.began,
            length=self._settings.frame,
            posts=tuple(self._posts),
            counts={term: tuple(self._counts[term]) for term in kept},
            together={term: dict(self._together[term]) for term in kept if self._together[term]},
            background=self._background(kept),
            probes=tuple(probes),
            volume=volume or Volume(used=sum(self._posts)),
        )

    def _kept(self) -> list[str]:
        followed = [term for term in self._state.keywords if term in self._counts]
        totals = {term: sum(counts) for term, counts in self._counts.items() if term not in self._state.keywords}
        frequent = [term for term, total in totals.items() if total >= _LEAST or term[0] == "#"]
        return followed + sorted(frequent, key=lambda term: (-totals[term], term))[:MOST_TERMS]

    def _background(self, kept: Collection[str]) -> Background | None:
        if not any(self._sampled):
            return None
        counts: dict[str, Counts] = {term: tuple(self._sampled_counts[term]) for term in kept if term in self._sampled_counts}
        return Background(posts=tuple(self._sampled), counts=counts, core=self._sampled_core, share=self._share)

    def _slot(self, at: datetime) -> int:
        """Posts that are older or newer than the frame count in its first or last slot: they came while it lasted."""
        return min(max(0, int((at - self.began) / self._width)), self._settings.slots - 1)


def terms_of(post: Reading, kinds: Collection[Kind] = frozenset(Kind)) -> set[str]:
    """All that a post could teach, of these kinds; mentions teach nothing."""
    found = post.hashtags if Kind.HASHTAG in kinds else set()
    if Kind.WORD in kinds:
        found.update(token for token in post.tokens if token[0] not in "#@")
    if Kind.PHRASE in kinds:
        found.update(phrases(post.tokens, LONGEST_PHRASE))
    return found


def probed(term: str, posts: Sequence[Sampled], state: State, at: datetime) -> Probe:
    """What a search for one term tells: how many of the posts it found carry another core term. The same text counts once,
    and core terms that every post with the term has anyway are no other terms."""
    others = Matcher([each for each in state.core if not overlapping(each, term)])
    read = {read_text(post.text, post.tags, post.author): post.at for post in posts}
    around: Counter[str] = Counter()
    for reading in read:
        around.update(terms_of(reading) - {term})
    times = sorted(read.values())
    return Probe(
        term=term,
        at=at,
        posts=len(read),
        core=sum(bool(others.matched(reading)) for reading in read),
        terms=dict(around.most_common(_PROBED_TERMS)),
        span=times[-1] - times[0] if times else timedelta(),
    )
