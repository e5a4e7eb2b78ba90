"""How well a method did: against the truth, and against SKwA as the paper compared."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any

from bowerbird.analysis.keywords.grading import Labels, is_related, retained, scored
from bowerbird.evaluate.keywords.replaying import Replayed
from bowerbird.evaluate.keywords.streams import EventStream


def figures(stream: EventStream, found: Replayed) -> dict[str, Any]:
    """Recall, precision and F1 of what was collected."""
    hits = _hits(stream, found)
    precision, recall = _share(hits, len(found.collected)), _share(hits, stream.event_size)
    both = precision + recall
    return {
        "recall": round(recall, 4),
        "precision": round(precision, 4),
        "f1": round(2 * precision * recall / both if both else 0.0, 4),
        "collected": len(found.collected),
        "lost": found.lost,
        "keywords": max(len(terms) for _, terms in found.keywords),
    }


def against_skwa(stream: EventStream, found: Replayed, skwa: Replayed, labels: Labels) -> dict[str, Any]:
    """Of SKwA's posts, the share of the event that was kept and of the noise that was not: by the truth, and by the paper's
    grades; how many times as many posts of the event as SKwA's were collected; and the share of SKwA's keywords that the method
    followed too, by category."""
    scores = scored({term: (label,) for term, label in labels.items()}, _ever(skwa))
    by_truth = _kept_and_removed(found.collected, skwa.collected, lambda number: stream.posts[number].is_event)
    by_grades = _kept_and_removed(
        found.collected, skwa.collected, lambda number: is_related(stream.readings[number].hashtags, scores)
    )
    theirs = _ever(skwa) - set(stream.seeds)
    shares = retained(labels, theirs, _ever(found))
    by_truth["event_posts"] = round(_share(_hits(stream, found), _hits(stream, skwa)), 4)
    return {**by_truth, "by_grades": by_grades, "retained": {name: round(share, 4) for name, share in shares.items()}}


def _hits(stream: EventStream, found: Replayed) -> int:
    return sum(stream.posts[number].is_event for number in found.collected)


def _ever(found: Replayed) -> set[str]:
    return {term for _, terms in found.keywords for term in terms}


def _kept_and_removed(mine: Collection[int], theirs: Collection[int], is_event: Callable[[int], bool]) -> dict[str, float]:
    event = {number for number in theirs if is_event(number)}
    noise = set(theirs) - event
    return {
        "kept": round(_share(len(event.intersection(mine)), len(event)), 4),
        "removed": round(1 - _share(len(noise.intersection(mine)), len(noise)), 4),
    }


def _share(part: int, whole: int) -> float:
    return part / whole if whole else 0.0


def mean(each: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """The mean of every number that all of them have, inside too."""
    several = list(each)
    found: dict[str, Any] = {}
    for name, value in several[0].items():
        values = [one[name] for one in several if name in one]
        if isinstance(value, Mapping):
            found[name] = mean(values)
        elif len(values) == len(several):
            found[name] = round(sum(values) / len(values), 4)
    return found
