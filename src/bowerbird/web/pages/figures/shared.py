"""What all pages of figures share: how far the counting is, new numbers on demand, and numbers for plots."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.routing import BaseRoute, Route

from bowerbird.clock import EPOCH
from bowerbird.modules.statistics.work import ask_anew
from bowerbird.ports import Transaction
from bowerbird.reports.statistics.documents import Progress, read_progress
from bowerbird.web.ranges import Range, chosen
from bowerbird.web.security import Form, Role
from bowerbird.web.site import Site

TABS = (
    ("Posts over time", "/figures"),
    ("Top lists", "/figures/top"),
    ("Influence", "/figures/influence"),
    ("Accounts", "/figures/accounts"),
    ("Languages", "/figures/languages"),
    ("Map", "/figures/map"),
    ("Friends", "/figures/friends"),
    ("Around an account", "/figures/around"),
    ("Words", "/figures/words"),
)
_READ_AT_ONCE = ("/figures/around", "/figures/words")
"""What does not come from the prepared numbers."""


class Figures:
    """The site, and what its pages of figures have in common."""

    def __init__(self, site: Site) -> None:
        self.site = site

    def routes(self) -> list[BaseRoute]:
        self.site.live.add("statistics", self._progress)
        return [Route("/figures/refresh", self.site.acting(Role.READ, self._refresh), methods=["POST"])]

    async def progress(self, tx: Transaction) -> Progress:
        """How far the counting is; a page reads it together with its numbers."""
        return await read_progress(tx, self.site.clock)

    def page(self, request: Request, template: str, *, title: str, progress: Progress, **values: Any) -> HTMLResponse:
        """A page with the tabs of this area and the state of the counting."""
        here = _tab_of(request.url.path)
        values |= {"tabs": [(label, path, path == here) for label, path in TABS], "is_prepared": here not in _READ_AT_ONCE}
        return self.site.page(request, template, title=title, progress=progress, **values)

    def name_of(self, request: Request) -> str:
        """Who asks, as it is written down."""
        person = self.site.guard.person(request)
        return person.name if person is not None else "somebody"

    async def _progress(self, argument: str) -> str:
        async with self.site.database.reading() as tx:
            progress = await self.progress(tx)
        return self.site.fragment("figures/progress.html", progress=progress)

    async def _refresh(self, request: Request, form: Form) -> Response:
        async def ask() -> None:
            async with self.site.database.transaction() as tx:
                await ask_anew(tx, self.site.clock.now())

        # Several may ask at once: that is no quarrel.
        await self.site.act(request, "refresh statistics", f"for {self.name_of(request)}", ask)
        self.site.keeper.stir()
        return back(str(form.get("back") or "/figures"))


def back(path: str) -> RedirectResponse:
    """To a page of this area; anything else leads to its first page."""
    return RedirectResponse(path if path == "/figures" or path.startswith("/figures/") else "/figures", 303)


def _tab_of(path: str) -> str:
    found = [tab for _, tab in TABS if path == tab or path.startswith(f"{tab}/")]
    return max(found, key=len, default="")


class Plot:
    """Numbers as plots take them."""

    def __init__(self, kind: str, y_label: str, unit: str, as_of: datetime | None) -> None:
        self._told: dict[str, Any] = {"kind": kind, "y_label": y_label, "unit": unit, "series": []}
        if as_of is not None:
            self._told["as_of"] = as_of.isoformat()
        self._wanted, self._now = Range(), as_of or EPOCH

    def within(self, wanted: Range, now: datetime) -> Plot:
        """The same, of a stretch of time alone."""
        self._wanted, self._now = wanted, now
        return self

    def over_time(self, times: Sequence[datetime], series: Mapping[str, Sequence[float | None]]) -> JSONResponse:
        self._told |= {"x": "time", "x_label": "Time (UTC)", "xs": [at.isoformat() for at in times]}
        return self._with(series)

    def of_posts(self, times: Sequence[datetime], series: Mapping[str, Sequence[float]], step: timedelta) -> JSONResponse:
        """Counts over time from where most of them are; `step`: between two times."""
        first = bulk([sum(counts) for counts in zip(*series.values(), strict=True)]) if self._wanted.is_all else 0
        self._told["step"] = step.total_seconds()
        if first:
            self._told["note"] = f"the earliest posts, from {times[0]:%Y-%m-%d} on, are left out: at most 2 % of all"
        return self.over_time(times[first:], {name: values[first:] for name, values in series.items()})

    def over(self, x: str, x_label: str, xs: Sequence[Any], series: Mapping[str, Sequence[float | None]]) -> JSONResponse:
        self._told |= {"x": x, "x_label": x_label, "xs": list(xs)}
        return self._with(series)

    def log_y(self) -> Plot:
        self._told["y"] = "log"
        return self

    def _with(self, series: Mapping[str, Sequence[float | None]]) -> JSONResponse:
        self._told["series"] = [{"label": label, "values": list(values)} for label, values in series.items()]
        return JSONResponse(chosen(self._told, self._wanted, self._now))


def bulk(counts: Sequence[float]) -> int:
    """Where a plot over time begins: the first fiftieth is left out if that saves a third of the width at least. Somebody's
    posts of years ago would push all others to the edge."""
    left, edge = 0.0, sum(counts) / 50
    for place, count in enumerate(counts):
        left += count
        if left > edge:
            return place if 3 * place >= len(counts) else 0
    return 0


def no_numbers() -> JSONResponse:
    """What a plot is given before anything was counted."""
    return JSONResponse({"kind": "lines", "x": "number", "xs": [], "series": []})
