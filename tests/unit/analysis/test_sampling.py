"""Estimates from walks, on samples whose truth is known."""

from __future__ import annotations

from math import inf
from random import Random
from statistics import fmean

import pytest

from bowerbird.analysis import sampling
from bowerbird.analysis.sampling import Estimate, Observation

DEGREES = [1, 1, 2, 2, 3, 5, 8, 20]


def stationary(steps: int, walkers: int, seed: int) -> list[list[Observation]]:
    """What independent walkers would see: nodes in proportion to their degree."""
    chance = Random(seed)
    drawn = [chance.choices(DEGREES, weights=DEGREES, k=steps) for _ in range(walkers)]
    return [[Observation(degree, 1 / degree) for degree in walk] for walk in drawn]


def test_mean_weights_correct_for_degree() -> None:
    exact = [[Observation(degree, 1 / degree) for degree in DEGREES for _ in range(degree)]]
    assert sampling.mean(exact) == pytest.approx(fmean(DEGREES))
    label = [[Observation(float(degree == 1), 1 / degree) for degree in DEGREES for _ in range(degree)]]
    assert sampling.mean(label) == pytest.approx(0.25)


def test_estimate_intervals_have_nominal_coverage() -> None:
    truth = fmean(DEGREES)
    many = [sampling.estimate(stationary(50, 20, seed)) for seed in range(200)]
    alone = [sampling.estimate(stationary(1000, 1, seed)) for seed in range(200)]
    for estimates in (many, alone):
        assert 0.9 <= sum(each.low <= truth <= each.high for each in estimates) / 200 <= 0.99


def test_estimate_single_sticky_walker_has_wider_interval() -> None:
    chance = Random(3)
    sticky = [Observation(value, 1.0) for _ in range(50) for value in [chance.random()] * 20]
    quick = [Observation(chance.random(), 1.0) for _ in range(1000)]
    assert sampling.estimate([sticky]).error > 3 * sampling.estimate([quick]).error


def staying(steps: int, seed: int) -> list[Observation]:
    """A lone walk that stays where it is with three in five of its steps: four of them tell as much as one."""
    chance, place, walk = Random(seed), 0, []
    for _ in range(steps):
        place = chance.choice(DEGREES) if not place or chance.random() < 0.4 else place
        walk.append(Observation(float(place), 1.0))
    return walk


def test_autocorrelation_time_matches_known_walk() -> None:
    assert fmean(sampling.autocorrelation_time(staying(1_000, seed)) for seed in range(20)) == pytest.approx(4, rel=0.15)
    assert fmean(sampling.autocorrelation_time(*stationary(1_000, 1, seed)) for seed in range(20)) == pytest.approx(1, rel=0.15)
    assert sampling.autocorrelation_time([Observation(3.0, 1.0)] * 10) == 1, "all alike: nothing to be seen"


def test_batches_are_fewer_for_correlated_steps() -> None:
    assert [len(sampling.batches(walk)) for walk in stationary(1_000, 1, 1)] == [sampling.MAX_BATCHES]
    assert sampling.MIN_BATCHES < len(sampling.batches(staying(400, 1))) < sampling.MAX_BATCHES
    assert len(sampling.batches(staying(60, 1))) == sampling.MIN_BATCHES
    assert [len(sampling.batches(staying(steps, 1))) for steps in (1, 3, 5)] == [1, 1, 2]


@pytest.mark.parametrize("steps", [80, 400])
def test_estimate_single_walker_intervals_have_coverage(steps: int) -> None:
    truth = fmean(DEGREES)
    estimates = [sampling.estimate([staying(steps, seed)]) for seed in range(200)]
    assert sum(each.low <= truth <= each.high for each in estimates) >= 0.9 * 200


def test_estimate_single_step_has_infinite_interval() -> None:
    assert sampling.estimate([[Observation(4.0, 0.25)]]) == Estimate(4.0, inf, -inf, inf)


def test_diagnostics_are_small_for_stationary_walks_only() -> None:
    resting = stationary(400, 20, 1)
    moving = [[Observation(number / 40 + seen.value, seen.weight) for number, seen in enumerate(walk)] for walk in resting]
    apart = [[Observation(seen.value + 10 * place, seen.weight) for seen in walk] for place, walk in enumerate(resting)]
    assert abs(sampling.geweke(resting)) < 1.96 < abs(sampling.geweke(moving))
    assert sampling.r_hat(resting) < 1.05 < sampling.r_hat(apart)


def test_is_reached_requires_all_diagnostics() -> None:
    resting = sampling.convergence(stationary(400, 20, 1))._replace(accounts=sampling.MIN_ACCOUNTS)
    assert resting.is_reached(half_width=1.0)
    assert not resting.is_reached(half_width=0.001)
    assert not resting._replace(geweke=2.5).is_reached(1.0)
    assert not resting._replace(r_hat=1.2).is_reached(1.0)
    assert not sampling.convergence([[Observation(1.0, 1.0)]]).is_reached(1.0)


def test_is_reached_requires_enough_accounts() -> None:
    def known(accounts: int) -> sampling.Convergence:
        trace = [(walker, float(step), f"n{step % accounts}", 4) for walker in range(20) for step in range(100)]
        return sampling.convergence(sampling.walks(trace, lambda node, degree: 15.0, is_uniform=False))

    assert known(1).estimate.half_width == 0
    assert known(1).accounts == 1
    assert not known(1).is_reached(half_width=1.0)
    assert known(60).is_reached(half_width=1.0)


