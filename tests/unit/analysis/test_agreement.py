"""Agreement of several people beyond chance."""

from __future__ import annotations

from bowerbird.analysis.agreement import measure_agreement


def test_measure_agreement_uses_cohen_for_two_people_and_fleiss_for_more() -> None:
    two = [{"ana": one, "rui": other} for one, other in (("yes", "yes"), ("yes", "no"), ("no", "no"), ("no", "no"))]
    found = measure_agreement(two)
    assert found is not None
    assert (found.people, found.accounts, found.alike, found.kappa) == (2, 4, 0.75, 0.5)
    three = [each | {"eva": "no"} for each in two]
    found = measure_agreement(three)
    assert found is not None
    assert (found.people, found.alike, found.kappa) == (3, 0.6667, 0.1111)
    assert measure_agreement([{"ana": "yes"}]) is None
