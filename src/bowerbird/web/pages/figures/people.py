"""Accounts: maxima, minima and means of their counters, who has lists, followers against following; and where they are."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route

from bowerbird.reports.statistics.whole import Degree, read_accounts, read_map, read_totals
from bowerbird.web.pages.figures.shared import Figures, Plot, no_numbers

_CLASSES = ((1, 9), (10, 99), (100, 999), (1_000, None))


def routes(figures: Figures) -> list[BaseRoute]:
    database = figures.site.database

    async def accounts(request: Request) -> Response:
        async with database.reading() as tx:
            found, totals, progress = await read_accounts(tx, database), await read_totals(tx), await figures.progress(tx)
        values = {"found": found, "totals": totals}
        return figures.page(request, "figures/accounts.html", title="Accounts", progress=progress, **values)

    async def degrees(request: Request) -> JSONResponse:
        async with database.reading() as tx:
            found = await read_accounts(tx, database)
        if found is None:
            return no_numbers()
        # A scale of powers has no zero, so that everything is one more.
        cells = sorted(found.degrees, key=lambda each: (each.followers, each.following))
        series = {
            label: [cell.following + 1 if _is_in(cell, low, high) else None for cell in cells]
            for low, high in _CLASSES
            if any(_is_in(cell, low, high) for cell in cells)
            for label in [f"{low:,} to {high:,} accounts" if high else f"{low:,} accounts or more"]
        }
        plot = Plot("points", "following + 1", "following", found.as_of).log_y()
        return plot.over("log", "followers + 1", [cell.followers + 1 for cell in cells], series)

    async def where(request: Request) -> Response:
        async with database.reading() as tx:
            found, progress = await read_map(tx), await figures.progress(tx)
        return figures.page(request, "figures/map.html", title="Map", progress=progress, found=found)

    async def points(request: Request) -> JSONResponse:
        async with database.reading() as tx:
            found = await read_map(tx)
        cells = () if found is None else found.cells
        told = [
            {"lat": cell.latitude, "lon": cell.longitude, "count": cell.users + cell.posts,
             "label": f"{cell.users:,} accounts and {cell.posts:,} posts"}
            for cell in cells
        ]  # fmt: skip
        return JSONResponse({"points": told, "as_of": None if found is None else found.as_of.isoformat()})

    return [
        Route("/figures/accounts", accounts),
        Route("/figures/plots/degrees", degrees),
        Route("/figures/map", where),
        Route("/figures/plots/map", points),
    ]


def _is_in(cell: Degree, low: int, high: int | None) -> bool:
    return low <= cell.accounts and (high is None or cell.accounts <= high)
