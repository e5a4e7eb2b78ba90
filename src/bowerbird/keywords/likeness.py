"""Whether a post looks like the event: a logistic regression on its words and hashtags.

Three models are fitted, each without one third of the texts. A text is scored by the model that
was fitted without it, so that a score never repeats what was learned from the same text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from functools import partial
from itertools import chain

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from bowerbird.keywords.terms import kin_families
from bowerbird.model.terms import family

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

FOLDS = 3
COST = 0.3
"""C of the regression: the weight of the data against that of small coefficients."""
MIN_TEXTS = 2
"""Texts of the event in which a feature must occur."""
COMMON_FEATURES, MIN_COMMON = 1_500, 5
"""Features of the background: the commonest ones, and their least number of texts."""
MAX_FEATURES = 6_000


class Rows(Struct, frozen=True):
    """Texts as rows of a sparse matrix of zeros and ones."""

    row: Ints
    """The text of each entry."""
    column: Ints
    """The feature of each entry."""
    size: int
    folds: Ints
    """The fold of each text."""

    def times(self, coefficients: Floats) -> Floats:
        return np.bincount(self.row, coefficients[self.column], self.size).astype(np.float64)

    def select(self, chosen: NDArray[np.bool_]) -> Rows:
        """Return some of the texts."""
        number = np.cumsum(chosen) - 1
        entries = chosen[self.row]
        return Rows(
            number[self.row[entries]],
            self.column[entries],
            int(chosen.sum()),
            self.folds[chosen],
        )


class Model(Struct, frozen=True):
    """Three fitted regressions."""

    features: dict[str, int]
    coefficients: Floats
    """By fold and feature."""
    intercepts: Floats

    def encode(self, texts: Iterable[Collection[str]], keys: Iterable[int]) -> Rows:
        """Return texts as rows; `keys` decide their folds."""
        return encode_rows(self.features, texts, keys)

    def score(self, rows: Rows) -> Floats:
        """Return the log odds of each text by the model that was fitted without it."""
        weights = self.coefficients[rows.folds[rows.row], rows.column]
        return np.bincount(rows.row, weights, rows.size) + self.intercepts[rows.folds]


def encode_rows(features: dict[str, int], texts: Iterable[Collection[str]], keys: Iterable[int]) -> Rows:
    row: list[int] = []
    column: list[int] = []
    size = 0
    for text in texts:
        known = [features[token] for token in text if token in features]
        row.extend([size] * len(known))
        column.extend(known)
        size += 1
    folds = np.array([key % FOLDS for key in keys], dtype=np.int64)
    return Rows(np.array(row, dtype=np.int64), np.array(column, dtype=np.int64), size, folds)


Text = tuple[Collection[str], int]
"""The words and hashtags of a text, and the number that decides its fold."""


def fit_model(event: Sequence[Text], background: Sequence[Text], seeds: Iterable[str]) -> Model:
    """Fit one regression for each fold, without the texts of the fold."""
    features = choose_features(event, background, seeds)
    texts = [*event, *background]
    rows = encode_rows(features, (tokens for tokens, _ in texts), (key for _, key in texts))
    labels = np.repeat((1.0, -1.0), (len(event), len(background)))
    coefficients = np.zeros((FOLDS, len(features)))
    intercepts = np.zeros(FOLDS)
    for fold in range(FOLDS):
        others = rows.folds != fold
        fitted = fit_logistic(rows.select(others), labels[others], len(features))
        coefficients[fold], intercepts[fold] = fitted
    return Model(features, coefficients, intercepts)


def choose_features(event: Iterable[Text], background: Iterable[Text], seeds: Iterable[str]) -> dict[str, int]:
    """Return the columns: what is common in the background, and what occurs in several event texts.

    Seeds and their kin are left out: texts of the event contain them by definition."""
    excluded = kin_families(seeds)
    ranked = [
        sorted(Counter(chain(*(tokens for tokens, _ in texts))).items(), key=_by_frequency) for texts in (background, event)
    ]
    common = [token for token, count in ranked[0][:COMMON_FEATURES] if count >= MIN_COMMON]
    own = [token for token, count in ranked[1] if count >= MIN_TEXTS]
    allowed = [token for token in [*common, *own] if family(token) not in excluded]
    chosen = list(dict.fromkeys(allowed))[:MAX_FEATURES]
    return {token: number for number, token in enumerate(chosen)}


def _by_frequency(item: tuple[str, int]) -> tuple[int, str]:
    return -item[1], item[0]


def fit_logistic(rows: Rows, labels: Floats, columns: int) -> tuple[Floats, float]:
    """Return coefficients and intercept of a logistic regression with an L2 penalty.

    Minimises `|w|² / 2 + COST · Σ weight · ln(1 + exp(-label · (x·w + b)))` by Newton's method;
    the weights give both classes the same total."""
    totals = {sign: max(1, int((labels == sign).sum())) for sign in (1.0, -1.0)}
    share = np.where(labels > 0, 1 / totals[1.0], 1 / totals[-1.0])
    weight = COST * len(labels) / 2 * share
    solution = np.zeros(columns + 1)

    def times(vector: Floats) -> Floats:
        values: Floats = rows.times(vector[:-1]) + vector[-1]
        return values

    def back(values: Floats) -> Floats:
        entries = np.bincount(rows.column, values[rows.row], columns)
        total: Floats = np.append(entries, values.sum())
        return total

    def multiply(curvature: Floats, vector: Floats) -> Floats:
        return penalty * vector + back(curvature * times(vector))

    penalty = np.append(np.ones(columns), 1e-6)
    loss = np.inf
    for _ in range(30):
        margin = labels * times(solution)
        wrong = 1 / (1 + np.exp(np.clip(margin, -500, 500)))
        gradient = penalty * solution - back(weight * labels * wrong)
        if np.abs(gradient).max() < 1e-4 * max(1.0, float(weight.sum()) ** 0.5):
            break
        curvature = weight * wrong * (1 - wrong)
        scale = penalty + back(curvature)
        step = _solve(partial(multiply, curvature), -gradient, scale)
        size = 1.0
        while size > 1e-4:
            trial = solution + size * step
            value = _loss(times(trial), labels, weight, trial, penalty)
            if value < loss:
                break
            size /= 2
        solution, loss = trial, value
    return solution[:-1], float(solution[-1])


def _loss(values: Floats, labels: Floats, weight: Floats, solution: Floats, penalty: Floats) -> float:
    return float((weight * np.logaddexp(0, -labels * values)).sum() + (penalty * solution**2).sum() / 2)


def _solve(multiply: Callable[[Floats], Floats], target: Floats, scale: Floats) -> Floats:
    """Solve `matrix · x = target` by conjugate gradients, preconditioned by the diagonal."""
    x = np.zeros_like(target)
    rest = target.copy()
    direction = rest / scale
    energy = float(rest @ direction)
    limit = 1e-2 * float(np.sqrt(energy))
    for _ in range(60):
        product = multiply(direction)
        factor = energy / float(direction @ product)
        x += factor * direction
        rest -= factor * product
        improved = rest / scale
        new_energy = float(rest @ improved)
        if new_energy**0.5 <= limit:
            break
        direction = improved + new_energy / energy * direction
        energy = new_energy
    return x
