"""Figures of decisions held against the truth."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from bowerbird.community.membership import Verdict
from bowerbird.model.subjects.community import NO, UNDECIDED, YES

_BINS = (0.0, 0.02, 0.1, 0.3, 0.5, 0.7, 0.9, 1.0)


class Case(NamedTuple):
    """A decision about an account, and whether it is a member."""

    verdict: Verdict
    is_member: bool


def figures_of(cases: Sequence[Case]) -> dict[str, Any]:
    """Return shares, the Brier score, a reliability table, and the counts behind them."""
    counts = {
        f"{value} {who}": sum(each.verdict.value == value and each.is_member is belongs for each in cases)
        for value in (YES, NO, UNDECIDED)
        for who, belongs in (("member", True), ("other", False))
    }
    return {
        **shares_of(counts),
        "brier": round(sum((each.verdict.probability - each.is_member) ** 2 for each in cases) / max(1, len(cases)), 4),
        "counts": counts,
        "reliability": _reliability(cases),
    }


def shares_of(counts: Mapping[str, int]) -> dict[str, float | None]:
    """Return the shares that follow from counts; None where nothing was counted."""
    total = sum(counts.values())
    yes, no = counts["yes member"] + counts["yes other"], counts["no member"] + counts["no other"]
    undecided = counts["undecided member"] + counts["undecided other"]
    members = sum(count for name, count in counts.items() if name.endswith("member"))
    return {
        "decided": _share(yes + no, total),
        "precision_yes": _share(counts["yes member"], yes),
        "precision_no": _share(counts["no other"], no),
        "recall": _share(counts["yes member"], members),
        "members": _share(members, total),
        "members_of_undecided": _share(counts["undecided member"], undecided),
    }


def _reliability(cases: Sequence[Case]) -> list[dict[str, Any]]:
    """By probability: the number of accounts, their mean probability, and the share of members."""
    table = []
    for low, high in pairwise(_BINS):
        inside = [each for each in cases if low <= each.verdict.probability < high or (high == 1.0 == each.verdict.probability)]
        if inside:
            mean = sum(each.verdict.probability for each in inside) / len(inside)
            share = sum(each.is_member for each in inside) / len(inside)
            table.append(
                {"from": low, "to": high, "accounts": len(inside), "probability": round(mean, 4), "members": round(share, 4)}
            )
    return table


def _share(part: int, whole: int) -> float | None:
    return round(part / whole, 4) if whole else None
