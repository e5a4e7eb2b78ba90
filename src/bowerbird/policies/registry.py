"""The rankers by name, made for the place they work at."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import timedelta
from types import MappingProxyType
from typing import Any

from msgspec import Struct

from bowerbird.errors import UserError
from bowerbird.model import Facet
from bowerbird.policies.by_value.index import Index
from bowerbird.policies.by_value.two_stage import Fetch, Lookup
from bowerbird.policies.echo import LINK_CLASSES, LOOKUP_CLASSES, Echo
from bowerbird.policies.focus import Focus
from bowerbird.policies.graph_walks.starts import Start
from bowerbird.policies.graph_walks.walks import FrontierSampling, Mhrw, Rwrw, Ways
from bowerbird.policies.oldest_first import OldestFirst
from bowerbird.policies.rankers import Bfs, Circular, Fifo, Gather, Lifo, MostNamed, Random
from bowerbird.policies.repeat_first import RepeatFirst
from bowerbird.ports import Ranker

_PAGE = 20


class RankerSetting(Struct, frozen=True):
    """Where a ranker works: the facet, and the lanes of the same flow and service that use a ranker of this name."""

    facet: Facet | None = None
    lanes: tuple[int, ...] = ()
    ranker: str = ""
    seeds: tuple[str, ...] = ()
    """Where walks may begin and jump to."""
    other_seeds: int = 0
    """How many seeds there are whose keys are not known yet."""
    lookup: int | None = None
    """The lane of the same flow and service that looks up many accounts at once."""
    max_pages: int | None = None
    """How many calls one listing may take; None: to its end."""

    @property
    def is_one_sided_walk(self) -> bool:
        """Whether a walk here sees one side of each relation only: whom an account follows, or who follows it."""
        return self.ranker in WALKS and len(self.lanes) < 2 and self.facet is not None and self.facet.side is not None


def is_batched_lookup(facet: Facet) -> bool:
    return facet.is_lookup and facet.objects_per_call > 1


Maker = Callable[[timedelta | None, RankerSetting, dict[str, Any]], Ranker]


def _plain(kind: Callable[..., Ranker]) -> Maker:
    return lambda revisit, setting, options: kind(revisit=revisit, **options)


def _walk(kind: type[Rwrw]) -> Maker:
    return lambda revisit, setting, options: _walking(kind, setting, **options)


def _walking(kind: type[Rwrw], setting: RankerSetting, walkers: int | None = None, seed: int = 0, jump: int = 0) -> Ranker:
    if setting.is_one_sided_walk and kind is Mhrw:
        raise UserError(
            "The ranker 'mhrw' needs both lists, `following` and `followers`",
            "along one use 'rwrw' or 'frontier'.",
            code="unsupported",
        )
    if jump and not setting.seeds:
        raise UserError(
            "Walkers jump to seeds", "write some by their ids (handles will not do), or set jump = 0.", code="missing_value"
        )
    start = Start(walkers or kind.walkers, setting.seeds, setting.other_seeds, seed=seed)
    is_told = setting.facet is not None and setting.facet.tells_counters
    shows = kind is not Mhrw and (is_told or setting.lookup is not None)
    ways = Ways(setting.lanes, setting.is_one_sided_walk, shows, None if is_told or not shows else setting.lookup)
    return kind(ways, start, jump=jump, seed=seed)


def _echo(revisit: timedelta | None, setting: RankerSetting, options: dict[str, Any]) -> Ranker:
    is_links = setting.facet is not None and setting.facet.side is not None
    return Echo(revisit, classes=LINK_CLASSES if is_links else LOOKUP_CLASSES, **options)


def _index(revisit: timedelta | None, setting: RankerSetting, options: dict[str, Any]) -> Ranker:
    facet = setting.facet
    if facet is None:
        return Index(revisit, page=_PAGE)
    # A profile shows the newest post at best, however many profiles a call asks for.
    return Index(revisit, page=1 if facet.is_lookup else facet.results_per_call)


def _two_stage(revisit: timedelta | None, setting: RankerSetting, options: dict[str, Any]) -> Ranker:
    facet = setting.facet
    if facet is not None and facet.is_lookup:
        return Lookup(revisit)
    return Fetch(revisit, reach=_reach(facet, setting.max_pages) if facet else None)


def _reach(facet: Facet, max_pages: int | None) -> int | None:
    """How many of an account's newest posts can be had: as many as the service shows, and as the flow's pages hold."""
    shown = [facet.total_results] if facet.total_results is not None else []
    return min([*shown, *([max_pages * facet.results_per_call] if max_pages else [])], default=None)


def _focus(revisit: timedelta | None, setting: RankerSetting, options: dict[str, Any]) -> Ranker:
    told = dict(options)
    members = told.pop("members", "two_stage")
    return Focus(_MAKERS[members](revisit, setting, {}), comes_back=revisit is not None, **told)


_MAKERS: Mapping[str, Maker] = {
    "fifo": _plain(Fifo),
    "lifo": _plain(Lifo),
    "bfs": _plain(Bfs),
    "circular": _plain(Circular),
    "random": _plain(Random),
    "most_named": _plain(MostNamed),
    "gather": _plain(Gather),
    "echo": _echo,
    "repeat_first": _plain(RepeatFirst),
    "oldest_first": _plain(OldestFirst),
    "index": _index,
    "two_stage": _two_stage,
    "focus": _focus,
    "mhrw": _walk(Mhrw),
    "rwrw": _walk(Rwrw),
    "frontier": _walk(FrontierSampling),
}
_HOURS = ("night_from", "night_to", "thaw_from", "thaw_to")
"""Options that are hours of the day."""
_WALK = frozenset({"walkers", "seed", "jump"})
_OPTIONS: Mapping[str, frozenset[str]] = {
    "gather": frozenset({"minutes"}),
    "random": frozenset({"seed"}),
    "echo": frozenset({"up", "down", "grace_hours", "utc_offset", "frozen_days", *_HOURS}),
    "focus": frozenset({"candidates", "random", "members"}),
    "repeat_first": frozenset({"rest_hours"}),
    "mhrw": frozenset({"walkers", "seed"}),
    "rwrw": _WALK,
    "frontier": _WALK,
}

RANKERS: Mapping[str, frozenset[str]] = MappingProxyType({name: _OPTIONS.get(name, frozenset()) for name in _MAKERS})
"""Every ranker's name and the options it knows."""


