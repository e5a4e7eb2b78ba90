"""What a walk over a graph says about the graph: estimates, how sure they are, and whether to stop. Pure.

A random walk meets a node in proportion to its degree, so what it sees is weighted by one over the degree (Hansen and Hurwitz); a
Metropolis-Hastings walk meets all alike and weighs all alike. A neighbour drawn by lot is met as a next step would be, so what is
known of some neighbours (witnesses) belongs to the step. Steps of one walk resemble each other, so errors come from what differs
between walkers (jackknife), or for a lone walker between stretches of its walk that are long against how far its steps resemble
each other (batch means); and because walkers meet the same accounts, from what would change with each account, if that is more.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from hashlib import blake2b
from heapq import nlargest
from itertools import pairwise
from math import inf, log, sqrt
from statistics import fmean, median, variance
from typing import NamedTuple

Value = Callable[[str, int], float | None]
"""Of an account, by its key and its degree; None: nobody knows."""
Trace = Iterable[tuple[int, float, str, int]]
"""Steps in any order: the walker, its own clock, the node, the node's degree."""

FEWEST_ACCOUNTS = 30
"""Fewer tell nothing about how much accounts differ: those few may happen to be alike."""
FEWEST_BATCHES, MOST_BATCHES = 4, 20
_STRETCH = 10
"""How many times as long as steps resemble each other a batch must be for its mean to say little about the next one's."""
_Z = 1.959964


class Part(NamedTuple):
    """What one account contributes to a step."""

    account: str
    value: float
    weight: float


class Seen(NamedTuple):
    """One step as an estimate sees it."""

    value: float
    weight: float
    parts: tuple[Part, ...] = ()


Walk = Sequence[Seen]


class Estimate(NamedTuple):
    """A mean over all nodes, with the interval that holds it in 95 of 100 samples."""

    value: float
    error: float
    half_width: float
    shift: float = 0.0
    """How far the middle of the interval lies from the value: a share near none has more room above than below."""
    is_share: bool = False
    """Its interval lies between 0 and 1 and holds the value, which sums of rounded numbers miss by a hair."""

    @property
    def low(self) -> float:
        low = self.value + self.shift - self.half_width
        return min(max(low, 0.0), self.value) if self.is_share else low

    @property
    def high(self) -> float:
        high = self.value + self.shift + self.half_width
        return max(min(high, 1.0), self.value) if self.is_share else high


class Convergence(NamedTuple):
    """An estimate, the signs by which to stop, and how many accounts it rests on."""

    estimate: Estimate
    geweke: float
    """How far the beginning of the walks differs from their end, in standard errors."""
    r_hat: float
    """How much more the walkers differ from each other than from themselves; 1 is not at all."""
    accounts: int = 0

    def is_reached(self, half_width: float) -> bool:
        """Whether all three signs say that the estimate is as good as wanted, and enough accounts do."""
        is_settled = abs(self.geweke) < 1.96 and self.r_hat < 1.05
        return is_settled and self.estimate.half_width <= half_width and self.accounts >= FEWEST_ACCOUNTS


def walks(
    trace: Trace,
    value: Value,
    *,
    is_uniform: bool = False,
    jump: int = 0,
    around: Callable[[str], Iterable[tuple[str, int]]] = lambda node: (),
) -> list[list[Seen]]:
    """What is seen along each walk, in the order of its clock, without steps of which nothing is known.

    `is_uniform`: the walk meets all nodes alike; `jump`: how many neighbours its jumps count for; `around`: the witnesses of a
    node, with their degrees."""
    by_walker: defaultdict[int, list[tuple[float, Seen]]] = defaultdict(list)
    for walker, clock, node, degree in trace:
        met = [(node, degree), *around(node)]
        known = [(key, seen, each + jump) for key, each in met if (seen := value(key, each)) is not None and each + jump > 0]
        if known:
            parts = tuple(Part(key, seen, (1.0 if is_uniform else 1.0 / size) / len(known)) for key, seen, size in known)
            by_walker[walker].append((clock, _together(parts)))
    return [[seen for _, seen in sorted(steps)] for _, steps in sorted(by_walker.items())]


def _together(parts: tuple[Part, ...]) -> Seen:
    weights = sum(part.weight for part in parts)
    return Seen(sum(part.value * part.weight for part in parts) / weights, weights, parts)


def weight(degree: int, jump: int = 0, *, is_uniform: bool = False) -> float:
    """What one step counts for: the less, the more often the walk comes by."""
    return 1.0 if is_uniform else 1.0 / (degree + jump)


