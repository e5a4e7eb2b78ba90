"""Estimate properties of a graph from random walks: means, their errors, and when to stop.

A random walk visits a node in proportion to its degree, so each step is weighted by one over the degree (Hansen and Hurwitz). A
Metropolis-Hastings walk visits all nodes equally often, and all its steps have the same weight. If the values of some random
neighbours are known, they belong to the step, because a next step would visit them in the same way. Steps of one walk are
correlated. Errors are therefore computed between walkers (jackknife), or for a single walker between long stretches of its walk
(batch means). Because walkers visit the same accounts, the error by account is used where it is larger.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from hashlib import blake2b
from heapq import nlargest
from itertools import pairwise
from math import inf, log, sqrt
from statistics import fmean, median, pvariance, variance
from typing import NamedTuple

from bowerbird.analysis.agreement import Z, wilson_interval

Value = Callable[[str, int], float | None]
"""The value of an account by its key and its degree; None if it is unknown."""
Trace = Iterable[tuple[int, float, str, int]]
"""Steps in any order: walker, the walker's clock, node, degree of the node."""

MIN_ACCOUNTS = 30
"""Fewer accounts do not show how much accounts differ."""
MIN_BATCHES, MAX_BATCHES = 4, 20
_BATCH_LENGTH = 10
"""Length of a batch in autocorrelation times, so that the means of batches are nearly independent."""


class Contribution(NamedTuple):
    """The contribution of one account to a step."""

    account: str
    value: float
    weight: float


class Observation(NamedTuple):
    """The value and weight of one step."""

    value: float
    weight: float
    parts: tuple[Contribution, ...] = ()


Walk = Sequence[Observation]


class Estimate(NamedTuple):
    """A mean over all nodes with its 95 % interval."""

    value: float
    error: float
    low: float
    high: float

    @property
    def half_width(self) -> float:
        return (self.high - self.low) / 2


class Convergence(NamedTuple):
    """An estimate and the diagnostics that decide whether to stop."""

    estimate: Estimate
    geweke: float
    """Difference between the beginning and the end of the walks, in standard errors."""
    r_hat: float
    """Variation between walkers relative to that within walkers; 1 if they agree."""
    accounts: int = 0

    def is_reached(self, half_width: float) -> bool:
        """Return True if all diagnostics are good, the interval is narrow enough, and there are enough accounts."""
        is_settled = abs(self.geweke) < 1.96 and self.r_hat < 1.05
        return is_settled and self.estimate.half_width <= half_width and self.accounts >= MIN_ACCOUNTS


def walks(
    trace: Trace,
    value: Value,
    *,
    is_uniform: bool,
    jump: int = 0,
    around: Callable[[str], Iterable[tuple[str, int]]] = lambda node: (),
) -> list[list[Observation]]:
    """Return the observations of each walk, ordered by its clock, without steps whose values are unknown.

    `is_uniform`: the walk visits all nodes equally often. `jump`: the number of neighbours that a jump counts for. `around`:
    random neighbours of a node, with their degrees.
    """
    by_walker: defaultdict[int, list[tuple[float, Observation]]] = defaultdict(list)
    for walker, clock, node, degree in trace:
        accounts = [(key, number) for key, number in ((node, degree), *around(node)) if number + jump > 0]
        known = [(key, number, found) for key, number in accounts if (found := value(key, number)) is not None]
        parts = [
            Contribution(key, found, step_weight(number, jump, is_uniform=is_uniform) / len(known))
            for key, number, found in known
        ]
        if parts:
            weight = sum(part.weight for part in parts)
            mean_value = sum(part.value * part.weight for part in parts) / weight
            by_walker[walker].append((clock, Observation(mean_value, weight, tuple(parts))))
    return [[each for _, each in sorted(steps)] for _, steps in sorted(by_walker.items())]


def step_weight(degree: int, jump: int, *, is_uniform: bool) -> float:
    """Return the weight of a step: the inverse of how often the walk visits such a node."""
    return 1.0 if is_uniform else 1.0 / (degree + jump)