WALKS = frozenset(name for name, options in RANKERS.items() if "walkers" in options)
"""Those that walk from account to account."""


def ranker(
    name: str, options: Mapping[str, Any] | None = None, revisit: timedelta | None = None, setting: RankerSetting | None = None
) -> Ranker:
    """The ranker of that name; raises `UserError` for an unknown name or option."""
    if name not in _MAKERS:
        raise UserError(f"There is no ranker {name!r}", f"choose one of {', '.join(_MAKERS)}.", code="unknown_name")
    options = dict(options or {})
    for option, value in options.items():
        _check_option(name, option, value)
    return _MAKERS[name](revisit, setting or RankerSetting(), options)


_LEAST = {
    "walkers": 1, "minutes": 1, "up": 1, "down": 1, "jump": 0, "rest_hours": 0, "frozen_days": 1, "candidates": 0, "random": 0,
}  # fmt: skip
_ALL = 100
_FOR_MEMBERS = ("two_stage", "echo")


def _check_option(name: str, option: str, value: Any) -> None:
    if option not in RANKERS[name]:
        raise UserError(
            f"The ranker {name!r} has no option {option!r}",
            f"it knows {', '.join(sorted(RANKERS[name])) or 'none'}.",
            code="unknown_name",
        )
    if option == "members":
        if value not in _FOR_MEMBERS:
            raise UserError(f"The option 'members' of the ranker 'focus' must be {' or '.join(_FOR_MEMBERS)}, not {value!r}.")
        return
    if not isinstance(value, int) or isinstance(value, bool):
        raise UserError(f"The option {option!r} of the ranker {name!r} must be a whole number, not {value!r}.")
    least = _LEAST.get(option)
    if option in _HOURS and not 0 <= value <= 24:
        raise UserError(f"The option {option!r} of the ranker {name!r} must be an hour from 0 to 24, not {value}.")
    if least is not None and value < least:
        raise UserError(f"The option {option!r} of the ranker {name!r} must be at least {least}, not {value}.")
    if name == "focus" and value > _ALL:
        raise UserError(f"The option {option!r} of the ranker 'focus' is of a hundred: at most {_ALL}, not {value}.")
