"""How far off are the samples of each method, for the same calls, and do their intervals hold what they promise?

Every run is a crawl of a simulated Twitter (lists of up to 5,000 ids per call) by the real engine in virtual time. A world of its
own for every run, the same for all methods; all start from the same account. Truth is the mean over the accounts that can be
reached at all: open ones, connected with the start by others.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import sqrt
from statistics import fmean
from typing import Any

from msgspec import Struct

from bowerbird.evaluate.sampling.runs import FIGURES, METHODS, Found, Scene, run_method

__all__ = ["METHODS", "Size", "evaluate_sampling"]

STAGES = (0.25, 0.5, 1.0)
"""Parts of the calls after which each sample is looked at."""
_APART = 10_000
"""Between seeds, so that no two of them share a world."""

Say = Callable[[str], None]


class Size(Struct, frozen=True):
    """How much is tried."""

    runs: int = 40
    calls: int = 600
    accounts: int = 5_000
    seed: int = 1


def evaluate_sampling(size: Size, methods: Sequence[str] = METHODS, say: Say = lambda line: None) -> dict[str, Any]:
    """One object per method, and how many calls `rwrw` needs for the error of `mhrw`."""
    budgets = [max(round(size.calls * part), 1) for part in STAGES]
    found: dict[str, list[list[Found]]] = {method: [] for method in methods}
    for run in range(size.runs):
        scene = Scene(accounts=size.accounts, seed=size.seed * _APART + run, budgets=tuple(budgets))
        for method in methods:
            found[method].append(run_method(method, scene))
        say(f"run {run + 1} of {size.runs}: " + ", ".join(_last(method, found[method][-1][-1]) for method in methods))
    figures = {method: _object(runs, budgets) for method, runs in found.items()}
    ratio = {"rwrw_calls_for_error_of_mhrw": _relative(figures)} if {"rwrw", "mhrw"} <= figures.keys() else {}
    return {**figures, **ratio, "runs": size.runs, "accounts": size.accounts}


def _last(method: str, found: Found) -> str:
    return f"{method} {found.relative('degree'):+.1%}"


def _object(runs: Sequence[Sequence[Found]], budgets: Sequence[int]) -> dict[str, Any]:
    last = [stages[-1] for stages in runs]
    held = {name: fmean(found.holds(name) for found in last) for name in FIGURES}
    stages = [
        {"calls": calls, **{f"{name}_error": _error([stages[number] for stages in runs], name) for name in FIGURES}}
        for number, calls in enumerate(budgets)
    ]
    return {
        "error": stages[-1]["degree_error"],
        "label_error": stages[-1]["label_error"],
        "calls": round(fmean(found.calls for found in last)),
        "coverage": fmean(held.values()),
        "degree_coverage": held["degree"],
        "label_coverage": held["label"],
        "steps": round(fmean(found.steps for found in last)),
        "stages": stages,
    }


def _error(found: Sequence[Found], name: str) -> float:
    """Root of the mean squared relative error."""
    return sqrt(fmean(each.relative(name) ** 2 for each in found))


def _relative(figures: dict[str, Any]) -> dict[str, float]:
    """Calls of `rwrw` for each call of `mhrw` at equal error; errors of both are taken to fall with the root of the calls."""
    return {name: (_level(figures["rwrw"], name) / _level(figures["mhrw"], name)) ** 2 for name in FIGURES}


def _level(figures: dict[str, Any], name: str) -> float:
    """The error after one call, if it fell like that from the first: the mean over the stages."""
    return fmean(stage[f"{name}_error"] * sqrt(stage["calls"]) for stage in figures["stages"])
