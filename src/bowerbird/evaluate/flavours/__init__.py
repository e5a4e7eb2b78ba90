"""Every built-in flow against every flavour of every dialect, compared with the truth.

`lost`: what a server lists to a patient visitor (public, by somebody who may be collected, living at the end) behind a target
whose listing the crawl says it has read to its end, that the store does not have and that completeness does not account for; an
account that gives protection or deletion as the reason does not count, for it is neither. Of a stream that was opened: every post
it told. `erased`: posts and accounts that live and everybody may read, taken for gone. `leaked`: tokens that a host saw and that
are another's; the vault of every crawl holds the tokens of two servers. `silent`: crawls that brought nothing and ended as if
all were well. Seeds count whether their listing ended or not, unless the crawl failed and said so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import msgspec

from bowerbird.evaluate.flavours.running import Result, run_scene
from bowerbird.evaluate.flavours.scenes import Scene, all_scenes
from bowerbird.planning.pools import process_pool

__all__ = ["FIGURES", "Result", "Scene", "all_scenes", "evaluate_flavours", "run_scene"]

FIGURES = ("lost", "erased", "leaked", "silent")
Say = Callable[[str], None]


def evaluate_flavours(only: Sequence[str] = (), flows: Sequence[str] = (), *, jobs: int = 1, say: Say = print) -> dict[str, Any]:
    """Runs the matrix, or the part of it with these flavours and flows; the figures, and one row for each crawl."""
    rows = []
    for result in _results(all_scenes(only, flows), jobs):
        rows.append(result)
        wrong = [f"{getattr(result, name)} {name}" for name in FIGURES if getattr(result, name)]
        say(f"{result.flow} on {result.flavour}: {result.state}, {', '.join(wrong) or 'nothing wrong'}")
    whole = {name: sum(getattr(row, name) for row in rows) for name in FIGURES}
    return {**whole, "crawls": len(rows), "is_clean": not any(whole.values()), "rows": [msgspec.to_builtins(row) for row in rows]}


def _results(scenes: Sequence[Scene], jobs: int) -> Iterator[Result]:
    if jobs == 1:
        yield from map(run_scene, scenes)
        return
    with process_pool(jobs) as pool:
        yield from pool.map(run_scene, scenes)
