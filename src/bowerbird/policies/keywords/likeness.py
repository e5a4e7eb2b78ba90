"""Whether a post looks like the event: by terms that are common in what was collected, and rare in everything else."""

from __future__ import annotations

from functools import cached_property
from math import log, sqrt

from bowerbird.model.terms import Reading
from bowerbird.policies.keywords.relevance import Scale, relevance, scale_of
from bowerbird.policies.keywords.values import Evidence, Familiar, State

ALIKE = 2.5
"""The sum of weights from which on a post looks like the event; about one of twelve posts would be believed at even odds."""
_CERTAIN = 4.0
"""The weight of a keyword, and the most that any term has."""
_UNLIKE = -2.0
_TELLING = 0.7
"""A term that is less than twice as frequent on one side as on the other tells nothing."""
_LEAST = 3.0
"""Different texts in which a term must have been collected before it counts."""
_SMOOTH = 0.5


class Likeness:
    """What tells the event from the rest, as far as a state knows it."""

    def __init__(self, state: State) -> None:
        self._state = state
        self._event, self._anchors = state.numbers.get("texts", 0.0), state.numbers.get("anchors", 0.0)
        self._background = state.numbers.get("background_texts", 0.0)
        self._alike = state.numbers.get("alike", ALIKE)

    def lift(self, term: str) -> float:
        """The logarithm of how much more frequent a term is in collected posts than in the background; 0 if unknown."""
        known = self._state.vocabulary.get(term)
        return self._against(known, known.event, self._event) if known else 0.0

    def _against(self, known: Familiar, here: float, texts: float) -> float:
        """One standard deviation nearer to 0 than it seems: what was seen a few times, or never in a small background, is
        uncertain."""
        if not self._background:
            return 0.0
        lift = log((here + _SMOOTH) / (texts + 1) * (self._background + 1) / (known.background + _SMOOTH))
        doubt = sqrt(1 / (here + _SMOOTH) + 1 / (known.background + _SMOOTH))
        return max(0.0, lift - doubt) if lift > 0 else min(0.0, lift + doubt)

    @cached_property
    def weights(self) -> dict[str, float]:
        """Of single words and hashtags: how much each speaks for the event or against it.

        Only posts with a seed teach it: if all that was collected did, whoever rides on a seed would soon speak for the event,
        and bring in others of its kind."""
        found: dict[str, float] = {}
        for term, known in self._state.vocabulary.items():
            if " " not in term and known.anchored >= _LEAST:
                weight = self._against(known, known.anchored, self._anchors)
                if abs(weight) > _TELLING:
                    found[term] = max(_UNLIKE, min(_CERTAIN, weight))
        for keyword in self._state.keywords:
            if " " not in keyword:
                self._speaks(found, keyword)
        return found

    def _speaks(self, found: dict[str, float], keyword: str) -> None:
        """Seeds are certain; others as much as they proved to be relevant."""
        is_sure = keyword in self._state.seeds or keyword in self._state.pinned
        weight = _CERTAIN if is_sure else _CERTAIN * relevance(self._state.evidence.get(keyword, Evidence()), self._scale).low
        for token in (keyword,) if keyword[0] in "#@" else (keyword, "#" + keyword):
            found[token] = max(weight, found.get(token, weight))

    @cached_property
    def _scale(self) -> Scale:
        return scale_of(self._state)

    def score(self, post: Reading) -> float:
        weights = self.weights
        return sum(weights[token] for token in set(post.tokens) if token in weights)

    def is_alike(self, post: Reading, score: float, without: str = "") -> bool:
        """Whether a post of this score looks like the event even if one of its terms is not counted."""
        if without:
            score -= sum(self.weights.get(token, 0.0) for token in relatives(without).intersection(post.tokens))
        return score > self._alike


def relatives(term: str) -> set[str]:
    """The words and hashtags that come with a term by themselves: they tell nothing about it."""
    words = term.lstrip("#@").split(" ")
    return {term, *words, *(f"#{word}" for word in words), "#" + "".join(words)}
