"""How a sample is shown: its figures with their intervals, and the three signs that tell whether to go on."""

from __future__ import annotations

from typing import Any

import msgspec

from bowerbird.cli.screens.amounts import numbers
from bowerbird.cli.screens.output import Output
from bowerbird.reports.studies.sample import LEAST_KNOWN, Figure, Sample

_LEGEND = "settled: Geweke |z| below 1.96 and R̂ below 1.05; degree: how many accounts the lists of an account name"
_TOO_FEW = "too few steps yet"


def show_sample(output: Output, sample: Sample) -> None:
    """One line per figure."""
    people = f"{numbers.many(sample.walkers, 'walker')} over {numbers.many(len(sample.accounts), 'account')}"
    known = f"{numbers.many(len(sample.trace), 'step')} of {people}"
    output.line(f"sample of {sample.service} (by {sample.method}): {known}", style="bold")
    figures = [figure for figure in sample.figures if figure.value is not None]
    if figures:
        columns = ("  figure", "estimate", "95 % interval", "Geweke |z|", "R̂", "known", "good enough")
        output.table("", columns, [_row(figure) for figure in figures])
        output.line(f"  {_LEGEND}")
    output.line()


def figure_values(sample: Sample) -> dict[str, Any]:
    """The same for machines."""
    return {
        "crawl": sample.crawl,
        "service": sample.service,
        "method": sample.method,
        "walkers": sample.walkers,
        "steps": len(sample.trace),
        "accounts": len(sample.accounts),
        "estimates": msgspec.to_builtins(sample.figures),
    }


def _row(figure: Figure) -> tuple[str, ...]:
    span = f"{_short(figure.low)} to {_short(figure.high)}" if figure.low is not None else "too early to say"
    sign = abs(figure.geweke) if figure.geweke is not None else None
    signs = (_short(sign) or _TOO_FEW, _short(figure.r_hat))
    return (f"  {figure.name}", _short(figure.value), span, *signs, f"{figure.known:.0%}", _enough(figure))


def _enough(figure: Figure) -> str:
    if figure.wanted is None or figure.is_reached:
        return "" if figure.wanted is None else "yes"
    if figure.known < LEAST_KNOWN:
        return f"no, must be known for {LEAST_KNOWN:.0%}"
    return f"no, wanted ± {_short(figure.wanted)}"


def _short(value: float | None) -> str:
    return "" if value is None else f"{value:.4g}"
