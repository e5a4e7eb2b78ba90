"""Signs of the accounts around an account: a logistic model of how many of them are members.

The model starts with weights that are roughly right for people of one country, and is fitted again as
accounts are judged. Its examples are accounts that are decided without it, by their own signs or by a
person, who counts five times.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import log, log1p, sqrt
from typing import NamedTuple

import numpy as np

from bowerbird.community.membership import Sign, sigmoid
from bowerbird.model.subjects.community import NO_NEIGHBOURS, Neighbours

RELATIONS = "relations"
"""The kind of this sign, in evidence."""
START: Mapping[str, float] = {
    "bias": -0.3,
    "followed_in": 1.0,
    "followed_out": -0.8,
    "mentioned_in": 0.9,
    "mentioned_out": -0.7,
    "follows_in": 1.0,
}
_SIDES = np.array((0, 1, -1, 1, -1, 1))
"""Members around speak for an account, others against it; 0: either."""
_MIN_NEIGHBOURS = 3
_MOST = 3.6
_START_EXAMPLES = 2.0
"""The start weights count like so many examples."""
_MIN_EXAMPLES = 5
_STEPS = 12
_MIN_LISTED = 5
_OWN_SIDE = 0.7
"""Of the judged accounts that a member follows, the share of members; of others, that of others."""
DECIDED_BY_PERSON = 5.0
"""How many examples an account counts for that a person decided."""


class Example(NamedTuple):
    """A judged account and the accounts around it."""

    neighbours: Neighbours
    is_member: bool
    weight: float = 1.0


def relation_score(neighbours: Neighbours, weights: Mapping[str, float]) -> float:
    """Return the probability that an account is a member, before anything else is known about it."""
    return sigmoid(_log_odds(neighbours, weights))


def relation_sign(
    neighbours: Neighbours, weights: Mapping[str, float], *, is_field: bool = False
) -> Sign | None:
    """Return the sign of the accounts around an account; None if fewer than three are judged.

    `is_field`: members of a field follow each other less than people of one country. Only fitted
    weights count.
    """
    if neighbours.known < _MIN_NEIGHBOURS or (is_field and not weights):
        return None
    ratio = _log_odds(neighbours, weights)
    if not is_field:
        ratio += _own_list(neighbours)
    return Sign(RELATIONS, max(-_MOST, min(_MOST, ratio)), _found(neighbours))


def fit_relations(examples: Sequence[Example]) -> Mapping[str, float]:
    """Fit the weights to judged accounts, members and others with equal total weight.

    Returns nothing with fewer than five of each: the start weights count then.
    """
    used = [each for each in examples if each.neighbours != NO_NEIGHBOURS]
    truth = np.array([float(each.is_member) for each in used])
    if min(truth.sum(), len(used) - truth.sum()) < _MIN_EXAMPLES:
        return {}
    values = np.array([_values(each.neighbours) for each in used])
    weights = np.array([each.weight for each in used])
    for side in (0.0, 1.0):
        weights[truth == side] *= len(used) / 2 / weights[truth == side].sum()
    start = np.array(list(START.values()))
    fitted = start.copy()
    for _ in range(_STEPS):
        expected = 1 / (1 + np.exp(-np.clip(values @ fitted, -30, 30)))
        slope = values.T @ (weights * (truth - expected)) - _START_EXAMPLES * (fitted - start)
        bend = (values.T * (weights * expected * (1 - expected))) @ values
        bend += _START_EXAMPLES * np.eye(len(fitted))
        fitted = fitted + np.linalg.solve(bend, slope)
        fitted = np.where(_SIDES == 0, fitted, _SIDES * np.maximum(_SIDES * fitted, 0.0))
    return dict(zip(START, fitted.tolist(), strict=True))


def _log_odds(neighbours: Neighbours, weights: Mapping[str, float]) -> float:
    values = zip(START, _values(neighbours), strict=True)
    return sum((weights or START)[name] * value for name, value in values)


def _values(neighbours: Neighbours) -> tuple[float, ...]:
    """The inputs of the model. The number of followed others (`follows_out`) is left out: it is known
    only for accounts whose list was requested, so it would reveal whose list that was."""
    return (1.0, *map(log1p, neighbours.counts[:-1]))


def _own_list(neighbours: Neighbours) -> float:
    """Evidence of the list of followed accounts, where it was requested."""
    members, others = neighbours.follows_in, neighbours.follows_out
    if not others or members + others < _MIN_LISTED:
        return 0.0
    # Followed accounts depend on each other, as friends of one friend: without the root, they
    # would count too much.
    return (members - others) * log(_OWN_SIDE / (1 - _OWN_SIDE)) / sqrt(members + others)


def _found(neighbours: Neighbours) -> str:
    counts = (
        ("followed by", neighbours.followed_in, neighbours.followed_out),
        ("mentioned by", neighbours.mentioned_in, neighbours.mentioned_out),
        ("follows", neighbours.follows_in, neighbours.follows_out),
    )
    return "; ".join(
        f"{how} {members} {'member' if members == 1 else 'members'}"
        f" and {others} {'other' if others == 1 else 'others'}"
        for how, members, others in counts
        if members or others
    )
