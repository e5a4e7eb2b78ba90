"""The decision whether an account is a member, from its signs.

Each sign is a weighted log-likelihood ratio: positive if members show it more often than other
accounts. A missing field gives no sign. The signs add up to the log odds `l`, and

    p = sigmoid(l + logit(prior))

is the probability that the account is a member.

- **yes** if p is at least `community.yes`, `l` speaks for it, and a sign other than the name does.
- **no** if 1 - p is at least `community.no` and `l` speaks against it.
- **undecided** otherwise. The prior alone decides nothing.

The prior is the share of members among the accounts that a crawl meets. It starts at .15 and is
estimated again as accounts are judged (`estimate_prior`). Evidence records the prior that was used.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import erf, log, sqrt, tanh

from msgspec import Struct

from bowerbird.model.subjects.community import NO, UNDECIDED, YES, Community

VERSION = "5"
"""Changes with the signs, their weights and this rule."""
START_PRIOR = 0.15
_PRIOR_RANGE = (0.01, 0.8)
_PRIOR_MEMBERS, _PRIOR_ACCOUNTS = 3, 20
"""The start prior counts like so many judged accounts."""
_PRIOR_STEPS = 50
_MIN_WEIGHT = 0.3
"""Lower log odds speak neither for nor against an account."""
NAME = "name"
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
        """The probability of the decision; of an undecided account, that it is a member."""
        return 1 - self.probability if self.value == NO else self.probability

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
    probability = sigmoid(log_odds + logit(prior))
    value = UNDECIDED
    if log_odds >= _MIN_WEIGHT and probability >= community.yes:
        if any(sign.weight >= _MIN_WEIGHT for sign in ordered if sign.kind != NAME):
            value = YES
    elif log_odds <= -_MIN_WEIGHT and probability <= 1 - community.no:
        value = NO
    return Verdict(
        value=value, probability=probability, prior=prior, log_odds=log_odds, signs=ordered
    )


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
    down = now - logit(1 - community.no)
    return 1 - (erf(up / spread / sqrt(2)) + erf(down / spread / sqrt(2))) / 2


def stored_signs(evidence: Evidence) -> list[Sign]:
    """Return the signs in stored evidence."""
    return [
        Sign(kind, float(weight), str(evidence.get(f"{kind}_found") or ""))
        for kind, weight in evidence.items()
        if f"{kind}_found" in evidence and isinstance(weight, int | float)
    ]


def sigmoid(log_odds: float) -> float:
    return (1 + tanh(log_odds / 2)) / 2


def logit(probability: float) -> float:
    return log(probability / (1 - probability))