def up_to_the_slowest(trace: Trace, pending: Sequence[float] = ()) -> list[tuple[int, float, str, int]]:
    """The steps made before the clock of the slowest walker: walks are fair up to one time for all.

    Walkers pass through known nodes at once and wait at unknown ones, which have fewer neighbours; to count each walk up to where
    it waits would leave those out. `pending`: the clocks of the steps that are waited for; without them the last ones must do."""
    steps = list(trace)
    if pending:
        # A walker that is far behind all others is lost: its account could not be asked for.
        lost = median(pending) / 2
        next_step = min(clock for clock in pending if clock >= lost)
        return [step for step in steps if step[1] < next_step]
    last: defaultdict[int, float] = defaultdict(float)
    for walker, clock, _, _ in steps:
        last[walker] = max(last[walker], clock)
    end = min(last.values(), default=0.0)
    return [step for step in steps if step[1] <= end]


def without_start(taken: Sequence[Walk], share: float = 0.1) -> list[Walk]:
    """The walks without their first steps, which still tell where they began."""
    return [walk[int(len(walk) * share) :] for walk in taken]


def mean(taken: Iterable[Walk]) -> float:
    """Weighted mean over all steps: an estimate of the plain mean over all nodes."""
    total = weights = 0.0
    for walk in taken:
        for seen in walk:
            total += seen.value * seen.weight
            weights += seen.weight
    if not weights:
        raise ValueError("a mean needs at least one step")
    return total / weights


def estimate(taken: Sequence[Walk]) -> Estimate:
    """The mean with its error: by jackknife over walkers, for a lone one by batch means; or by accounts if they tell of more."""
    parts = [walk for walk in taken if walk]
    parts = batches(parts[0]) if len(parts) == 1 else parts
    found = jackknife(parts)
    if len(parts) < 2:
        return found
    accounts = _accounts(parts, found.value)
    error, quantile = max(found.error, accounts.error), t_quantile(len(parts) - 1)
    return (
        _share(found.value, error, quantile, accounts.size)
        if accounts.is_share
        else Estimate(found.value, error, quantile * error)
    )


class _Accounts(NamedTuple):
    """What an estimate depends on, account by account."""

    error: float
    """Of the weighted mean, as far as it depends on which accounts were met, each of them perhaps many times."""
    size: float
    """As many accounts of equal weight would tell as much (Kish)."""
    is_share: bool
    """Every account has the label or has it not."""


def _accounts(taken: Iterable[Walk], middle: float) -> _Accounts:
    pulls: defaultdict[str, float] = defaultdict(float)
    weights: defaultdict[str, float] = defaultdict(float)
    values: set[float] = set()
    for part in (part for walk in taken for seen in walk for part in seen.parts):
        pulls[part.account] += part.weight * (part.value - middle)
        weights[part.account] += part.weight
        if len(values) < 3:
            values.add(part.value)
    if not weights:
        return _Accounts(0.0, 0.0, is_share=False)
    total = sum(weights.values())
    size = total * total / sum(weight * weight for weight in weights.values())
    return _Accounts(sqrt(sum(pull * pull for pull in pulls.values())) / total, size, values <= {0.0, 1.0})


def _share(value: float, error: float, quantile: float, accounts: float) -> Estimate:
    """Wilson's interval for a share, which does not end at none because none was met."""
    size = min(value * (1 - value) / error**2, accounts) if error else accounts
    extra = quantile * quantile / size
    half_width = quantile / (1 + extra) * sqrt(value * (1 - value) / size + extra / (4 * size))
    return Estimate(value, error, half_width, (value + extra / 2) / (1 + extra) - value, is_share=True)


def jackknife(parts: Sequence[Walk]) -> Estimate:
    """The mean of all parts and the error that shows when each of them is left out in turn."""
    if len(parts) < 2:
        return Estimate(mean(parts), inf, inf)
    sums = [(sum(seen.value * seen.weight for seen in part), sum(seen.weight for seen in part)) for part in parts]
    total, weights = sum(each[0] for each in sums), sum(each[1] for each in sums)
    left_out = [(total - own) / (weights - weight) for own, weight in sums]
    count = len(parts)
    error = sqrt((count - 1) / count * sum((each - fmean(left_out)) ** 2 for each in left_out))
    return Estimate(total / weights, error, t_quantile(count - 1) * error)


