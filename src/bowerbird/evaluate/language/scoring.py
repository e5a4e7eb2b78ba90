"""Precision, recall and their like, as TwitterEcho told them: of the class `pt-PT` against everything else."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

PUBLISHED = {
    "30-40": {"precision": 0.96, "recall": 0.49, "true_negative_rate": 0.985, "accuracy": 0.774},
    "41-60": {"precision": 1.0, "recall": 0.663, "true_negative_rate": 1.0, "accuracy": 0.85},
    "61-80": {"precision": 0.949, "recall": 0.755, "true_negative_rate": 0.971, "accuracy": 0.88},
    "81-100": {"precision": 0.969, "recall": 0.738, "true_negative_rate": 0.988, "accuracy": 0.904},
    "30-100": {"precision": 0.974, "recall": 0.659, "true_negative_rate": 0.988, "accuracy": 0.853},
}
"""Oliveira 2011, table 5.4; other people's posts."""


def scored(judged: Iterable[tuple[bool, bool]]) -> dict[str, Any]:
    """From pairs of truth and claim."""
    pairs = list(judged)
    count = {(truth, claim): 0 for truth in (True, False) for claim in (True, False)}
    for pair in pairs:
        count[pair] += 1
    hits, misses, false, right = count[True, True], count[True, False], count[False, True], count[False, False]
    return {
        "number": len(pairs),
        "precision": _share(hits, hits + false),
        "recall": _share(hits, hits + misses),
        "true_negative_rate": _share(right, right + false),
        "accuracy": _share(hits + right, len(pairs)),
    }


def _share(part: int, whole: int) -> float | None:
    return round(part / whole, 4) if whole else None
