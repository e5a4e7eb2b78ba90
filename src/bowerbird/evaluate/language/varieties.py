"""Measure how well European Portuguese is distinguished from everything else.

The sets are composed as those of TwitterEcho's evaluation: 30 to 100 posts of one account, 41 % of
the sets European, some in two languages (Oliveira 2011, section 5.2.2). Weights are estimated on
one source, or on two, and measured on another one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import StrEnum
from functools import cache
from itertools import permutations
from random import Random
from typing import Any

from msgspec import Struct

from bowerbird.analysis.languages import Identifier
from bowerbird.analysis.variety import (
    BRAZILIAN,
    EUROPEAN,
    MIXED,
    Variety,
    echo_variety,
    find_hints,
    hint_weights,
    portuguese_posts,
    weigh_hints,
)
from bowerbird.errors import UserError
from bowerbird.evaluate.language.fitting import fit_weights
from bowerbird.evaluate.language.posts import Posts, Source, all_posts, held_out, mask_names, share_of

PUBLISHED = {
    "30-40": {"precision": 0.96, "recall": 0.49, "true_negative_rate": 0.985, "accuracy": 0.774},
    "41-60": {"precision": 1.0, "recall": 0.663, "true_negative_rate": 1.0, "accuracy": 0.85},
    "61-80": {"precision": 0.949, "recall": 0.755, "true_negative_rate": 0.971, "accuracy": 0.88},
    "81-100": {"precision": 0.969, "recall": 0.738, "true_negative_rate": 0.988, "accuracy": 0.904},
    "30-100": {"precision": 0.974, "recall": 0.659, "true_negative_rate": 0.988, "accuracy": 0.853},
}
"""Oliveira 2011, table 5.4, on posts of its own."""
FIGURES = ("precision", "recall", "true_negative_rate", "accuracy")
MIN_PRECISION, MIN_RECALL = 0.974, 0.9

_SIZES = ((30, 40), (41, 60), (61, 80), (81, 100))
_SMALL_SIZES = (3, 5, 10, 30)
_SMALL_SETS = 200
_PREVALENCE = 226 / 550
"""Share of European Portuguese among TwitterEcho's 550 sets."""
_MIXED_OF_POSITIVE = 24 / 226
_MIXED_OF_NEGATIVE = 12 / 324
"""From its tables 5.4 and 5.5: sets in several languages, by their main language."""
_MAIN, _MINOR = (0.6, 0.8), (0.2, 0.4)
_LEAST_BY_AUTHOR = 10


class Kind(StrEnum):
    EUROPEAN = "pt-PT"
    MAINLY_EUROPEAN = "mainly pt-PT"
    BRAZILIAN = "pt-BR"
    OTHER = "other language"
    MAINLY_OTHER = "mainly other language"


_POSITIVE = frozenset({Kind.EUROPEAN, Kind.MAINLY_EUROPEAN})


class PostSet(Struct, frozen=True):
    """Posts of one account, with the truth about them."""

    kind: Kind
    posts: Posts


class SourceSets(Struct, frozen=True):
    """One source with the sets that every method is measured on."""

    source: Source
    by_size: Mapping[str, Sequence[PostSet]]
    small: Mapping[int, Mapping[str, Sequence[Posts]]]
    """Sets of a few posts in one variety, and with as many posts of both (`mixed`)."""


Method = Callable[[Posts], Variety]


