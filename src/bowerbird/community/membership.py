"""The decision whether an account is a member, from its signs.

Each sign is a weighted log-likelihood ratio: positive if members show it more often than other
accounts. A missing field is no sign. The signs add up to the log odds `l`, and

    p = sigmoid(l + logit(prior)),  with l * 1.35 for l > 0

is the probability that the account is a member. The weights were set on few real members, who
turned out to be members more often than the sum alone predicts: hence the factor.

- **yes** if p is at least `community.yes` and a sign other than the name supports it.
- **no** if 1 - p is at least `community.no` and a sign opposes it. If the prior is above .3 and only
  the profile was read, half the error is allowed: then members are frequent among accounts whose profile misleads.
- **undecided** otherwise.

The weights and thresholds are those of a study on real profiles (docs/concepts/community.md). The rule
about half the error was chosen in simulated worlds that are not used to report figures.

The prior is the share of members among the accounts that a crawl meets. It starts at .15 and is
estimated again as accounts are judged (`estimate_prior`). Evidence records the prior that was used.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import erf, exp, log, sqrt

from msgspec import Struct

from bowerbird.model.subjects.community import NO, UNDECIDED, YES, Community

VERSION = "3"
"""Changes with the signs, their weights and this rule."""
START_PRIOR = 0.15
_PRIOR_RANGE = (0.01, 0.8)
_PRIOR_MEMBERS, _PRIOR_ACCOUNTS = 3, 20
"""The start prior counts like so many judged accounts."""
_PRIOR_STEPS = 50
_STRETCH = 1.35
_HIGH_PRIOR = 0.3
_MOST_LOG_ODDS = 30.0
_MIN_WEIGHT = 0.3
"""A sign with a lower weight does not support or oppose a decision: the prior alone decides nothing."""
NAME = "name"
BEYOND_PROFILE = frozenset({"written", "variety", "rhythm", "relations"})
"""Kinds of signs of posts and of neighbours."""
PROBABILITY, PRIOR, LOG_ODDS = "probability", "prior", "log_odds"
"""Keys of evidence beside the kinds of signs."""

Evidence = Mapping[str, str | float | None]


class Sign(Struct, frozen=True, gc=False):
    """One piece of evidence: its weight is a log-likelihood ratio, positive for a member."""

    kind: str
    weight: float
    found: str
    """The text or fact, for people."""


class Learned(Struct, frozen=True):
    """What a crawl has learned from the accounts it judged."""

    prior: float = START_PRIOR
    relations: Mapping[str, float] = {}
    """Weights of judged neighbours; empty: those of `relations.START`."""
    words: Mapping[str, float] = {}
    """Weights of words in descriptions, for communities that learn them."""


class Verdict(Struct, frozen=True, kw_only=True):
    """A decision with its reasons."""

    value: str
    probability: float
    prior: float
    log_odds: float
    """Of the signs alone, without the prior."""
    signs: tuple[Sign, ...] = ()

    @property
    def confidence(self) -> float:
        """The probability of the decision; of an undecided account, of its likelier side."""
        member, other = self.probability, 1 - self.probability
        return {YES: member, NO: other}.get(self.value, max(member, other))

    @property
    def evidence(self) -> Evidence:
        """The decision as it is stored: weight and finding by kind of sign."""
        evidence: dict[str, str | float | None] = {
            PROBABILITY: round(self.probability, 4),
            PRIOR: round(self.prior, 4),
            LOG_ODDS: round(self.log_odds, 3),
        }
        for sign in self.signs:
            evidence[sign.kind] = round(sign.weight, 2)
            evidence[f"{sign.kind}_found"] = sign.found
        return evidence


def decide(signs: Iterable[Sign], community: Community, prior: float = START_PRIOR) -> Verdict:
    """Combine signs to a decision."""
    ordered = tuple(sorted(signs, key=lambda sign: -abs(sign.weight)))
    log_odds = sum(sign.weight for sign in ordered)
    if log_odds > 0:
        log_odds *= _STRETCH
    probability = sigmoid(log_odds + logit(prior))
    has_support = any(sign.weight >= _MIN_WEIGHT for sign in ordered if sign.kind != NAME)
    is_opposed = any(sign.weight <= -_MIN_WEIGHT for sign in ordered)
    is_by_profile = BEYOND_PROFILE.isdisjoint(sign.kind for sign in ordered)
    if probability >= community.yes and has_support:
        value = YES
    elif is_opposed and probability <= no_threshold(community, prior, is_by_profile=is_by_profile):
        value = NO
    else:
        value = UNDECIDED
    return Verdict(
        value=value, probability=probability, prior=prior, log_odds=log_odds, signs=ordered
    )


def no_threshold(community: Community, prior: float, *, is_by_profile: bool = False) -> float:
    """Return the probability up to which an account is not a member."""
    error = 1 - community.no
    return error / 2 if is_by_profile and prior > _HIGH_PRIOR else error


def estimate_prior(log_odds: Sequence[float]) -> float:
    """Estimate the share of members among accounts with these log odds, by expectation maximisation."""
    prior = START_PRIOR
    for _ in range(_PRIOR_STEPS):
        members = sum(sigmoid(each + logit(prior)) for each in log_odds)
        prior = (_PRIOR_MEMBERS + members) / (_PRIOR_ACCOUNTS + len(log_odds))
        prior = min(max(prior, _PRIOR_RANGE[0]), _PRIOR_RANGE[1])
    return prior


def decision_chance(log_odds: float, prior: float, community: Community, spread: float) -> float:
    """Return how likely one more sign decides an undecided account.

    `log_odds` are those of its signs, without the prior. `spread` is the standard deviation of the
    log odds that such a sign adds.
    """
    now = log_odds + logit(prior)
    up = logit(community.yes) - now
    down = now - logit(no_threshold(community, prior))
    return _upper_tail(up / spread) + _upper_tail(down / spread)


def _upper_tail(deviations: float) -> float:
    return (1 - erf(deviations / sqrt(2))) / 2


def stored_signs(evidence: Evidence) -> list[Sign]:
    """Return the signs in stored evidence."""
    return [
        Sign(kind, float(weight), str(evidence.get(f"{kind}_found") or ""))
        for kind, weight in evidence.items()
        if f"{kind}_found" in evidence and isinstance(weight, int | float)
    ]


def sigmoid(log_odds: float) -> float:
    bounded = min(max(log_odds, -_MOST_LOG_ODDS), _MOST_LOG_ODDS)
    return 1 / (1 + exp(-bounded))


def logit(probability: float) -> float:
    return log(probability / (1 - probability))