@pytest.mark.parametrize(("accounts", "value"), [(each, value) for each in range(1, 60) for value in (0.0, 1.0)])
def test_share_interval_lies_in_range_and_contains_share(accounts: int, value: float) -> None:
    trace = [(walker, float(step), f"n{step % accounts}", 3 + step % accounts) for walker in range(7) for step in range(60)]
    found = sampling.estimate(sampling.walks(trace, lambda node, degree: value, is_uniform=False))
    assert 0.0 <= found.low <= found.value <= found.high <= 1.0
    assert value in (found.low, found.high)


def test_walks_are_ordered_by_own_clock() -> None:
    trace = [(2, 1.0, "c", 4), (1, 2.0, "b", 2), (1, 1.0, "a", 1), (1, 3.0, "gone", -1)]
    walks = sampling.walks(trace, lambda node, degree: degree, is_uniform=False)
    assert [[seen[:2] for seen in walk] for walk in walks] == [[(1, 1.0), (2, 0.5)], [(4, 0.25)]]
    alike = sampling.walks(trace, lambda node, degree: degree, is_uniform=True)[0]
    assert [seen[:2] for seen in alike] == [(1, 1.0), (2, 1.0)]


def test_without_burn_in_drops_first_steps() -> None:
    (walk,) = sampling.without_burn_in([[Observation(float(n), 1.0) for n in range(20)]])
    assert walk[0].value == 2


def test_until_slowest_walker_drops_later_steps() -> None:
    trace = [(1, 0.5, "a", 1), (1, 2.0, "b", 1), (2, 1.0, "c", 1)]
    assert sampling.until_slowest_walker(trace) == [(1, 0.5, "a", 1), (2, 1.0, "c", 1)]


def test_reservoir_is_uniform_in_any_order() -> None:
    trace = [(1, float(step), f"n{step}", 1) for step in range(20)]
    kept = [step[2] for seed in range(400) for step in sampling.reservoir(trace, 5, seed, is_uniform=True)]
    counts = [kept.count(f"n{step}") for step in range(20)]
    assert sum(counts) == 2000
    assert min(counts) > 60
    assert max(counts) < 145
    assert sampling.reservoir(trace[::-1], 5, 1, is_uniform=True) == sampling.reservoir(trace, 5, 1, is_uniform=True)


@pytest.mark.parametrize(("freedom", "quantile"), [(1, 12.706), (3, 3.182), (5, 2.571), (19, 2.093), (1000, 1.962)])
def test_t_quantile_is_accurate(freedom: int, quantile: float) -> None:
    assert sampling.t_quantile(freedom) == pytest.approx(quantile, abs=0.012)


def test_walks_drop_unknown_values() -> None:
    trace = [(1, 1.0, "a", 2), (1, 2.0, "b", 2)]
    assert [len(walk) for walk in sampling.walks(trace, lambda node, degree: None if node == "b" else 1.0, is_uniform=False)] == [
        1
    ]


def test_walks_neighbours_belong_to_step() -> None:
    (step,) = sampling.walks(
        [(1, 1.0, "a", 2)], lambda node, degree: degree, is_uniform=False, around=lambda node: [("b", 4), ("c", 4)]
    )[0]
    assert step.weight == pytest.approx((1 / 2 + 1 / 4 + 1 / 4) / 3)
    assert step.value == pytest.approx(3 / (1 / 2 + 1 / 4 + 1 / 4)), "the harmonic mean of the three degrees"


def test_walks_jump_counts_as_neighbours() -> None:
    walk = sampling.walks([(1, 1.0, "a", 0), (1, 2.0, "b", 10)], lambda node, degree: 1.0, is_uniform=False, jump=10)[0]
    assert [seen.weight for seen in walk] == [1 / 10, 1 / 20]


def test_estimate_shared_accounts_do_not_narrow_interval() -> None:
    """Twenty walkers over the same five accounts agree with each other, but five accounts are all that was seen."""
    trace = [(walker, float(clock), f"n{(walker + clock) % 5}", 1) for walker in range(20) for clock in range(50)]
    found = sampling.estimate(sampling.walks(trace, lambda node, degree: float(node == "n0"), is_uniform=False))
    assert found.value == pytest.approx(0.2)
    assert found.error == pytest.approx((0.2 * 0.8 / 5) ** 0.5)
    assert found.low < 0.06
    assert found.high > 0.6


def test_estimate_share_of_zero_has_upper_bound() -> None:
    trace = [(walker, float(clock), f"n{walker} {clock}", 1) for walker in range(4) for clock in range(25)]
    found = sampling.estimate(sampling.walks(trace, lambda node, degree: 0.0, is_uniform=False))
    assert (found.value, found.low) == (0.0, pytest.approx(0.0, abs=1e-9))
    assert 0.03 < found.high < 0.12


def test_until_slowest_walker_stops_at_first_pending_step() -> None:
    trace = [(1, 1.0, "a", 1), (1, 2.0, "b", 1), (1, 3.0, "c", 1), (2, 1.0, "d", 1)]
    assert [step[2] for step in sampling.until_slowest_walker(trace, [4.0, 2.0])] == ["a", "d"]


def test_until_slowest_walker_ignores_lost_walker() -> None:
    trace = [(walker, float(clock), "n", 1) for walker in (1, 2) for clock in range(40)] + [(3, 0.0, "n", 1)]
    assert len(sampling.until_slowest_walker(trace, [1.0, 40.0, 40.0])) == 81


def test_reservoir_weighted_is_uniform_over_accounts() -> None:
    chance = Random(3)
    trace = [(1, float(clock), *chance.choice([("popular", 9)] * 9 + [("plain", 1)])) for clock in range(4_000)]
    kept = [step[2] for step in sampling.reservoir(trace, 100, is_uniform=False)]
    assert 30 < kept.count("plain") < 70
