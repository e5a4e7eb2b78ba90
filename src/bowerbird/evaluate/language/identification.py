"""Measure how well the language of single tweets and of sets of tweets is identified."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import Any

import numpy as np
from py3langid.langid import MODEL_FILE, LanguageIdentifier

from bowerbird.analysis.languages import FAMILIES, LANGUAGES, Identifier, PostLanguage
from bowerbird.analysis.variety import portuguese_posts
from bowerbird.evaluate.language.posts import Posts, share_of

IBERIAN = ("es", "pt")
"""The Iberian languages among the recorded tweets."""
_OBSERVED = 2_000
_ACCOUNT_POSTS = 10
_SET_SIZES = (3, 5, 10, 30)
_BINS = 10

Answers = Sequence[tuple[str, str | None]]
"""True and identified language of each tweet."""


def evaluate_identification(
    tweets: Mapping[str, Posts], per_language: int, stopwatch: Callable[[], float], seed: int
) -> dict[str, Any]:
    """Measure on `per_language` tweets of each language; other tweets give the prior of the stream.

    The tweets have no authors. `accounts` are therefore made up: ten tweets of one language.
    """
    random = Random(seed)
    measured: list[tuple[str, str]] = []
    accounts: list[Posts] = []
    observed: list[str] = []
    for language in sorted(tweets):
        texts = random.sample(list(tweets[language]), len(tweets[language]))
        measured += [(language, text) for text in texts[:per_language]]
        accounts += [texts[each : min(each + _ACCOUNT_POSTS, per_language)] for each in range(0, per_language, _ACCOUNT_POSTS)]
        observed += texts[per_language : 2 * per_language]
    truth = [language for language, _ in measured]
    random.shuffle(observed)

    plain = LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
    restricted = LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
    restricted.set_languages(set(LANGUAGES))
    flat, with_stream = Identifier(), Identifier()
    flat.identify(["loads the model"])
    start = stopwatch()
    flat_answers = [flat.identify([text])[0] for _, text in measured]
    seconds = stopwatch() - start
    with_stream.observe(observed[:_OBSERVED])
    with_account = [each for posts in accounts for each in with_stream.identify(posts)]
    methods = {
        "py3langid": _accuracy(_pairs(truth, [plain.classify(text)[0] for _, text in measured])),
        "py3langid_78_languages": _accuracy(_pairs(truth, [restricted.classify(text)[0] for _, text in measured])),
        "ours_flat": _figures(truth, flat_answers),
        "ours": _figures(truth, [with_stream.identify([text])[0] for _, text in measured]),
        "ours_in_accounts": _figures(truth, with_account),
    }
    return {
        "tweets": len(measured),
        "macro_f1": methods["ours"]["macro_f1"],
        "macro_f1_flat": methods["ours_flat"]["macro_f1"],
        "best_library_macro_f1": max(methods[name]["macro_f1"] for name in methods if name.startswith("py3langid")),
        "methods": methods,
        "sets": {str(size): _set_figures(tweets, size, flat, random) for size in _SET_SIZES},
        "tweets_per_second": round(len(measured) / seconds),
    }


def _figures(truth: Sequence[str], answers: Sequence[PostLanguage]) -> dict[str, Any]:
    """Figures of the most likely language, and of labels, which leave a tweet undecided below 0.6."""
    labels = _pairs(truth, [each.language for each in answers])
    decided = [(language, label) for language, label in labels if label is not None]
    return {
        **_accuracy(_pairs(truth, [each.likely for each in answers])),
        "calibration_error": _calibration_error(truth, answers),
        "labelled": round(len(decided) / len(labels), 4),
        "accuracy_of_labelled": share_of([language == label for language, label in decided]),
        "macro_f1_of_labels": _macro_f1(labels, sorted(set(truth))),
    }


def _accuracy(pairs: Answers) -> dict[str, Any]:
    languages = sorted({language for language, _ in pairs})
    iberian = [(language, answer) for language, answer in pairs if language in IBERIAN]
    return {
        "accuracy": share_of([language == answer for language, answer in pairs]),
        "accuracy_with_bs_hr_sr_as_one": share_of([_is_same(language, answer) for language, answer in pairs]),
        "macro_f1": _macro_f1(pairs, languages),
        "macro_f1_iberian": _macro_f1(iberian, IBERIAN),
        "by_language": {name: share_of([answer == name for language, answer in pairs if language == name]) for name in languages},
    }


def _macro_f1(pairs: Answers, languages: Sequence[str]) -> float:
    scores = []
    for name in languages:
        right = sum(language == name == answer for language, answer in pairs)
        wrong = sum((language == name) != (answer == name) for language, answer in pairs)
        scores.append(2 * right / (2 * right + wrong) if right else 0.0)
    return round(sum(scores) / len(scores), 4)


def _calibration_error(truth: Sequence[str], answers: Sequence[PostLanguage]) -> float:
    """Mean distance between confidence and accuracy over ten bins of confidence."""
    known = [(each.confidence, each.likely == language) for language, each in zip(truth, answers, strict=True) if each.likely]
    confidence, right = (np.array(values, dtype=float) for values in zip(*known, strict=True))
    bins = np.minimum((confidence * _BINS).astype(int), _BINS - 1)
    error = sum(abs((confidence[bins == each] - right[bins == each]).sum()) for each in range(_BINS))
    return round(float(error) / len(known), 4)


def _set_figures(tweets: Mapping[str, Posts], size: int, identifier: Identifier, random: Random) -> dict[str, Any]:
    """Sets of one language each: how many have its label, and how many would be given a variety."""
    right, passed = {}, {}
    for language, texts in sorted(tweets.items()):
        sets = [random.sample(list(texts), min(size, len(texts))) for _ in range(100)]
        identified = [identifier.identify_set(each) for each in sets]
        right[language] = share_of([_is_same(language, each.language) for each in identified])
        passed[language] = sum(bool(portuguese_posts(*each)) for each in zip(sets, identified, strict=True))
    return {
        "right": round(sum(right.values()) / len(right), 4),
        "by_language": right,
        "others_taken_for_portuguese": sum(passed.values()) - passed["pt"],
        "spanish_taken_for_portuguese": passed["es"],
        "portuguese_passed": passed["pt"],
    }


def _pairs(truth: Sequence[str], answers: Sequence[str | None]) -> Answers:
    return list(zip(truth, answers, strict=True))


def _is_same(language: str, answer: str | None) -> bool:
    serbo_croatian = FAMILIES[0]
    return answer == language or (language in serbo_croatian and answer in serbo_croatian)
