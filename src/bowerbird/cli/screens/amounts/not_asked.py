"""What a crawl leaves out, on the screens of `status` and `completeness`."""

from __future__ import annotations

from collections.abc import Sequence

from bowerbird.cli.screens.amounts import numbers
from bowerbird.cli.screens.output import Output
from bowerbird.reports.status.left_out import NotAsked


def show_left_out(output: Output, found: Sequence[NotAsked]) -> None:
    """One line for each facet that is not asked, with the reason, and one with what to do."""
    if not found:
        return
    output.line("left out", style="bold")
    for each in found:
        output.line(f"  {each.facet} of {each.service}: {each.why}{_concerned(each)}")
        if each.advice:
            output.line(f"    {each.advice}; the next start of {each.crawl} then asks for all of it")
    output.line()


def _concerned(each: NotAsked) -> str:
    return f"; {numbers.many(each.targets, 'target')} {'waits' if each.targets == 1 else 'wait'} for it" if each.targets else ""
