"""How signs become a decision, and what is learned from decisions."""

from __future__ import annotations

from math import exp, log

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from bowerbird.community.countries import example
from bowerbird.community.membership import (
    Sign,
    decide,
    decision_chance,
    estimate_prior,
    logit,
    sigmoid,
    stored_signs,
)
from bowerbird.model.subjects.community import NO, UNDECIDED, YES

PORTUGAL = example("PT")
KINDS = ("place", "zone", "declared", "name", "flag", "written")
SIGNS = st.lists(st.builds(Sign, st.sampled_from(KINDS), st.floats(-5, 5), st.just("")), max_size=6)
PRIORS = st.floats(0.01, 0.8)


def test_probability_is_the_sum_and_the_prior() -> None:
    verdict = decide([Sign("place", 2.0, ""), Sign("zone", -0.5, "")], PORTUGAL, 0.15)
    assert verdict.log_odds == pytest.approx(1.5)
    assert verdict.probability == pytest.approx(1 / (1 + exp(-(1.5 + log(0.15 / 0.85)))))


def test_no_signs_give_the_prior() -> None:
    verdict = decide([], PORTUGAL, 0.15)
    assert verdict.value == UNDECIDED
    assert verdict.probability == pytest.approx(0.15)


@pytest.mark.parametrize(
    ("weight", "prior", "value"),
    [
        (3.0, 0.15, YES),
        (1.5, 0.15, UNDECIDED),
        (1.5, 0.5, YES),
        (0.1, 0.75, UNDECIDED),
        (-2.16, 0.15, NO),
        (-2.0, 0.15, UNDECIDED),
        (-3.8, 0.5, UNDECIDED),
        (-4.0, 0.5, NO),
    ],
)
def test_thresholds_depend_on_the_prior(weight: float, prior: float, value: str) -> None:
    assert decide([Sign("place", weight, "")], PORTUGAL, prior).value == value


@pytest.mark.parametrize(("weights", "prior"), [((2.0, -2.4), 0.8), ((2.4, -2.0), 0.01)])
def test_signs_that_together_oppose_the_prior_decide_nothing(weights: tuple[float, float], prior: float) -> None:
    signs = [Sign(kind, weight, "") for kind, weight in zip(("place", "zone"), weights, strict=True)]
    verdict = decide(signs, PORTUGAL, prior)
    assert verdict.value == UNDECIDED
    assert verdict.probability >= PORTUGAL.yes or verdict.probability <= 1 - PORTUGAL.no


@pytest.mark.parametrize("prior", [0.01, 0.8])
@pytest.mark.parametrize("weights", [(), (0.0,), (-0.18,), (0.2,), (0.2, -0.2)])
def test_prior_alone_never_decides(prior: float, weights: tuple[float, ...]) -> None:
    strict, lenient = PORTUGAL, structs.replace(PORTUGAL, yes=0.5, no=0.5)
    signs = [Sign("place", weight, "") for weight in weights]
    assert {decide(signs, each, prior).value for each in (strict, lenient)} == {UNDECIDED}


@given(st.floats(-10, 10), PRIORS)
def test_name_alone_never_decides_yes(weight: float, prior: float) -> None:
    assert decide([Sign("name", weight, "")], PORTUGAL, prior).value != YES


@given(SIGNS, st.floats(0, 5), PRIORS)
def test_evidence_for_never_lowers_the_probability(signs: list[Sign], weight: float, prior: float) -> None:
    before = decide(signs, PORTUGAL, prior).probability
    assert decide([*signs, Sign("words", weight, "")], PORTUGAL, prior).probability >= before


@given(SIGNS, PRIORS)
def test_sign_without_weight_changes_nothing(signs: list[Sign], prior: float) -> None:
    before, after = (decide(each, PORTUGAL, prior) for each in (signs, [*signs, Sign("words", 0.0, "")]))
    assert (before.value, before.probability) == (after.value, pytest.approx(after.probability))


@given(SIGNS, PRIORS)
def test_higher_prior_never_lowers_the_probability(signs: list[Sign], prior: float) -> None:
    low, high = (decide(signs, PORTUGAL, each).probability for each in (prior, min(0.8, prior * 1.2)))
    assert high >= low


def test_prior_is_the_fixed_point_of_expectation_maximisation() -> None:
    # Ten certain members and thirty certain others: (3 + 10) / (20 + 40).
    certain = [30.0] * 10 + [-30.0] * 30
    assert estimate_prior(certain) == pytest.approx(13 / 60, abs=1e-6)
    # Without evidence the estimate stays at the start: (3 + .15 n) / (20 + n) = .15.
    assert estimate_prior([0.0] * 50) == pytest.approx(0.15)
    assert estimate_prior([]) == pytest.approx(0.15)
    # One account with log odds 2: prior = (3 + sigmoid(2 + logit(prior))) / 21.
    prior = estimate_prior([2.0])
    assert prior == pytest.approx((3 + sigmoid(2 + logit(prior))) / 21, abs=1e-6)


def test_prior_stays_in_its_range() -> None:
    assert estimate_prior([30.0] * 10_000) == 0.8
    assert estimate_prior([-30.0] * 10_000) == 0.01


def test_next_request_is_worth_most_near_a_threshold() -> None:
    near_yes, middle, near_no = (decision_chance(each, 0.15, PORTUGAL, 1.5) for each in (2.3, 0.3, -1.9))
    assert near_yes > middle
    assert near_no > middle
    assert decision_chance(0.3, 0.15, PORTUGAL, 2.5) > middle


@given(st.floats(-60, 60), PRIORS, st.sampled_from([0.5, 0.9999999999]))
def test_chance_of_a_decision_is_known_for_every_threshold(log_odds: float, prior: float, threshold: float) -> None:
    community = structs.replace(PORTUGAL, yes=threshold, no=threshold)
    assert 0 <= decision_chance(log_odds, prior, community, 1.5) <= 2


def test_evidence_can_be_read_back() -> None:
    verdict = decide([Sign("place", 2.5, "Porto (PT)"), Sign("zone", -0.4, "London")], PORTUGAL, 0.2)
    signs = [Sign("place", 2.5, "Porto (PT)"), Sign("zone", -0.4, "London")]
    assert stored_signs({**verdict.evidence, "posts": 3}) == signs
    assert verdict.evidence["prior"] == 0.2
    assert verdict.evidence["probability"] == pytest.approx(verdict.probability, abs=1e-4)


def test_confidence_is_that_of_the_decision() -> None:
    assert decide([Sign("place", -3.0, "")], PORTUGAL, 0.15).confidence > 0.98
    assert decide([Sign("place", 3.0, "")], PORTUGAL, 0.15).confidence > 0.75
    strict = structs.replace(PORTUGAL, yes=0.99)
    undecided = decide([Sign("place", 3.0, "")], strict, 0.15)
    assert undecided.value == UNDECIDED
    assert undecided.confidence == undecided.probability