def batches(walk: Walk) -> list[Walk]:
    """A walk in stretches of equal length, ten times as long as its steps resemble each other, or four where it is too short."""
    least = min(FEWEST_BATCHES, max(len(walk) // 2, 1))
    longest = len(walk) / (_STRETCH * least)
    count = min(max(int(len(walk) / (_STRETCH * resemblance(walk, longest))), least), MOST_BATCHES)
    ends = [len(walk) * number // count for number in range(count + 1)]
    return [walk[begin:end] for begin, end in pairwise(ends)]


def resemblance(walk: Walk, longest: float = inf) -> float:
    """As many steps of the walk say as much as one independent step (integrated autocorrelation time), up to `longest`.

    Correlations are added in pairs, each at most the one before, until a pair is not positive: what follows is noise (Geyer)."""
    # Takes longer to load than whoever only reads a store may wait.
    import numpy as np

    pulls = np.array(_deviations(walk, mean([walk]), 1.0))
    alone = float(pulls @ pulls)
    time, pair = -1.0, inf
    for lag in range(0, len(pulls) - 1 if alone else 0, 2):
        both = float(pulls[: len(pulls) - lag] @ pulls[lag:] + pulls[: len(pulls) - lag - 1] @ pulls[lag + 1 :]) / alone
        pair = min(pair, both)
        if pair <= 0 or time >= longest:
            break
        time += 2 * pair
    return max(time, 1.0)


def geweke(taken: Sequence[Walk], first: float = 0.1, last: float = 0.5) -> float:
    """Difference between the first tenth and the last half of the walks, in standard errors."""
    begins = [walk[: int(len(walk) * first)] for walk in taken]
    ends = [walk[int(len(walk) * (1 - last)) :] for walk in taken]
    if not any(begins) or not any(ends):
        return inf
    early, late = estimate(begins), estimate(ends)
    spread = sqrt(early.error**2 + late.error**2)
    return _ratio(early.value - late.value, spread) if spread < inf else inf


def r_hat(taken: Sequence[Walk]) -> float:
    """Gelman and Rubin: how much the walkers' means differ, against the spread within each."""
    if len(taken) == 1:
        middle = len(taken[0]) // 2
        taken = [taken[0][:middle], taken[0][middle:]]
    length = min(map(len, taken), default=0)
    if length < 2:
        return inf
    series = [_deviations(walk[-length:], mean(taken), _mean_weight(taken)) for walk in taken]
    within = fmean(variance(each) for each in series)
    between = variance([fmean(each) for each in series])
    return sqrt((length - 1) / length + _ratio(between, within)) if between or within else 1.0


def convergence(taken: Sequence[Walk]) -> Convergence:
    accounts = {part.account for walk in taken for seen in walk for part in seen.parts}
    return Convergence(estimate(taken), geweke(taken), r_hat(taken), len(accounts))


def reservoir(
    trace: Trace, size: int, seed: int = 0, *, is_uniform: bool = True, jump: int = 0
) -> list[tuple[int, float, str, int]]:
    """A sample of the steps without replacement in which all nodes count alike, and which needs no state of its own.

    Each step has a lot u, and those with the largest u^(1/w) are kept (Efraimidis and Spirakis): where all weigh the same this is
    the plain reservoir. More steps replace some of the sample and leave the rest."""

    def key(step: tuple[int, float, str, int]) -> float:
        digest = blake2b(f"{seed} {step[0]} {step[1]!r}".encode(), digest_size=8).digest()
        return log((int.from_bytes(digest) + 1) / (2**64 + 1)) / weight(step[3], jump, is_uniform=is_uniform)

    return nlargest(size, (step for step in trace if step[3] + jump > 0), key=key)


def t_quantile(freedom: int) -> float:
    """The two-sided 95 % quantile of Student's t (Cornish and Fisher's expansion; exact enough from 3 on)."""
    if freedom < 3:
        return {1: 12.706, 2: 4.303}.get(freedom, inf)
    z, n = _Z, float(freedom)
    return (
        z
        + (z**3 + z) / (4 * n)
        + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * n**2)
        + (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / (384 * n**3)
        + (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / (92160 * n**4)
    )


def _deviations(walk: Walk, middle: float, mean_weight: float) -> list[float]:
    """How each step pulls the weighted mean away from `middle`."""
    return [seen.weight * (seen.value - middle) / mean_weight for seen in walk]


def _mean_weight(taken: Sequence[Walk]) -> float:
    return fmean(seen.weight for walk in taken for seen in walk)


def _ratio(difference: float, spread: float) -> float:
    if spread:
        return difference / spread
    return 0.0 if not difference else inf