def until_slowest_walker(trace: Trace, pending: Sequence[float] = ()) -> list[tuple[int, float, str, int]]:
    """Return the steps before the clock of the slowest walker: walks are fair only up to a common time.

    Walkers pass through known nodes immediately and wait at unknown ones, which have fewer neighbours. Counting each walk up to
    its own end would leave those out. `pending`: the clocks of the steps that are waiting; if there are none, the last clocks.
    """
    steps = list(trace)
    if pending:
        # A walker far behind all others is lost: its account cannot be requested.
        lost = median(pending) / 2
        next_step = min(clock for clock in pending if clock >= lost)
        return [step for step in steps if step[1] < next_step]
    last = {walker: clock for walker, clock, _, _ in sorted(steps)}
    end = min(last.values(), default=0.0)
    return [step for step in steps if step[1] <= end]


def without_burn_in(taken: Sequence[Walk]) -> list[Walk]:
    """Return the walks without their first tenth, which depends on where the walks started."""
    return [walk[len(walk) // 10 :] for walk in taken]


def mean(taken: Iterable[Walk]) -> float:
    """Return the weighted mean over all steps, which estimates the plain mean over all nodes."""
    steps = [each for walk in taken for each in walk]
    return sum(each.value * each.weight for each in steps) / sum(each.weight for each in steps)


def estimate(taken: Sequence[Walk]) -> Estimate:
    """Return the mean with its error: between walkers or batches, or by account if that error is larger."""
    parts = [walk for walk in taken if walk]
    parts = batches(parts[0]) if len(parts) == 1 else parts
    between = jackknife(parts)
    contributions = [each for walk in parts for step in walk for each in step.parts]
    if len(parts) < 2 or not contributions:
        return between
    value, quantile = between.value, t_quantile(len(parts) - 1)
    pulls: defaultdict[str, float] = defaultdict(float)
    weights: defaultdict[str, float] = defaultdict(float)
    for each in contributions:
        pulls[each.account] += each.weight * (each.value - value)
        weights[each.account] += each.weight
    # The accounts as the sample, because each may have been visited many times.
    total = sum(weights.values())
    error = max(between.error, sqrt(sum(pull * pull for pull in pulls.values())) / total)
    if not all(each.value in (0.0, 1.0) for each in contributions):
        return Estimate(value, error, value - quantile * error, value + quantile * error)
    # A share: Wilson's interval for as many accounts of equal weight as would give as much information (Kish).
    size = total**2 / sum(each * each for each in weights.values())
    size = min(value * (1 - value) / error**2, size) if error else size
    low, high = wilson_interval(value, size, quantile)
    return Estimate(value, error, min(low, value), max(high, value))


def jackknife(parts: Sequence[Walk]) -> Estimate:
    """Return the mean of all parts, with the error from leaving out each part in turn."""
    count = len(parts)
    if count < 2:
        return Estimate(mean(parts), inf, -inf, inf)
    sums = [(sum(each.value * each.weight for each in part), sum(each.weight for each in part)) for part in parts]
    total, weights = (sum(column) for column in zip(*sums, strict=True))
    left_out = [(total - own) / (weights - weight) for own, weight in sums]
    error = sqrt((count - 1) * pvariance(left_out))
    value, half_width = total / weights, t_quantile(count - 1) * error
    return Estimate(value, error, value - half_width, value + half_width)


def batches(walk: Walk) -> list[Walk]:
    """Split a walk into equal stretches of ten autocorrelation times, but at least four."""
    least = min(MIN_BATCHES, max(len(walk) // 2, 1))
    longest = len(walk) / (_BATCH_LENGTH * least)
    count = min(max(int(len(walk) / (_BATCH_LENGTH * autocorrelation_time(walk, longest))), least), MAX_BATCHES)
    ends = [len(walk) * number // count for number in range(count + 1)]
    return [walk[begin:end] for begin, end in pairwise(ends)]


def autocorrelation_time(walk: Walk, longest: float = inf) -> float:
    """Return the integrated autocorrelation time, up to `longest`: the steps that inform as much as one independent step.

    Correlations are added in pairs, each at most the one before, until a pair is not positive: what follows is noise (Geyer).
    """
    # Imported here so that commands that only read a store start without NumPy.
    import numpy as np

    pulls = np.array(_deviations(walk, mean([walk])))
    variance_sum = float(pulls @ pulls)
    time, pair = -1.0, inf
    for lag in range(0, len(pulls) - 1 if variance_sum else 0, 2):
        both = pulls[: len(pulls) - lag] @ pulls[lag:] + pulls[: len(pulls) - lag - 1] @ pulls[lag + 1 :]
        pair = min(pair, float(both) / variance_sum)
        if pair <= 0 or time >= longest:
            break
        time += 2 * pair
    return max(time, 1.0)


def geweke(taken: Sequence[Walk]) -> float:
    """Return the difference between the first tenth and the last half of the walks, in standard errors."""
    begins = [walk[: len(walk) // 10] for walk in taken]
    ends = [walk[len(walk) // 2 :] for walk in taken]
    if not any(begins) or not any(ends):
        return inf
    early, late = estimate(begins), estimate(ends)
    spread = sqrt(early.error**2 + late.error**2)
    return _ratio(early.value - late.value, spread) if spread < inf else inf


def r_hat(taken: Sequence[Walk]) -> float:
    """Return Gelman and Rubin's statistic: the variation between walkers relative to that within each."""
    if len(taken) == 1:
        middle = len(taken[0]) // 2
        taken = [taken[0][:middle], taken[0][middle:]]
    length = min(map(len, taken), default=0)
    if length < 2:
        return inf
    average = mean(taken)
    series = [_deviations(walk[-length:], average) for walk in taken]
    within = fmean(variance(each) for each in series)
    between = variance([fmean(each) for each in series])
    return sqrt((length - 1) / length + _ratio(between, within))


def convergence(taken: Sequence[Walk]) -> Convergence:
    """Return the estimate with its diagnostics."""
    accounts = {part.account for walk in taken for each in walk for part in each.parts}
    return Convergence(estimate(taken), geweke(taken), r_hat(taken), len(accounts))


def reservoir(trace: Trace, size: int, seed: int = 0, *, is_uniform: bool, jump: int = 0) -> list[tuple[int, float, str, int]]:
    """Return a sample of the steps without replacement in which all nodes have the same chance; it needs no state.

    Each step has a random number u, derived from the seed, and the steps with the largest u^(1/w) are in the sample (Efraimidis
    and Spirakis). With equal weights this is the plain reservoir. Further steps replace only a part of the sample.
    """

    def key(step: tuple[int, float, str, int]) -> float:
        digest = blake2b(f"{seed} {step[0]} {step[1]!r}".encode(), digest_size=8).digest()
        return log((int.from_bytes(digest) + 1) / (2**64 + 1)) / step_weight(step[3], jump, is_uniform=is_uniform)

    return nlargest(size, (step for step in trace if step[3] + jump > 0), key=key)


def t_quantile(freedom: int) -> float:
    """Return the two-sided 95 % quantile of Student's t (Cornish and Fisher's expansion, accurate from 3 on)."""
    if freedom < 3:
        return {1: 12.706, 2: 4.303}.get(freedom, inf)
    z, n = Z, float(freedom)
    return (
        z
        + (z**3 + z) / (4 * n)
        + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * n**2)
        + (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / (384 * n**3)
        + (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / (92160 * n**4)
    )


def _deviations(walk: Walk, middle: float) -> list[float]:
    """Return how far each step pulls the weighted mean away from `middle`."""
    return [each.weight * (each.value - middle) for each in walk]


def _ratio(difference: float, spread: float) -> float:
    if spread:
        return difference / spread
    return 0.0 if not difference else inf
