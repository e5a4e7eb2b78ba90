"""The texts of a frame, and what they say about a term: how much it bursts, and how its posts look.

The precision of a term is the share `m` of its posts that belong to the event. Two signs are
combined: whether the term is used more than normally (burst), and whether the posts that only this
term matches look like those of the event (likeness)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from datetime import datetime

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from bowerbird.keywords.likeness import Floats, Ints, Model
from bowerbird.keywords.reference import ordinary_share
from bowerbird.keywords.terms import (
    is_implied,
    kin_families,
    list_features,
    text_key,
)
from bowerbird.keywords.values import HISTORY, SPAN_FRAMES, Estimate, Frame, Post, State
from bowerbird.model.terms import Matcher, family

Flags = NDArray[np.bool_]

SURE_PRECISION = 0.85
"""Estimated precision from which on the texts of a keyword count as texts of the event."""
NORMAL_FACTOR = 2.0
"""How many times its ordinary frequency a term may have without a burst."""
MIN_BURST = 0.5
"""A term with less is judged by its burst alone."""
OVERLAP_FACTOR = 5.0
"""A word of the event occurs with other keywords: its burst is at most this many times the share of
its posts that another keyword matches too. This keeps out many everyday words of languages that the
table of ordinary posts does not contain."""
UNKNOWN_BURST = 0.5
"""Where the volume of the network is unknown."""
BURSTING, MIN_BURSTING_POSTS = 0.7, 3
"""Burst and posts of a candidate that count as another event in the density of other posts."""
BINS = 8
SMOOTHING = 0.5
MIN_OWN_TEXTS = 8
"""Texts of the event with a term from which on they are half of the density of event posts."""
BURSTING_SHARE = 0.6
"""Part of the density of other posts that posts with a bursting candidate have."""
GRID: Floats = np.linspace(0, 1, 41)
"""Values of the precision for which the posterior is computed."""
LIKENESS_WEIGHT = 0.8
BURST_WEIGHT, CROWDED_BURST_WEIGHT = 11.0, 8.0
"""Posts that the burst counts for; fewer in crowded times, when other events burst as well."""
FULL_BURST_POSTS = 10
"""Posts from which on the burst has its full weight."""
MAX_LIKENESS_POSTS, MIN_LIKENESS_POSTS = 80, 3
LOW_QUANTILE, HIGH_QUANTILE = 0.2, 0.8


NONE: Ints = np.array([], dtype=np.int64)


class Texts:
    """Distinct texts, oldest first: at most `HISTORY`. Of reposts the newest stays."""

    def __init__(self, posts: Iterable[Post], matcher: Matcher) -> None:
        newest: dict[int, Post] = {}
        for post in sorted(posts, key=lambda post: (post.at, post.reading.tokens)):
            key = text_key(post.reading)
            newest.pop(key, None)
            newest[key] = post
        self.keys, kept = [*newest][-HISTORY:], [*newest.values()][-HISTORY:]
        self.readings = [post.reading for post in kept]
        self.features = [list_features(reading) for reading in self.readings]
        self.times: Floats = np.array([post.at.timestamp() for post in kept])
        self.keywords = [frozenset(matcher.matched(reading)) for reading in self.readings]
        self.is_free: Flags = np.array([not each for each in self.keywords], dtype=np.bool_)
        """Whether no keyword matches the text. Terms that enter in this frame count as well."""

    def __len__(self) -> int:
        return len(self.readings)

    def match(self, keywords: Collection[str]) -> Flags:
        """Return which texts one of these keywords matches."""
        wanted = frozenset(keywords)
        return np.array([not wanted.isdisjoint(each) for each in self.keywords], dtype=np.bool_)

    def find(self, terms: Collection[str]) -> dict[str, Ints]:
        """Return by term which texts it matches as a keyword."""
        matcher = Matcher(terms)
        found: dict[str, list[int]] = {term: [] for term in terms}
        for number, reading in enumerate(self.readings):
            for term in matcher.matched(reading):
                found[term].append(number)
        return {term: np.array(numbers, dtype=np.int64) for term, numbers in found.items()}


class FrameTexts:
    """The texts of a frame: collected ones, those of the background, and those of each probe."""

    def __init__(self, state: State, frame: Frame) -> None:
        matcher = Matcher(state.keywords)
        self.collected = Texts((*frame.earlier, *frame.posts), matcher)
        self.probes = {probe.term: Texts(probe.posts, matcher) for probe in frame.probes}
        self.background = Texts(frame.background, matcher)
        anchors = {*state.seeds, *state.pinned}
        sure = {
            term
            for term, keyword in state.keywords.items()
            if keyword.precision is not None and keyword.precision.mean >= SURE_PRECISION
        }
        self.anchors = anchors
        self.is_anchored = self.collected.match(anchors)
        self.is_event = self.collected.match(anchors | sure)
        self.is_other = self.background.is_free.copy()


class ScoredTexts:
    """Texts with their scores, and with what each feature contributes to them."""

    def __init__(self, texts: Texts, model: Model) -> None:
        self._model = model
        self._rows = model.encode(texts.features, texts.keys)
        self.scores = model.score(self._rows)
        order = np.argsort(self._rows.column, kind="stable")
        self._by_feature = self._rows.row[order]
        columns = np.arange(len(model.features) + 1)
        self._starts = np.searchsorted(self._rows.column[order], columns)

    def bins_without(self, features: Sequence[int], edges: Floats) -> Ints:
        """Return the bin of each text by its score without some features."""
        scores = self.scores.copy()
        for feature in features:
            texts = self._by_feature[self._starts[feature] : self._starts[feature + 1]]
            scores[texts] -= self._model.coefficients[self._rows.folds[texts], feature]
        return np.searchsorted(edges, scores, side="right")


class Evidence(Struct, frozen=True):
    """The posts that a term matches and no other keyword does, and the burst of the term."""

    scored: ScoredTexts
    numbers: Ints
    """Of the texts, oldest first."""
    expected: float | None
    """Posts that ordinary use of the term explains; None: the volume of the network is unknown."""
    shared: int | None = None
    """Posts with the term that another keyword matches too; None: the user chose the term."""

    @property
    def posts(self) -> int:
        return len(self.numbers)

    @property
    def overlap(self) -> float:
        """The share of the posts with the term that another keyword matches too, smoothed."""
        return 1.0 if self.shared is None else (self.shared + 1) / (self.posts + self.shared + 1)

    @property
    def is_apart(self) -> bool:
        """True if the posts have so few other keywords that they are not of the event."""
        return OVERLAP_FACTOR * self.overlap < MIN_BURST

    @property
    def burst(self) -> float:
        """The part of the posts that twice the ordinary use does not explain, limited by the overlap."""
        if self.expected is None:
            return UNKNOWN_BURST
        unexplained = 1 - (NORMAL_FACTOR * self.expected + 0.5) / (self.posts + 0.5)
        return max(0.0, min(unexplained, OVERLAP_FACTOR * self.overlap))


class Judge:
    """Estimates the precision of keywords and candidates from the texts of one frame."""

    def __init__(
        self,
        frame: Frame,
        texts: FrameTexts,
        model: Model,
        candidates: Sequence[str],
        is_crowded: bool = False,
    ) -> None:
        self._frame, self._texts, self._is_crowded = frame, texts, is_crowded
        self._collected = ScoredTexts(texts.collected, model)
        self._background = ScoredTexts(texts.background, model)
        self._probes = {term: ScoredTexts(each, model) for term, each in texts.probes.items()}
        self._edges = choose_edges(self._collected.scores[texts.is_event], self._background.scores[texts.is_other])
        self._features: defaultdict[str, list[int]] = defaultdict(list)
        for token, number in model.features.items():
            self._features[family(token)].append(number)

        # Texts of A with a term, and texts that only one keyword matches.
        self._event_texts = texts.collected.find(candidates)
        only: defaultdict[str, list[int]] = defaultdict(list)
        carrying: defaultdict[str, list[int]] = defaultdict(list)
        for number, keywords in enumerate(texts.collected.keywords):
            for keyword in keywords:
                carrying[keyword].append(number)
                if len(keywords) == 1:
                    only[keyword].append(number)
        self._event_texts |= {term: np.array(each) for term, each in carrying.items()}
        self._own_texts = {term: np.array(each) for term, each in only.items()}
        self._background_texts = texts.background.find(candidates)

        self._first = (frame.end - frame.length * SPAN_FRAMES).timestamp()
        times = (post.at.timestamp() for post in frame.background)
        self._background_posts = sum(at >= self._first for at in times)
        self.evidence = {term: self.find_evidence(term) for term in candidates}
        """Of each candidate, before any enters."""
        self._plain, self._bursting = self._divide_others()

    def _divide_others(self) -> tuple[Floats, Floats]:
        """Return the weights of other texts, without and with a bursting candidate.

        Without one, a text counts more the more words it shares with the event: it is what a
        wrong candidate would match."""
        texts = self._texts
        tokens: set[str] = set()
        for number in np.flatnonzero(texts.is_event):
            tokens.update(texts.collected.features[number])
        shared = np.array([len(tokens.intersection(own)) for own in texts.background.features])
        is_bursting = np.zeros(len(shared), dtype=np.bool_)
        for term, evidence in self.evidence.items():
            if evidence.burst >= BURSTING and evidence.posts >= MIN_BURSTING_POSTS:
                is_bursting[self._background_texts[term]] = True
        plain = np.where(texts.is_other & ~is_bursting, shared + 0.1, 0.0)
        return plain, np.where(texts.is_other & is_bursting, 1.0, 0.0)

    def find_evidence(self, term: str) -> Evidence:
        """Return the posts of a candidate in its probe or the background."""
        share = ordinary_share(term)
        if term in self._probes:
            texts = self._texts.probes[term]
            is_full = any(probe.term == term and probe.is_full for probe in self._frame.probes)
            start = max(self._first, float(texts.times[0])) if is_full else self._first
            recent = np.flatnonzero(texts.times >= start)
            scored, expected = self._probes[term], self._expect(start, share)
        else:
            texts, scored = self._texts.background, self._background
            recent = self._background_texts[term]
            recent = recent[texts.times[recent] >= self._first]
            expected = self._background_posts * share if self._background_posts else None
        numbers = recent[texts.is_free[recent]]
        return Evidence(scored, numbers, expected, len(recent) - len(numbers))

    def find_own_evidence(self, keyword: str, since: datetime | None) -> Evidence:
        """Return the posts that a keyword alone has collected since it entered."""
        start = self._first if since is None else max(self._first, since.timestamp())
        times = self._texts.collected.times
        if len(self._frame.earlier) + len(self._frame.posts) >= HISTORY:
            start = max(start, float(times[0]))
        numbers = self._own_texts.get(keyword, NONE)
        numbers = numbers[times[numbers] >= start]
        shared = None
        if keyword not in self._texts.anchors:
            carrying = self._event_texts.get(keyword, NONE)
            shared = int((times[carrying] >= start).sum()) - len(numbers)
        return Evidence(self._collected, numbers, self._expect(start, ordinary_share(keyword)), shared)

    def _expect(self, start: float, share: float) -> float | None:
        """Return how many posts since `start` ordinary use of a term explains."""
        if not self._frame.volumes:
            return None
        frames = (self._frame.end.timestamp() - start) / self._frame.length.total_seconds()
        volumes = self._frame.volumes[::-1]
        whole = int(frames)
        total = float(sum(volumes[:whole]))
        if whole < len(volumes):
            total += (frames - whole) * volumes[whole]
        return total * share

    def estimate(self, term: str, evidence: Evidence) -> Estimate:
        """Return the posterior of the precision of a term."""
        burst = evidence.burst
        if burst < MIN_BURST:
            return Estimate(mean=0.8 * burst, low=0.5 * burst, high=burst, posts=evidence.posts)
        families = kin_families([term])
        kin = sorted({number for each in families for number in self._features.get(each, ())})
        event_bins = self._collected.bins_without(kin, self._edges)
        is_event = self._texts.is_event.copy()
        own = self._own_texts.get(term, NONE)
        is_event[own] = self._texts.is_anchored[own]
        event = measure_density(event_bins, is_event)
        with_term = np.zeros(len(event_bins))
        with_term[self._event_texts.get(term, NONE)] = 1.0
        with_term *= is_event
        if with_term.sum() >= MIN_OWN_TEXTS:
            event = (event + measure_density(event_bins, with_term)) / 2
        other_bins = self._background.bins_without(kin, self._edges)
        others = measure_density(other_bins, self._plain)
        if self._bursting.any():
            bursting = measure_density(other_bins, self._bursting)
            others = (1 - BURSTING_SHARE) * others + BURSTING_SHARE * bursting
        newest = evidence.numbers[-MAX_LIKENESS_POSTS:]
        bins = evidence.scored.bins_without(kin, self._edges)[newest]
        counts = np.bincount(bins, minlength=BINS)
        weight = CROWDED_BURST_WEIGHT if self._is_crowded else BURST_WEIGHT
        return estimate_precision(event, others, counts, burst, evidence.posts, weight)

    def share_bursting(self) -> float:
        """Return the part of the other texts that contain a bursting term but no keyword.

        Where it stays high after the entries of a frame, other events burst as well."""
        is_left = self._texts.background.is_free & (self._bursting > 0)
        return float(is_left.sum() / self._texts.is_other.sum())

    def cover(self, entered: str) -> set[str]:
        """Mark the texts that a new keyword matches; return the candidates that they contain."""
        matcher = Matcher([entered])
        touched: set[str] = set()
        background = self._texts.background
        found = self._background_texts[entered]
        found = found[background.is_free[found]]
        background.is_free[found] = False
        for term, numbers in self._background_texts.items():
            if np.isin(numbers, found).any():
                touched.add(term)
        for term, texts in self._texts.probes.items():
            for number in np.flatnonzero(texts.is_free):
                if matcher.matched(texts.readings[number]):
                    texts.is_free[number] = False
                    touched.add(term)
        return {term for term in touched if not is_implied(term, [entered])}


def choose_edges(event: Floats, others: Floats) -> Floats:
    """Return the edges of bins with equal shares of both kinds of scores taken together."""
    points = np.linspace(0, 1, 101)
    together = np.concatenate([np.quantile(event, points), np.quantile(others, points)])
    return np.asarray(np.quantile(together, np.arange(1, BINS) / BINS))


def measure_density(bins: Ints, weights: NDArray[np.generic]) -> Floats:
    """Return the smoothed share of texts in each bin."""
    counts = np.bincount(bins, weights, BINS) + SMOOTHING
    return np.asarray(counts / counts.sum())


def estimate_precision(
    event: Floats, others: Floats, counts: Ints, burst: float, posts: int, burst_weight: float = BURST_WEIGHT
) -> Estimate:
    """Return the posterior of the precision from the scores of posts and from the burst.

    `event` and `others` are the densities of scores of posts that belong to the event and of
    those that do not; `counts` are the term's posts in each bin."""
    weight = burst_weight * min(1.0, posts / FULL_BURST_POSTS)
    log_posterior = weight * (burst * np.log(GRID + 0.01) + (1 - burst) * np.log(1.01 - GRID))
    if counts.sum() >= MIN_LIKENESS_POSTS:
        mixtures = np.outer(GRID, event) + np.outer(1 - GRID, others)
        log_posterior = log_posterior + LIKENESS_WEIGHT * (np.log(mixtures) @ counts)
    posterior = np.exp(log_posterior - log_posterior.max())
    posterior /= posterior.sum()
    cumulated = posterior.cumsum()
    low, high = (
        float(GRID[min(int(np.searchsorted(cumulated, quantile)), len(GRID) - 1)]) for quantile in (LOW_QUANTILE, HIGH_QUANTILE)
    )
    return Estimate(mean=float(posterior @ GRID), low=low, high=high, posts=posts)
