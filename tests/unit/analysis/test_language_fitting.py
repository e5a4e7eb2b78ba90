"""Estimating the weights of hints."""

from __future__ import annotations

import numpy as np

from bowerbird.analysis.variety import find_hints, hints, weigh_hints
from bowerbird.errors import UserError
from bowerbird.evaluate.language.fitting import count_hints, fit_weights
from bowerbird.evaluate.language.posts import Source
from bowerbird.evaluate.language.varieties import evaluate_varieties
from failures import raises_code
from language_posts import BRAZILIAN, EUROPEAN


def test_fit_weights_follows_the_data_and_never_changes_sides() -> None:
    source = Source("made up", {"": EUROPEAN * 3}, {"": BRAZILIAN * 3})
    weights = fit_weights([source], seed=1)
    assert weights == fit_weights([source], seed=1)
    assert weigh_hints([find_hints(text) for text in EUROPEAN], weights).variety == "pt-PT"
    swapped = fit_weights([Source("swapped", source.brazilian, source.european)], seed=1)
    assert all(swapped[name] * hint.sign >= 0 for name, hint in hints().items())
    assert abs(swapped["pra"]) < hints()["pra"].prior


def test_count_hints_counts_by_post() -> None:
    column = list(hints()).index("voce")
    assert np.array_equal(count_hints(["você e você", "tu"])[:, column], [2, 0])


def test_evaluate_varieties_with_too_few_posts_raises() -> None:
    source = Source("politicians", {"ana": ["Olá"]}, {"rui": ["Oi"]})
    with raises_code(UserError, "invalid") as caught:
        evaluate_varieties([source], {"en": ["Hello"]}, 10, 1, print)
    assert "politicians" in caught.value.problem
    assert "81" in caught.value.problem
