"""The posterior, the regression, and the table of ordinary frequencies, checked by hand."""

from __future__ import annotations

from math import log

import numpy as np
import pytest
from keyword_frames import post

from bowerbird.keywords.evidence import Evidence, estimate_precision
from bowerbird.keywords.likeness import COST, encode_rows, fit_logistic, fit_model
from bowerbird.keywords.reference import decode_table, encode_table, load_table, ordinary_share
from bowerbird.keywords.terms import is_implied, is_specific, list_terms, text_key
from bowerbird.model.terms import read_text

EVENT = np.array([0.02, 0.02, 0.02, 0.04, 0.1, 0.2, 0.3, 0.3])
OTHERS = EVENT[::-1].copy()


def test_posterior_equals_a_sum_over_the_grid() -> None:
    """Ten posts, seven of them in the last bin, three in the first; a burst of 0.9."""
    counts = np.array([3, 0, 0, 0, 0, 0, 0, 7])
    weights = []
    grid = [number / 40 for number in range(41)]
    for m in grid:
        likelihood = 7 * log(m * 0.3 + (1 - m) * 0.02) + 3 * log(m * 0.02 + (1 - m) * 0.3)
        burst = 0.9 * log(m + 0.01) + 0.1 * log(1 - m + 0.01)
        weights.append(np.exp(0.8 * likelihood + 11 * burst))
    estimate = estimate_precision(EVENT, OTHERS, counts, burst=0.9, posts=10)
    mean = sum(w * m for w, m in zip(weights, grid, strict=True)) / sum(weights)
    assert estimate.mean == pytest.approx(mean)
    cumulated = np.cumsum(weights) / sum(weights)
    assert estimate.low == pytest.approx(grid[int((cumulated < 0.2).sum())])
    assert estimate.high == pytest.approx(grid[int((cumulated < 0.8).sum())])
    assert estimate.posts == 10


def test_likeness_moves_the_posterior_in_its_direction() -> None:
    alike, unlike = np.zeros(8, dtype=int), np.zeros(8, dtype=int)
    alike[-1] = unlike[0] = 12
    high = estimate_precision(EVENT, OTHERS, alike, burst=0.8, posts=12)
    low = estimate_precision(EVENT, OTHERS, unlike, burst=0.8, posts=12)
    neutral = estimate_precision(EVENT, OTHERS, np.zeros(8, dtype=int), burst=0.8, posts=12)
    assert low.mean < neutral.mean < high.mean


def test_burst_is_what_twice_the_ordinary_use_does_not_explain() -> None:
    def burst(posts: int, expected: float | None) -> float:
        numbers = np.arange(posts)
        return Evidence(None, numbers, expected).burst  # type: ignore[arg-type]

    assert burst(10, 0.0) == pytest.approx(1 - 0.5 / 10.5)
    assert burst(10, 2.0) == pytest.approx(1 - 4.5 / 10.5)
    assert burst(10, 50.0) == 0.0
    assert burst(10, None) == 0.5


def test_burst_is_limited_by_the_share_of_posts_with_another_keyword() -> None:
    def burst(posts: int, shared: int | None) -> float:
        return Evidence(None, np.arange(posts), 0.0, shared).burst  # type: ignore[arg-type]

    assert burst(60, 3) == pytest.approx(5 * 4 / 64)
    assert burst(60, 20) == burst(60, None) == pytest.approx(1 - 0.5 / 60.5)
    # With few posts, none of them is no evidence yet.
    assert burst(4, 0) > 0.5


def test_regression_without_features_has_the_balanced_intercept() -> None:
    """Classes have the same total weight, so the log odds of an empty text are 0."""
    rows = encode_rows({}, [()] * 8, range(8))
    _, intercept = fit_logistic(rows, np.array([1.0] * 2 + [-1.0] * 6), 0)
    assert intercept == pytest.approx(0, abs=1e-3)


def test_regression_solves_the_equations_of_its_minimum() -> None:
    random = np.random.default_rng(1)
    columns, size = 12, 60
    matrix = (random.random((size, columns)) < 0.3).astype(float)
    labels = np.where(matrix[:, 0] + random.random(size) > 0.9, 1.0, -1.0)
    features = {str(number): number for number in range(columns)}
    texts = [[str(number) for number in np.flatnonzero(row)] for row in matrix]
    coefficients, intercept = fit_logistic(encode_rows(features, texts, range(size)), labels, 12)

    positive = (labels > 0).sum()
    weight = COST * size / 2 * np.where(labels > 0, 1 / positive, 1 / (size - positive))
    wrong = 1 / (1 + np.exp(labels * (matrix @ coefficients + intercept)))
    gradient = coefficients - matrix.T @ (weight * labels * wrong)
    assert np.abs(gradient).max() < 1e-2
    assert abs((weight * labels * wrong).sum()) < 1e-2
    assert coefficients.argmax() == 0


def test_model_scores_texts_of_the_event_above_others() -> None:
    event = [(("river", "flood", f"a{number}"), number) for number in range(30)]
    others = [(("coffee", "song", f"b{number}"), number) for number in range(30)]
    model = fit_model(event, others, ["#flood"])
    assert "flood" not in model.features
    rows = model.encode([("river",), ("coffee",), ("unknown",)], [0, 1, 2])
    river, coffee, unknown = model.score(rows)
    assert river > unknown > coffee


def test_fold_of_a_text_is_scored_without_it() -> None:
    """The word of a single fold has no weight in the model of this fold."""
    event = [(("river", "only"), 3 * number) for number in range(10)]
    event += [(("river",), number) for number in range(30) if number % 3]
    others = [(("coffee",), number) for number in range(30)]
    model = fit_model(event, others, [])
    assert model.coefficients[0, model.features["only"]] == 0
    assert model.coefficients[1, model.features["only"]] > 0


def test_terms_of_a_post() -> None:
    reading = read_text("RT @anna: Bow River rising #yycflood https://example.org")
    terms = list_terms(reading)
    assert {"#yycflood", "yycflood", "bow", "bow river", "river rising"} <= terms
    assert not any("anna" in term or "example" in term for term in terms)
    assert text_key(reading) == text_key(read_text("Bow river rising #yycflood"))
    assert text_key(reading) != text_key(post("Elbow river rising").reading)


def test_terms_that_keywords_imply() -> None:
    assert is_implied("#flood", ["flood"])
    assert is_implied("bow river", ["river"])
    assert not is_implied("river", ["bow river"])
    assert not is_implied("flood", ["#flood"])
    assert not is_specific("12 of")
    assert is_specific("#abc")


def test_table_of_ordinary_frequencies() -> None:
    table = load_table()
    assert 20_000 < len(table) < 100_000
    assert not any(word[0] in "@#" or "/" in word for word in table)
    assert ordinary_share("the") > 0.1 > ordinary_share("morning") > 1e-3
    assert ordinary_share("zorblat") == ordinary_share("#zorblat") == 2e-5
    assert ordinary_share("good morning") < ordinary_share("morning")
    assert ordinary_share("#morning") < ordinary_share("morning")


def test_table_survives_encoding_with_small_errors() -> None:
    frequencies = {"the": 0.05, "river": 3e-5, "rio": 3.1e-5}
    decoded = decode_table(encode_table(frequencies))
    assert decoded == pytest.approx(frequencies, rel=0.06)


def test_table_contains_function_words_of_languages_without_tweets() -> None:
    assert min(map(ordinary_share, ("avec", "vous", "questo", "ama", "sekarang"))) > 1e-3
    assert ordinary_share("the") > ordinary_share("avec")
