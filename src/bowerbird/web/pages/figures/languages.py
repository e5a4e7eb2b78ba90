"""Languages by day, as posts say them."""

from __future__ import annotations

from datetime import timedelta

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route

from bowerbird.reports.statistics.series import read_languages
from bowerbird.web.pages.figures.shared import Figures, Plot, no_numbers
from bowerbird.web.ranges import range_of

_DAY = timedelta(days=1)


def routes(figures: Figures) -> list[BaseRoute]:
    async def index(request: Request) -> Response:
        async with figures.site.database.reading() as tx:
            found, progress = await read_languages(tx), await figures.progress(tx)
        every = [] if found is None else found[1]
        as_of = None if found is None else found[0].as_of
        values = {"every": every, "told": sum(n for _, n in every), "as_of": as_of}
        return figures.page(request, "figures/languages.html", title="Languages", progress=progress, **values)

    async def plot(request: Request) -> JSONResponse:
        async with figures.site.database.reading() as tx:
            found = await read_languages(tx)
        if found is None:
            return no_numbers()
        series = found[0]
        plot = Plot("stacked", "posts per day", "posts", series.as_of).within(range_of(request), figures.site.clock.now())
        return plot.of_posts(series.times, series.values, _DAY)

    return [Route("/figures/languages", index), Route("/figures/plots/languages", plot)]