def evaluate_varieties(
    sources: Sequence[Source], others: Mapping[str, Posts], number: int, seed: int, progress: Callable[[str], None]
) -> dict[str, Any]:
    """Measure every direction on `number` sets of each size; `others` are posts in other languages."""
    halves = [held_out(source) for source in sources]
    _require_enough_posts(halves, others)
    politicians = next(source for source in sources if source.name == "politicians")
    tests = [_draw_source_sets(source, others, number, seed) for source in (*halves, mask_names(politicians))]
    identifier = Identifier()
    # Every post and every set is looked at once, however many weights are measured on it.
    hints_of = cache(find_hints)
    portuguese = cache(lambda posts: portuguese_posts(posts, identifier.identify_set(posts)))

    def classifier(weights: Mapping[str, float]) -> Method:
        return lambda posts: weigh_hints([hints_of(text) for text in portuguese(tuple(posts))], weights)

    directions: dict[str, Any] = {}
    left_out: dict[str, Any] = {}
    for source in sources:
        progress(f"Estimating weights without {source.name}")
        rest = [each for each in sources if each is not source]
        method = classifier(fit_weights(rest, seed))
        for test in tests:
            if test.source.name.startswith(source.name):
                left_out[test.source.name] = _measure(method, test)
    for trained, tested in permutations(sources, 2):
        method = classifier(fit_weights([trained], seed))
        for test in tests:
            if test.source.name.startswith(tested.name):
                progress(f"Measuring weights of {trained.name} on {test.source.name}")
                directions[f"{trained.name} to {test.source.name}"] = _measure(method, test)
    progress("Measuring the published method and the packaged weights")
    packaged = classifier(hint_weights())
    methods = {
        test.source.name: {
            "echo": _measure_sets(lambda posts: echo_variety(posts) == EUROPEAN, test),
            "ours_as_packaged": _measure(packaged, test),
        }
        for test in tests
    }
    return {
        "pt-PT": _worst(directions),
        "pt-PT_left_out": _worst(left_out),
        "published": PUBLISHED,
        "left_out": left_out,
        "directions": directions,
        "methods": methods,
    }


def _require_enough_posts(sources: Sequence[Source], others: Mapping[str, Posts]) -> None:
    """Raise `UserError` if a set of the largest size cannot be drawn."""
    smallest, largest = _SIZES[-1]
    for source in sources:
        for authors in (source.european, source.brazilian):
            if max(map(len, authors.values()), default=0) < smallest:
                raise UserError(f"Too few posts in {source.name}: an author needs {smallest}.")
    for language in others.keys() | {"en", "es"}:
        if len(others.get(language, ())) < largest:
            raise UserError(f"Too few tweets in {language!r}: the evaluation needs {largest}.")


def _worst(measured: Mapping[str, Any]) -> dict[str, Any]:
    """Return for each figure over sets of 30 to 100 posts the worst case, and which that is."""
    figures = {name: each["sets"]["30-100"] for name, each in measured.items()}
    worst = {figure: min(figures, key=lambda name: figures[name][figure]) for figure in FIGURES}
    return {figure: figures[name][figure] for figure, name in worst.items()} | {"worst": worst}


def _measure(method: Method, test: SourceSets) -> dict[str, Any]:
    return {
        "sets": _measure_sets(lambda posts: method(posts).variety == EUROPEAN, test),
        "small_sets": _measure_small_sets(method, test),
        "authors": _measure_authors(method, test.source) if len(test.source.european) > 1 else None,
    }


def _measure_sets(is_european: Callable[[Posts], bool], test: SourceSets) -> dict[str, Any]:
    """Score the class pt-PT against everything else, by size, and how often each kind is claimed."""
    claims = {size: [(each.kind, is_european(each.posts)) for each in sets] for size, sets in test.by_size.items()}
    every = [claim for each in claims.values() for claim in each]
    return {
        "30-100": _score(every),
        **{size: _score(each) for size, each in claims.items()},
        "claimed_by_kind": {kind.value: share_of([claim for each, claim in every if each is kind]) for kind in Kind},
    }


def _score(claims: Iterable[tuple[Kind, bool]]) -> dict[str, Any]:
    pairs = [(kind in _POSITIVE, claim) for kind, claim in claims]
    return {
        "number": len(pairs),
        "precision": share_of([truth for truth, claim in pairs if claim], empty=1.0),
        "recall": share_of([claim for truth, claim in pairs if truth]),
        "true_negative_rate": share_of([not claim for truth, claim in pairs if not truth]),
        "accuracy": share_of([truth == claim for truth, claim in pairs]),
    }


