"""Posts over time: by hour, day and month, as they were written and as they were stored; their rhythm; what they are made of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route

from bowerbird.errors import UserError
from bowerbird.reports.counting.by_time import Unit
from bowerbird.reports.statistics.series import Series, peak, read_volumes, read_week
from bowerbird.reports.statistics.whole import read_totals
from bowerbird.web.pages.figures.shared import Figures, Plot, no_numbers
from bowerbird.web.ranges import range_of

STORED = "stored"
_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_SHADES = 9
_FEW, _MANY = 5, 800
_SHORT = ("hour", "day")
_STEPS = {Unit.HOUR: timedelta(hours=1), Unit.DAY: timedelta(days=1), Unit.MONTH: timedelta(days=30)}


def routes(figures: Figures) -> list[BaseRoute]:
    async def index(request: Request) -> Response:
        async with figures.site.database.reading() as tx:
            unit = unit_of(request) or (
                Unit.HOUR if range_of(request).span in _SHORT else fitting(await read_volumes(tx, Unit.DAY))
            )
            volumes = await read_volumes(tx, unit)
            totals, week, progress = await read_totals(tx), await read_week(tx), await figures.progress(tx)
        return figures.page(
            request,
            "figures/index.html",
            title="Figures",
            progress=progress,
            unit=unit,
            units=[(each.value, f"/figures?unit={each}", each is unit) for each in Unit],
            totals=totals,
            stored=None if volumes is None else peak(volumes, STORED),
            week=None if week is None else shaded(week[0]),
        )

    async def plot(request: Request) -> JSONResponse:
        unit = unit_of(request) or Unit.DAY
        async with figures.site.database.reading() as tx:
            series = await read_volumes(tx, unit)
        if series is None:
            return no_numbers()
        times, told = series.times, series.values
        if request.path_params["what"] == STORED:
            times, told = _since_first(times, series.values.get(STORED, []))
        else:
            told = {name: values for name, values in told.items() if name != STORED}
        plot = Plot("stacked", f"posts per {unit}", "posts", series.as_of).within(range_of(request), figures.site.clock.now())
        return plot.of_posts(times, told, _STEPS[unit])

    return [Route("/figures", index), Route("/figures/plots/volumes/{what}", plot)]


def _since_first(times: Sequence[datetime], stored: Sequence[int]) -> tuple[Sequence[datetime], Mapping[str, Sequence[int]]]:
    """What was stored, from when the first post was: posts may be years older than the crawl that found them."""
    first = next((at for at, count in enumerate(stored) if count), 0)
    return times[first:], {"stored": stored[first:]}


def unit_of(request: Request) -> Unit | None:
    named = request.query_params.get("unit", "")
    if not named:
        return None
    try:
        return Unit(named)
    except ValueError as error:
        raise UserError(f"{named[:40]!r} is no unit of time", f"there are {', '.join(Unit)}", code="unknown_name") from error


def fitting(days: Series | None) -> Unit:
    """Hours for a few days, days for two years, months for more."""
    if days is None:
        return Unit.DAY
    span = len(days.times)
    return Unit.HOUR if span <= _FEW else Unit.DAY if span <= _MANY else Unit.MONTH


def shaded(week: list[list[int]]) -> list[tuple[str, list[tuple[int, int]]]]:
    """By day of the week the posts of each hour, and how dark they are shown, from 0 to 9."""
    most = max(map(max, week)) or 1
    return [(name, [(n, -(-n * _SHADES // most)) for n in hours]) for name, hours in zip(_DAYS, week, strict=True)]
