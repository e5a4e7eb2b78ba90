"""Estimate the weights of hints from posts of known variety.

Logistic regression over sets of posts, drawn towards the weights that were written by hand and
never across zero: data can show that a hint is worth little, but not that a Brazilian word is
European because of where the posts were found.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from random import Random

import numpy as np
from numpy.typing import NDArray

from bowerbird.analysis.variety import find_hints, hints
from bowerbird.evaluate.language.posts import Source, all_posts

Counts = NDArray[np.float64]
"""A row for each post, a column for each hint."""

_SIZES = ((1, 1, 3000), (2, 6, 2000), (15, 40, 300))
"""Smallest and largest set, and how many of these are drawn from each source and variety."""
_PULL = 0.003
"""How strongly the weights stay with those written by hand."""
_STEPS, _RATE, _TOLERANCE = 2000, 0.1, 1e-4


def fit_weights(sources: Sequence[Source], seed: int) -> Mapping[str, float]:
    """Return the weight of each hint; sources and varieties count the same, whatever their size."""
    random = Random(seed)
    european, brazilian = (
        np.concatenate([_draw_sets(count_hints(all_posts(authors)), random) for authors in varieties])
        for varieties in ([source.european for source in sources], [source.brazilian for source in sources])
    )
    weights = _descend(european, brazilian)
    return {name: round(float(weight), 2) for name, weight in zip(hints(), weights, strict=True)}


def count_hints(posts: Sequence[str]) -> Counts:
    columns = {name: number for number, name in enumerate(hints())}
    counts = np.zeros((len(posts), len(columns)))
    for row, text in enumerate(posts):
        for name, _ in find_hints(text):
            counts[row, columns[name]] += 1
    return counts


def _draw_sets(posts: Counts, random: Random) -> Counts:
    drawn = []
    for smallest, largest, number in _SIZES:
        for _ in range(number):
            size = min(random.randint(smallest, largest), len(posts))
            drawn.append(posts[random.sample(range(len(posts)), size)].sum(axis=0))
    return np.array(drawn)


def _descend(european: Counts, brazilian: Counts) -> Counts:
    signs = np.array([hint.sign for hint in hints().values()], dtype=float)
    priors = np.array([hint.prior for hint in hints().values()]) * signs
    truth = np.concatenate([np.ones(len(european)), np.zeros(len(brazilian))])
    labelled = np.column_stack([np.concatenate([european, brazilian]), truth])
    # Many sets show the same few hints, or none.
    distinct, times = np.unique(labelled, axis=0, return_counts=True)
    features, truth, share = np.sqrt(distinct[:, :-1]), distinct[:, -1], times / len(labelled)
    weights: Counts = priors.copy()
    for _ in range(_STEPS):
        likely = 1 / (1 + np.exp(-np.clip(features @ weights, -30, 30)))
        before = weights
        weights = weights - _RATE * (features.T @ (share * (likely - truth)) + _PULL * (weights - priors))
        weights[weights * signs < 0] = 0.0
        if np.abs(weights - before).max() < _TOLERANCE:
            break
    return weights


_TITLE = """\
# Weight of each hint of variety_hints.toml, in natural logarithms of odds; negative for Brazil. Estimated from tweets, news and
# posts of politicians together, each counting the same, by `bowerbird evaluate language --weights FILE`."""


def format_weights(weights: Mapping[str, float]) -> str:
    """Return the text of variety_weights.toml."""
    return "\n".join((_TITLE, "", *(f"{name} = {weight}" for name, weight in weights.items()), ""))