def _measure_small_sets(method: Method, test: SourceSets) -> dict[str, Any]:
    """Share of each answer by size and truth, and the calibration of the two varieties' probabilities."""
    figures: dict[str, Any] = {}
    reliability: list[tuple[float, bool]] = []
    for size, by_truth in test.small.items():
        for truth, sets in by_truth.items():
            answers = [method(posts) for posts in sets]
            names = [each.variety for each in answers]
            figures[f"{size} {truth}"] = {
                str(name): share_of([each == name for each in names]) for name in (EUROPEAN, BRAZILIAN, MIXED, None)
            }
            if truth != MIXED:
                reliability += [
                    (each.confidence, each.variety == truth) for each in answers if each.variety in (EUROPEAN, BRAZILIAN)
                ]
    confidence = sum(each for each, _ in reliability) / max(1, len(reliability))
    figures["mean_confidence"] = round(confidence, 4)
    figures["accuracy_of_decided"] = share_of([right for _, right in reliability])
    return figures


def _measure_authors(method: Method, source: Source) -> dict[str, Any]:
    """All posts of each author with ten or more: how many are right, wrong, or undecided."""
    figures = {}
    for truth, authors in ((EUROPEAN, source.european), (BRAZILIAN, source.brazilian)):
        answers = [method(posts).variety for posts in authors.values() if len(posts) >= _LEAST_BY_AUTHOR]
        wrong = sum(each not in (truth, None) for each in answers)
        figures[truth] = {
            "authors": len(answers),
            "right": answers.count(truth),
            "wrong": wrong,
            "undecided": answers.count(None),
        }
    return figures


def _draw_source_sets(source: Source, others: Mapping[str, Posts], number: int, seed: int) -> SourceSets:
    random = Random(seed)
    by_size = {f"{low}-{high}": _draw_sets(source, others, (low, high), number, random) for low, high in _SIZES}
    european, brazilian = all_posts(source.european), all_posts(source.brazilian)
    small: dict[int, Mapping[str, Sequence[Posts]]] = {}
    for size in _SMALL_SIZES:
        half = (size + 1) // 2
        small[size] = {
            EUROPEAN: [random.sample(european, size) for _ in range(_SMALL_SETS)],
            BRAZILIAN: [random.sample(brazilian, size) for _ in range(_SMALL_SETS)],
            MIXED: [[*random.sample(european, half), *random.sample(brazilian, size - half)] for _ in range(_SMALL_SETS)],
        }
    return SourceSets(source, by_size, small)


def _draw_sets(
    source: Source, others: Mapping[str, Posts], size: tuple[int, int], number: int, random: Random
) -> Sequence[PostSet]:
    positive = round(number * _PREVALENCE)
    mainly = round(positive * _MIXED_OF_POSITIVE)
    minor = round((number - positive) * _MIXED_OF_NEGATIVE)
    brazilian = (number - positive - minor) // 2
    kinds = {
        Kind.EUROPEAN: positive - mainly,
        Kind.MAINLY_EUROPEAN: mainly,
        Kind.BRAZILIAN: brazilian,
        Kind.OTHER: number - positive - minor - brazilian,
        Kind.MAINLY_OTHER: minor,
    }
    return [_draw_set(kind, source, others, size, random) for kind, many in kinds.items() for _ in range(many)]


def _draw_set(kind: Kind, source: Source, others: Mapping[str, Posts], size: tuple[int, int], random: Random) -> PostSet:
    """Draw posts of one author who wrote enough; other languages are tweets."""
    number = random.randint(*size)
    low, high = {Kind.MAINLY_EUROPEAN: _MAIN, Kind.MAINLY_OTHER: _MINOR, Kind.OTHER: (0.0, 0.0)}.get(kind, (1.0, 1.0))
    own = round(number * random.uniform(low, high))
    posts: list[str] = []
    if own:
        authors = source.brazilian if kind is Kind.BRAZILIAN else source.european
        enough = min(own, size[0])
        author = random.choice([each for each in authors.values() if len(each) >= enough])
        posts = random.sample(list(author), min(own, len(author)))
    if rest := number - own:
        # Beside Portuguese it is mostly English; alone Spanish, English and all others have a third each.
        far = random.choice(sorted(others.keys() - {"es", "en"}))
        language = random.choice(("es", "en", far)) if kind is Kind.OTHER else "en"
        posts += random.sample(list(others[language]), rest)
    return PostSet(kind, posts)
