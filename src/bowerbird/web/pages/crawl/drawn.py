"""The automaton of a crawl with its counts. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from markupsafe import Markup

from bowerbird.flows.drawing import Counted, as_counted_svg
from bowerbird.flows.flow import STREAM
from bowerbird.model import TaskState
from bowerbird.reports.working.frontier import Led
from bowerbird.web import formats
from bowerbird.web.pages.crawl.seen import Seen


def automaton(seen: Seen) -> Markup:
    """The drawing as markup: all texts in it are escaped where it is made."""
    counted = Counted(
        facets={use.name: list(_lines(seen, use.name)) for use in seen.flow.facets} | {STREAM: list(_stream_lines(seen))},
        edges={edge: _led(led, is_run=seen.is_run) for edge, led in seen.led.items()},
        states={use.name: _state(seen, use.name) for use in seen.flow.facets} | {STREAM: _stream_state(seen)},
        links={
            use.name: f"/work/calls?crawl={formats.in_path(seen.crawl.name)}&facet={formats.in_path(use.name)}"
            for use in seen.flow.facets
        },
    )
    return Markup(as_counted_svg(seen.flow, counted))  # noqa: S704 every text in it is escaped by its maker


def _lines(seen: Seen, facet: str) -> Iterator[str]:
    loads = [load for load in seen.loads if load.facet == facet]
    sign = "" if all(load.is_exact for load in loads) else "~"
    waiting, asleep = sum(load.waiting for load in loads), sum(load.states.get(TaskState.ASLEEP, 0) for load in loads)
    failed = sum(load.states.get(TaskState.FAILED, 0) for load in loads)
    yield f"{sign}{waiting:,} wait · {sign}{asleep:,} asleep"
    if failed:
        yield f"{sign}{failed:,} given up"
    pace = next((pace for pace in seen.paces if pace.facet == facet), None)
    if pace is not None and seen.is_run:
        yield f"{formats.number(round(pace.a_minute, 1))} items/min"


def _stream_lines(seen: Seen) -> Iterator[str]:
    yield f"{sum(stream.events for stream in seen.streams):,} heard"
    if gaps := sum(stream.open_gaps for stream in seen.streams):
        yield f"{gaps:,} open gaps"


def _led(led: Led, *, is_run: bool) -> str:
    late = f" · +{formats.number(round(led.a_minute, 1))}/min" if is_run and led.a_minute >= 0.05 else ""
    return f"{'' if led.is_exact else '~'}{led.targets:,}{late}"


def _state(seen: Seen, facet: str) -> str:
    if any(each.facet == facet for each in seen.left_out):
        return "left-out"
    is_asked = seen.is_run and any(pace.facet == facet and pace.calls_a_minute > 0 for pace in seen.paces)
    return "busy" if is_asked else "still"


def _stream_state(seen: Seen) -> str:
    return "busy" if seen.is_run and any(stream.live_since for stream in seen.streams) else "still"
