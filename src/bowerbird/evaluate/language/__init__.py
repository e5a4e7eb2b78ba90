"""How well are languages, and the varieties of Portuguese, told?

Everything is measured on real posts that nobody of this project wrote. A model that has seen one corpus for each variety learns
the corpus: so weights are estimated on one source and measured on another, in every direction, and the headline is the worst of
them. The list of hints itself was written with an eye on words that differ in all sources: its weights alone are strange to
them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from bowerbird.analysis.language.fitting import CountedSource, counted, fit
from bowerbird.analysis.language.hints import hints
from bowerbird.evaluate.language.languages import language_figures
from bowerbird.evaluate.language.masking import masked
from bowerbird.evaluate.language.scoring import PUBLISHED
from bowerbird.evaluate.language.sources import NOISE, Posts, Source, sources, tweets_by_language
from bowerbird.evaluate.language.varieties import (
    Ground,
    Readings,
    author_figures,
    bundle_figures,
    echo,
    ground,
    single_figures,
)

_TITLE = """\
# How much each hint of hints.toml counts, in natural logarithms of odds; negative for Brazil. Estimated from tweets, news and
# posts of politicians together, each counting alike, by `bowerbird evaluate language --data DIR --weights FILE`."""
_POLITICIANS = "politicians"
_LEAST_PRECISION = 0.974
_LEAST_RECALL = 0.9
"""TwitterEcho's published precision, with more recall than its 0.659."""


def evaluate_language(
    folder: Path, *, bundles: int, seed: int, stopwatch: Callable[[], float], say: Callable[[str], None]
) -> dict[str, Any]:
    """The figures; `bundles`: how many of each size."""
    tweets = tweets_by_language(folder)
    found = sources(folder, tweets["pt"])
    say("telling the language of tweets")
    languages = language_figures(tweets, stopwatch, seed)
    others = {language: texts for language, texts in tweets.items() if language != "pt"}
    say("estimating weights from each source")
    weights = {source.name: fit([_counted_source(source)], seed) for source in found}
    measure = _Measuring(found, others, bundles, seed, say)
    directions = measure.directions(weights)
    headline = _headline(directions)
    return {
        "pt-PT": headline,
        "is_good": headline["precision"] >= _LEAST_PRECISION and headline["recall"] >= _LEAST_RECALL,
        "published": PUBLISHED,
        "directions": directions,
        "methods": measure.methods(),
        "languages": languages,
        "noisy_labels": list(NOISE),
    }


def estimated_weights(folder: Path, seed: int) -> Mapping[str, float]:
    """How much each hint counts by all sources together: what weights.toml of the package holds."""
    return fit([_counted_source(source) for source in sources(folder, tweets_by_language(folder)["pt"])], seed)


def written_weights(weights: Mapping[str, float]) -> str:
    """The weights as a file."""
    lines = [f"{name} = {weight}" for name, weight in weights.items()]
    return "\n".join((_TITLE, "", *lines, ""))


class _Measuring:
    """All methods on the same bundles."""

    def __init__(
        self, found: Sequence[Source], others: Mapping[str, Posts], bundles: int, seed: int, say: Callable[[str], None]
    ) -> None:
        politicians = next(source for source in found if source.name == _POLITICIANS)
        self._grounds = {source.name: ground(source, others, bundles, seed) for source in (*found, masked(politicians))}
        self._readings = Readings()
        self._say = say

    def directions(self, weights: Mapping[str, Mapping[str, float]]) -> dict[str, Any]:
        """Estimated on one source, measured on each of the others, on politicians also without names."""
        pairs = [(one, other) for one in weights for other in self._grounds if not other.startswith(one)]
        return {f"{one} to {other}": self._measured(weights[one], self._grounds[other]) for one, other in pairs}

    def methods(self) -> dict[str, Any]:
        """TwitterEcho's, ours before any data, and ours as packaged, whose weights have seen these sources."""
        written = {name: hint.prior * hint.sign for name, hint in hints().items()}
        return {
            name: {
                "echo": {
                    "bundles": bundle_figures(echo, on),
                    "single": single_figures(echo, on.source),
                    "authors": self._authors(echo, on),
                },
                "ours_as_written": self._measured(written, on),
                "ours_as_packaged": self._measured(None, on),
                "several_languages": self._readings.several([each for every in on.bundles.values() for each in every]),
            }
            for name, on in self._grounds.items()
        }

    def _measured(self, weights: Mapping[str, float] | None, on: Ground) -> dict[str, Any]:
        self._say(f"measuring on {on.source.name}")
        method = self._readings.method(weights)
        return {
            "bundles": bundle_figures(method, on),
            "single": single_figures(self._readings.single(weights), on.source),
            "authors": self._authors(method, on),
        }

    def _authors(self, method: Callable[[Posts], str | None], on: Ground) -> dict[str, Any] | None:
        return author_figures(method, on.source) if len(on.source.european) > 1 else None


def _counted_source(source: Source) -> CountedSource:
    return CountedSource(counted(source.all(source.european)), counted(source.all(source.brazilian)))


def _headline(directions: Mapping[str, Any]) -> dict[str, Any]:
    """Bundles of all sizes: for each figure the worst of all directions, and which that is."""
    every = {name: each["bundles"]["30-100"] for name, each in directions.items()}
    worst = {
        figure: min(every, key=lambda name: every[name][figure])
        for figure in ("precision", "recall", "true_negative_rate", "accuracy")
    }
    return {figure: every[name][figure] for figure, name in worst.items()} | {"worst_direction": worst}
