"""The rankers by name.

Every ranker, also those to come, fits `ports.Ranker` unchanged, because a task carries what its ranker needs to remember:

- `echo`: `visited` moves a priority of 1 to 100 up or down by `Visit.new`; `draws` asks for one band of priorities per class,
  longer lists for higher classes; freezing is a far `Standing.due`; the newest known post lies in `memory`.
- `repeat_first`: `visited` raises a target that showed another post into the upper band, where the earliest due goes first; in
  the lower band the priority is the time of arrival, newest first. `draws`: the upper band, then the lower.
- `index`: `memory` holds the rates `(a, b, E)`; `visited` updates them from `Visit.post_times` and the counters and computes when
  the value of a visit passes the going price: that is `due`; the value is the priority.
- `two_stage`: one such ranker for `profiles` (5 % of its `draws` from the band of the least recently checked) and one for
  `timeline`, whose `added` turns the waking edge into accumulated waiting.
- `mhrw`: `memory` holds the walker and the degree; `visited` accepts or rejects; the step is the target of highest priority.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import timedelta
from types import MappingProxyType
from typing import Any

from bowerbird.errors import UserError
from bowerbird.policies.rankers import Bfs, Circular, Fifo, Lifo, Random
from bowerbird.ports import Ranker

_MAKERS: Mapping[str, Callable[..., Ranker]] = {
    "fifo": Fifo,
    "lifo": Lifo,
    "bfs": Bfs,
    "circular": Circular,
    "random": Random,
}
_OPTIONS: Mapping[str, Mapping[str, type]] = {"random": {"seed": int}}

RANKERS: Mapping[str, frozenset[str]] = MappingProxyType({name: frozenset(_OPTIONS.get(name, ())) for name in _MAKERS})
"""Every ranker's name and the options it knows."""


def ranker(name: str, options: Mapping[str, Any] | None = None, revisit: timedelta | None = None) -> Ranker:
    """The ranker of that name; raises `UserError` for an unknown name or option."""
    if name not in _MAKERS:
        raise UserError(f"There is no ranker {name!r}; choose one of {', '.join(_MAKERS)}.")
    options = options or {}
    for option, value in options.items():
        _check_option(name, option, value)
    return _MAKERS[name](revisit=revisit, **options)


def _check_option(name: str, option: str, value: Any) -> None:
    kinds = _OPTIONS.get(name, {})
    if option not in kinds:
        raise UserError(f"The ranker {name!r} has no option {option!r}; it knows {', '.join(kinds) or 'none'}.")
    if not isinstance(value, kinds[option]) or isinstance(value, bool):
        raise UserError(f"The option {option!r} of the ranker {name!r} must be a whole number, not {value!r}.")
