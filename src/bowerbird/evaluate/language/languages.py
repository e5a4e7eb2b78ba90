"""How often the language of single tweets is told, language by language, and that of sets of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import Any

from bowerbird.analysis.language.identify import Identifier, PostLanguage, together
from bowerbird.evaluate.language.sources import Posts

_ALIKE = frozenset({"bs", "hr", "sr", "sh"})
_SETS = 100


def language_figures(tweets: Mapping[str, Posts], stopwatch: Callable[[], float], seed: int) -> dict[str, Any]:
    """Accuracy by language; one that is not told counts as wrong. `sets`: 30 to 100 tweets of one language together."""
    identifier, random = Identifier(), Random(seed)
    identifier.post("the first question loads the model")
    began = stopwatch()
    told = {language: [identifier.post(text) for text in texts] for language, texts in sorted(tweets.items())}
    seconds = stopwatch() - began
    number = sum(map(len, told.values()))
    by_language = {language: _figures(language, posts, random) for language, posts in told.items()}
    right = sum(each["accuracy"] * len(told[language]) for language, each in by_language.items())
    alike = sum(each["among_neighbours"] * len(told[language]) for language, each in by_language.items())
    return {
        "tweets": number,
        "accuracy": round(right / number, 4),
        "accuracy_with_bs_hr_sr_as_one": round(alike / number, 4),
        "by_language": by_language,
        "tweets_per_second": round(number / seconds),
    }


def _figures(language: str, posts: Sequence[PostLanguage], random: Random) -> dict[str, Any]:
    told = [each.language for each in posts if each.language is not None]
    right = told.count(language)
    alike = sum(_is_alike(language, each) for each in told)
    sets = [together(random.sample(posts, min(len(posts), random.randint(30, 100)))).language for _ in range(_SETS)]
    return {
        "tweets": len(posts),
        "accuracy": round(right / len(posts), 4),
        "among_neighbours": round(alike / len(posts), 4),
        "of_those_told": round(right / len(told), 4) if told else None,
        "told": round(len(told) / len(posts), 4),
        "sets": round(sum(_is_alike(language, each) for each in sets) / _SETS, 4),
    }


def _is_alike(language: str, told: str | None) -> bool:
    return told == language or (language in _ALIKE and told in _ALIKE)
