"""How long a crawl will take, as far as its last minutes tell. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta

from msgspec import Struct

from bowerbird.flows.flow import Flow, Size
from bowerbird.reports.status.time_left import never_ends, time_to_stop
from bowerbird.reports.working.frontier import LaneLoad
from bowerbird.reports.working.paces import Pace

_FAR = timedelta(days=3650)


class TimeLeft(Struct, frozen=True, kw_only=True):
    """When a crawl will end."""

    least: timedelta | None
    """At the present pace at least so long; None: it has no end, or nothing moves."""
    goes_on: bool
    """Its targets come round again: only a stop condition or a person ends it."""
    by_facet: Mapping[str, timedelta | None]
    """What waits in each facet; None: nothing of it was asked of late."""
    because: str
    """What ends it, or keeps it from ending."""


def time_left(flow: Flow, loads: Sequence[LaneLoad], paces: Sequence[Pace], size: Size, *, listens: bool = False) -> TimeLeft:
    """At the pace that is given: lists that turn out longer, and targets found on the way, take more."""
    by_facet = _waits(loads, paces)
    rates = sum(pace.calls_a_minute for pace in paces) / 60, sum(pace.a_minute for pace in paces) / 60
    stop, goes_on = time_to_stop(flow.stop, size, rates), never_ends(flow) or listens
    known = [each for each in by_facet.values() if each is not None]
    backlog = None if len(known) < len(by_facet) else max(known, default=timedelta(0))
    if stop is not None and (goes_on or backlog is None or stop < backlog):
        return TimeLeft(least=stop, goes_on=goes_on, by_facet=by_facet, because="then it ends as its file says")
    if goes_on:
        return TimeLeft(least=None, goes_on=True, by_facet=by_facet, because="it comes round again until it is stopped")
    because = "what waits now is asked by then" if backlog is not None else "some facets with waiting targets stand still"
    return TimeLeft(least=backlog, goes_on=False, by_facet=by_facet, because=because)


def _waits(loads: Sequence[LaneLoad], paces: Sequence[Pace]) -> dict[str, timedelta | None]:
    speed = {pace.facet: pace.objects_a_minute for pace in paces}
    waiting: dict[str, int] = {}
    for load in loads:
        waiting[load.facet] = waiting.get(load.facet, 0) + load.waiting
    return {
        facet: min(timedelta(minutes=count / speed[facet]), _FAR) if speed.get(facet) else None
        for facet, count in waiting.items()
        if count
    }
