"""How much each hint counts, estimated from posts of known variety.

The weights are those of a logistic regression over sets of posts, drawn towards the weights that were written by hand and never
across zero. So data can say that a hint is worth little, but not that *ônibus* is European because of where posts were found.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from random import Random

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from bowerbird.analysis.language.cleaning import cleaned
from bowerbird.analysis.language.hints import found, hints

Counts = NDArray[np.float64]
"""A row for each post, a column for each hint."""

_SIZES = ((1, 1, 3000), (2, 6, 2000), (15, 40, 300))
"""Smallest and largest bundle, and how many of these are drawn from each source and variety."""
_PULL = 0.003
"""How strongly the weights stay with those written by hand."""
_STEPS, _RATE, _STILL = 2000, 0.1, 1e-4


class CountedSource(Struct, frozen=True):
    """One source: its European and its Brazilian posts, counted."""

    european: Counts
    brazilian: Counts


def counted(posts: Iterable[str]) -> Counts:
    column = {name: number for number, name in enumerate(hints())}
    texts = list(posts)
    counts = np.zeros((len(texts), len(column)))
    for row, text in enumerate(texts):
        for name, _ in found(cleaned(text)):
            counts[row, column[name]] += 1
    return counts


def fit(samples: Sequence[CountedSource], seed: int = 1) -> Mapping[str, float]:
    """Weights by hint, negative for Brazil; every source and variety counts alike, however large it is."""
    random = Random(seed)  # noqa: S311  (the same weights for the same seed)
    european = np.concatenate([_bundles(each.european, random) for each in samples])
    brazilian = np.concatenate([_bundles(each.brazilian, random) for each in samples])
    weights = _descended(european, brazilian)
    return {name: round(float(weight), 2) for name, weight in zip(hints(), weights, strict=True)}


def _bundles(posts: Counts, random: Random) -> Counts:
    drawn = []
    for smallest, largest, number in _SIZES:
        for _ in range(number):
            size = min(random.randint(smallest, largest), len(posts))
            drawn.append(posts[random.sample(range(len(posts)), size)].sum(axis=0))
    return np.array(drawn)


def _descended(european: Counts, brazilian: Counts) -> Counts:
    signs = np.array([hint.sign for hint in hints().values()], dtype=float)
    priors = np.array([hint.prior for hint in hints().values()]) * signs
    truth = np.concatenate([np.ones(len(european)), np.zeros(len(brazilian))])
    labelled = np.column_stack([np.concatenate([european, brazilian]), truth])
    # Many sets show the same few hints, or none.
    distinct, times = np.unique(labelled, axis=0, return_counts=True)
    found_in, truth, share = np.sqrt(distinct[:, :-1]), distinct[:, -1], times / len(labelled)
    weights: Counts = priors.copy()
    for _ in range(_STEPS):
        likely = 1 / (1 + np.exp(-np.clip(found_in @ weights, -30, 30)))
        before = weights
        weights = weights - _RATE * (found_in.T @ (share * (likely - truth)) + _PULL * (weights - priors))
        weights[weights * signs < 0] = 0.0
        if np.abs(weights - before).max() < _STILL:
            break
    return weights
