"""How likely somebody belongs by the accounts around: a logistic model of how many of them do, by how they are related.

It begins with weights that are roughly right anywhere and is estimated anew as accounts are judged. Those whom a person decided
count more, and nobody is an example who was judged by this model itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import exp, log, log1p, sqrt
from typing import NamedTuple

import numpy as np

from bowerbird.analysis.community.signs import RELATIONS, Sign
from bowerbird.model.subjects.community import NOBODY, Neighbours

LEAST = 3
"""With fewer judged neighbours nothing is said."""
_MOST = 3.6
_NAMES = ("bias", "followed_in", "followed_out", "mentioned_in", "mentioned_out", "follows_in")
_FIRST = (-0.3, 1.0, -0.8, 0.9, -0.7, 1.0)
_SIDES = (0, 1, -1, 1, -1, 1)
"""Members around speak for somebody, others against; 0: either."""
_HELD = 2.0
"""How firmly the first weights are held on to, in examples."""
_STEPS = 12
_LEAST_LISTED = 5
_MEMBER_FOLLOWS, _OTHER_FOLLOWS = 0.7, 0.3
"""Of the judged accounts that somebody follows, how many belong, if the one who follows does and does not."""
PERSONS = 5.0
"""How many examples one counts for that a person decided."""


class Example(NamedTuple):
    """A judged account and those around it."""

    neighbours: Neighbours
    belongs: bool
    weight: float = 1.0


class RelationModel:
    """Scores neighbours. Pure: the same weights and counts give the same score."""

    def __init__(self, weights: Mapping[str, float] | None = None) -> None:
        told = dict(zip(_NAMES, _FIRST, strict=True)) if weights is None else weights
        self.weights: Mapping[str, float] = {name: float(told.get(name, 0.0)) for name in _NAMES}

    def score(self, around: Neighbours) -> float:
        """How likely it is that the account belongs, before anything else is known of it."""
        return 1 / (1 + exp(-self._logit(around)))

    def sign(self, around: Neighbours) -> Sign | None:
        """The same as evidence, where there is enough of it."""
        if around.known < LEAST:
            return None
        weight = max(-_MOST, min(_MOST, self._logit(around) + _own_list(around)))
        return Sign(RELATIONS, weight, _told(around))

    def _logit(self, around: Neighbours) -> float:
        values = _values(around)
        return sum(weight * value for weight, value in zip(self.weights.values(), values, strict=True))


def estimated(examples: Sequence[Example]) -> RelationModel:
    """The model that fits these examples, both kinds counted alike; near the first weights where there are few."""
    told = [each for each in examples if each.neighbours != NOBODY]
    if len({each.belongs for each in told}) < 2:
        return RelationModel()
    values = np.array([_values(each.neighbours) for each in told])
    truth = np.array([float(each.belongs) for each in told])
    weights = np.array([each.weight for each in told])
    for side in (0.0, 1.0):
        weights[truth == side] *= len(told) / 2 / weights[truth == side].sum()
    return RelationModel(dict(zip(_NAMES, _newton(values, truth, weights).tolist(), strict=True)))


def _newton(values: np.ndarray, truth: np.ndarray, weights: np.ndarray) -> np.ndarray:
    first = np.array(_FIRST)
    found = first.copy()
    for _ in range(_STEPS):
        expected = 1 / (1 + np.exp(-np.clip(values @ found, -30, 30)))
        slope = values.T @ (weights * (truth - expected)) - _HELD * (found - first)
        bend = (values.T * (weights * expected * (1 - expected))) @ values + _HELD * np.eye(len(found))
        found = _held_to_sides(found + np.linalg.solve(bend, slope))
    return found


def _held_to_sides(weights: np.ndarray) -> np.ndarray:
    sides = np.array(_SIDES)
    return np.where(sides == 0, weights, sides * np.maximum(sides * weights, 0.0))


def _values(around: Neighbours) -> tuple[float, ...]:
    """What the model looks at: only what is known alike of everybody. Whom somebody follows who does not belong is known from
    that somebody's own list alone, which is read of members and of the undecided: it would tell whose list was read."""
    return (1.0, *map(log1p, around.counts[:-1]))


def _own_list(around: Neighbours) -> float:
    """What the list of those whom somebody follows says, where it was read: how many of the judged ones on it belong."""
    here, away = around.follows_in, around.follows_out
    if not away or here + away < _LEAST_LISTED:
        return 0.0
    told = here * log(_MEMBER_FOLLOWS / _OTHER_FOLLOWS) + away * log((1 - _MEMBER_FOLLOWS) / (1 - _OTHER_FOLLOWS))
    # They go together: friends of one friend.
    return told / sqrt(here + away)


def _told(around: Neighbours) -> str:
    said = (
        ("followed by", around.followed_in, around.followed_out),
        ("mentioned by", around.mentioned_in, around.mentioned_out),
        ("follows", around.follows_in, around.follows_out),
    )
    parts = (f"{how} {here} who belong and {away} who do not" for how, here, away in said if here or away)
    return "; ".join(parts)
