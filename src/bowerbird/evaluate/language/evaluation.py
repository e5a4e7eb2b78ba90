"""Evaluate the identification of languages and varieties on recorded posts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from bowerbird.evaluate.language.fitting import fit_weights
from bowerbird.evaluate.language.identification import evaluate_identification
from bowerbird.evaluate.language.posts import NOISE, read_sources, read_tweets
from bowerbird.evaluate.language.varieties import MIN_PRECISION, MIN_RECALL, evaluate_varieties


def evaluate_language(
    folder: Path,
    *,
    tweets_per_language: int,
    sets: int,
    seed: int,
    stopwatch: Callable[[], float],
    progress: Callable[[str], None],
) -> dict[str, Any]:
    """Return all figures; `sets` is the number of sets of each size and source.

    `is_good`: no library is better on single tweets, and the worst direction of pt-PT is good
    enough.
    """
    tweets = read_tweets(folder)
    sources = read_sources(folder, tweets["pt"])
    progress("Identifying the language of tweets")
    languages = evaluate_identification(tweets, tweets_per_language, stopwatch, seed)
    others = {language: texts for language, texts in tweets.items() if language != "pt"}
    varieties = evaluate_varieties(sources, others, sets, seed, progress)
    worst = varieties["pt-PT"]
    is_good = worst["precision"] >= MIN_PRECISION and worst["recall"] >= MIN_RECALL
    is_good = is_good and languages["macro_f1"] >= languages["best_library_macro_f1"]
    return {"is_good": is_good, "languages": languages, **varieties, "noisy_labels": list(NOISE)}


def estimate_weights(folder: Path, seed: int) -> Mapping[str, float]:
    """Return the weights of hints by all sources together, as packaged in variety_weights.toml."""
    return fit_weights(read_sources(folder, read_tweets(folder)["pt"]), seed)
