"""European Portuguese told from everything else: by TwitterEcho's method and by ours, on bundles and on single posts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

from msgspec import Struct

from bowerbird.analysis.language.echo import echo_variety
from bowerbird.analysis.language.hints import BRAZILIAN, EUROPEAN
from bowerbird.analysis.language.identify import SEVERAL
from bowerbird.analysis.language.reading import PostRead, Reader
from bowerbird.analysis.language.variety import VarietyClassifier
from bowerbird.evaluate.language.bundles import SIZES, Bundle, Drawer
from bowerbird.evaluate.language.scoring import scored
from bowerbird.evaluate.language.sources import Posts, Source

Method = Callable[[Posts], str | None]
"""The variety that posts are written in; None where that is another language, or undecided."""
_LEAST_BY_AUTHOR = 10


class Ground(Struct, frozen=True):
    """One source with the bundles that every method is measured on."""

    source: Source
    bundles: Mapping[str, Sequence[Bundle]]


class Readings:
    """Posts as they were read; each is read once, however many bundles it is in."""

    def __init__(self) -> None:
        self._post: Callable[[str], PostRead] = cache(Reader().post)

    def method(self, weights: Mapping[str, float] | None) -> Method:
        """Ours with these weights; those of the package where there are none."""
        reader = Reader(VarietyClassifier(weights))
        return lambda posts: reader.together([self._post(text) for text in posts]).variety

    def single(self, weights: Mapping[str, float] | None) -> Method:
        reader = Reader(VarietyClassifier(weights))

        def variety(posts: Posts) -> str | None:
            weighing = reader.alone(self._post(posts[0]))
            return weighing.variety if weighing else None

        return variety

    def several(self, bundles: Sequence[Bundle]) -> dict[str, Any]:
        """How often sets in two languages are told to be that, and others are not."""
        reader = Reader()
        told = [
            (each.kind.is_mixed, reader.together([self._post(text) for text in each.posts]).languages.language == SEVERAL)
            for each in bundles
        ]
        return scored(told)


def ground(source: Source, others: Mapping[str, Posts], number: int, seed: int) -> Ground:
    drawer = Drawer(source, others, seed)
    return Ground(source, {f"{low}-{high}": drawer.bundles((low, high), number) for low, high in SIZES})


def bundle_figures(method: Method, on: Ground) -> dict[str, Any]:
    """By size, all sizes together, without those in several languages, and how often each kind is taken for European."""
    claims = {size: [(each, method(each.posts) == EUROPEAN) for each in bundles] for size, bundles in on.bundles.items()}
    every = [claim for judged in claims.values() for claim in judged]
    by_size = {size: scored((each.kind.is_positive, claim) for each, claim in judged) for size, judged in claims.items()}
    kinds = sorted({each.kind for each, _ in every})
    return {
        "30-100": scored((each.kind.is_positive, claim) for each, claim in every),
        **by_size,
        "one_language": scored((each.kind.is_positive, claim) for each, claim in every if not each.kind.is_mixed),
        "taken_for_pt-PT": {kind.value: _mean([claim for each, claim in every if each.kind is kind]) for kind in kinds},
    }


def single_figures(method: Method, source: Source) -> dict[str, Any]:
    """Of single posts of the two varieties, each variety counting alike; what is undecided is no claim."""
    european = [method([text]) for text in source.all(source.european)]
    brazilian = [method([text]) for text in source.all(source.brazilian)]
    hits, false = _mean([each == EUROPEAN for each in european]), _mean([each == EUROPEAN for each in brazilian])
    right = _mean([each == BRAZILIAN for each in brazilian])
    decided = [_mean([each is not None for each in side]) for side in (european, brazilian)]
    return {
        "posts": len(european) + len(brazilian),
        "decided": round(sum(decided) / 2, 4),
        "precision": round(hits / (hits + false), 4) if hits + false else None,
        "recall": hits,
        "true_negative_rate": round(1 - false, 4),
        "accuracy_of_decided": round((hits + right) / sum(decided), 4) if sum(decided) else None,
    }


def author_figures(method: Method, source: Source) -> dict[str, Any]:
    """All posts of each author with ten or more: how many are told right, wrong, or not."""
    figures = {}
    for variety, people in ((EUROPEAN, source.european), (BRAZILIAN, source.brazilian)):
        told = [method(posts) for posts in people.values() if len(posts) >= _LEAST_BY_AUTHOR]
        wrong = sum(each not in (variety, None) for each in told)
        figures[variety] = {"authors": len(told), "right": told.count(variety), "wrong": wrong, "undecided": told.count(None)}
    return figures


def echo(posts: Posts) -> str | None:
    return echo_variety(posts)


def _mean(claims: Sequence[bool]) -> float:
    return round(sum(claims) / len(claims), 4) if claims else 0.0
