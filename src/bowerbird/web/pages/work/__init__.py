"""Workers and services: who works, the last calls, how long things take, what went wrong, and the modules with their runs."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from functools import cached_property
from typing import Any
from urllib.parse import urlencode

from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute, Route

from bowerbird.db.moment import one_moment
from bowerbird.errors import UserError
from bowerbird.modules.running.found import KnownModules
from bowerbird.ports import Database, Module
from bowerbird.reports.modules import ModuleState, average, read_history, read_module_states
from bowerbird.reports.reader import Reader
from bowerbird.reports.sheets.names import asked_by, read_names
from bowerbird.reports.working.calls import CallFilter, read_calls
from bowerbird.reports.working.errors import ErrorFilter, ErrorSums, read_error_sums, read_errors
from bowerbird.reports.working.services import read_services
from bowerbird.reports.working.spans import STEPS, FirstPosts, Spans, read_first_posts, read_spans
from bowerbird.reports.working.workers import read_workers
from bowerbird.web.answers.kept import Kept
from bowerbird.web.formats import in_path
from bowerbird.web.pages.work.runs import Runs
from bowerbird.web.ranges import plotted
from bowerbird.web.security import Form, Role
from bowerbird.web.site import Site

_PARTS = {"": "Workers", "calls": "Calls", "timings": "Timings", "errors": "Errors", "modules": "Modules"}
_EVERYTHING = "all"


def routes(site: Site) -> list[BaseRoute]:
    pages = _Pages(site)
    site.live.add("workers", pages.live_workers)
    site.live.add("calls", pages.live_calls)
    return [
        Route("/work", pages.workers),
        Route("/work/calls", pages.calls),
        Route("/work/timings", pages.timings),
        Route("/work/errors", pages.errors),
        Route("/work/errors.json", pages.error_numbers),
        Route("/work/modules", pages.modules),
        Route("/work/modules/{crawl}/{module}", pages.history),
        Route("/work/modules/{crawl}/{module}/run", site.acting(Role.STEER, pages.run), methods=["POST"]),
    ]


class _Pages:
    def __init__(self, site: Site) -> None:
        self._site = site
        self._runs = Runs(site.database, site.clock)
        self._who: Kept[dict[str, Any]] = Kept(site.clock, timedelta(seconds=1), self._read_workers)
        self._newest: Kept[dict[str, Any]] = Kept(site.clock, timedelta(seconds=1), self._read_newest)
        self._module_states: Kept[dict[str, list[ModuleState]]] = Kept(site.clock, timedelta(seconds=2), self._read_module_states)
        self._spans: Kept[Spans] = Kept(site.clock, timedelta(seconds=5), self._read_spans)
        self._first: Kept[FirstPosts] = Kept(site.clock, timedelta(minutes=10), self._read_first)
        self._sums: Kept[ErrorSums] = Kept(site.clock, timedelta(seconds=5), self._read_sums)

    def _page(self, request: Request, part: str, template: str = "", **values: Any) -> Response:
        tabs = [(label, f"/work/{key}" if key else "/work", key == part) for key, label in _PARTS.items()]
        return self._site.page(
            request, f"work/{template or part or 'workers'}.html", title="Workers and services", tabs=tabs, **values
        )

    @cached_property
    def _known(self) -> Mapping[str, Module]:
        """Looked for once: going through all installed packages takes longer than a page may."""
        return dict(KnownModules())

    async def _read_workers(self, about: str) -> dict[str, Any]:
        now = self._site.clock.now()
        async with self._site.database.reading() as tx:
            return {"workers": await read_workers(tx, now), "services": await read_services(tx), "at": now}

    async def workers(self, request: Request) -> Response:
        return self._page(request, "", **(await self._who.at_once(_EVERYTHING)).value)

    async def live_workers(self, argument: str) -> str:
        return self._site.fragment("work/who.html", **(await self._who.get(_EVERYTHING)).value)

    async def calls(self, request: Request) -> Response:
        asked = request.query_params
        before = _number(asked.get("before", ""))
        async with one_moment(self._site.database) as still:
            crawls = {crawl.name: crawl.crawl for crawl in await Reader(still).crawls()}
            wanted = CallFilter(
                facet=asked.get("facet", ""),
                outcome=asked.get("outcome", ""),
                worker=_number(asked.get("worker", "")),
                target=asked.get("target", "")[:200],
                crawl=_crawl_of(crawls, asked.get("crawl", "")),
            )
            is_all = wanted == CallFilter() and before is None
            shown = {} if is_all else await self._read_page(still, wanted, before)
        shown = shown or (await self._newest.at_once(_EVERYTHING)).value
        values = {"wanted": wanted, "crawl": asked.get("crawl", ""), "crawls": list(crawls), "is_all": is_all, **shown}
        return self._page(request, "calls", next=_next(request, shown["page"].before), **values)

    async def _read_page(self, database: Database, wanted: CallFilter, before: int | None = None) -> dict[str, Any]:
        async with database.reading() as tx:
            page = await read_calls(tx, wanted, before)
            asked = [each for line in page.lines for each in asked_by(line.service, line.facet, line.targets)]
            names = await read_names(database, tx, asked)
        return {"page": page, "names": names, "at": self._site.clock.now()}

    async def _read_newest(self, about: str) -> dict[str, Any]:
        shown = await self._read_page(self._site.database, CallFilter())
        # Written once for all who look: it takes longer than reading them.
        return {**shown, "rows": Markup(self._site.fragment("work/call_rows.html", **shown))}  # noqa: S704 - a template's

    async def live_calls(self, argument: str) -> str:
        return str((await self._newest.get(_EVERYTHING)).value["rows"])

    async def _read_spans(self, about: str) -> Spans:
        async with self._site.database.reading() as tx:
            return await read_spans(tx)

    async def _read_first(self, about: str) -> FirstPosts:
        async with self._site.database.reading() as tx:
            return await read_first_posts(self._site.database, tx)

    async def timings(self, request: Request) -> Response:
        kept, first = await self._spans.at_once(_EVERYTHING), await self._first.at_once(_EVERYTHING)
        shown: dict[str, Any] = {"spans": kept.value, "first": first.value, "first_at": first.at}
        return self._page(request, "timings", steps=STEPS, at=kept.at, **shown)

    async def _read_sums(self, about: str) -> ErrorSums:
        async with self._site.database.reading() as tx:
            return await read_error_sums(tx)

    async def errors(self, request: Request) -> Response:
        asked = request.query_params
        wanted = ErrorFilter(
            words=asked.get("q", "")[:200],
            kind=asked.get("kind", ""),
            part=asked.get("part", ""),
            worker=_number(asked.get("worker", "")),
        )
        async with self._site.database.reading() as tx:
            page = await read_errors(tx, wanted, _number(asked.get("before", "")))
        kept = await self._sums.at_once(_EVERYTHING)
        return self._page(
            request, "errors", page=page, wanted=wanted, sums=kept.value, next=_next(request, page.before), at=kept.at
        )

    async def error_numbers(self, request: Request) -> Response:
        kept = await self._sums.at_once(_EVERYTHING)
        sums = kept.value
        return plotted(
            request,
            {
                "kind": "bars",
                "x": "time",
                "x_label": "hour (UTC)",
                "y_label": "errors per hour",
                "unit": "errors",
                "step": 3_600,
                "xs": [hour.isoformat() for hour in sums.hours],
                "series": [{"label": kind, "values": [each.get(kind, 0) for each in sums.hours.values()]} for kind in sums.kinds],
                "as_of": kept.at.isoformat(),
            },
            self._site.clock.now(),
        )

    async def _read_module_states(self, about: str) -> dict[str, list[ModuleState]]:
        by_crawl: dict[str, list[ModuleState]] = {}
        async with self._site.database.reading() as tx:
            for each in await read_module_states(tx, self._known, None):
                by_crawl.setdefault(each.crawl, []).append(each)
        return by_crawl

    async def modules(self, request: Request) -> Response:
        kept = await self._module_states.get(_EVERYTHING)
        return self._page(request, "modules", crawls=kept.value, runs=self._runs, at=kept.at)

    async def history(self, request: Request) -> Response:
        crawl, module = request.path_params["crawl"], request.path_params["module"]
        async with self._site.database.reading() as tx:
            runs = await read_history(tx, crawl, module, 100)
        about = self._known[module].about if module in self._known else ""
        shown = {"crawl": crawl, "module": module, "about": about, "history": runs, "average": average(runs)}
        return self._page(request, "modules", "history", runs=self._runs, **shown)

    async def run(self, request: Request, form: Form) -> Response:
        crawl, module = request.path_params["crawl"], request.path_params["module"]

        async def begin() -> None:
            self._runs.begin(crawl, module)

        await self._site.act(request, "run module", f"{module} of {crawl}", begin)
        return RedirectResponse(f"/work/modules/{in_path(crawl)}/{in_path(module)}", 303)


def _crawl_of(crawls: Mapping[str, int], name: str) -> int | None:
    """The number of a crawl; raises `UserError` for what is none of the store."""
    if name and name not in crawls:
        raise UserError(f"there is no crawl {name[:80]!r} in this store", code="unknown_crawl")
    return crawls[name] if name else None


def _number(text: str) -> int | None:
    """What stands for nobody and nothing is nothing; raises `UserError` for what is no number."""
    if not text:
        return None
    if not text.isdecimal() or len(text) > 18:
        raise UserError(f"{text[:40]!r} is no number")
    return int(text)


def _next(request: Request, before: int | None) -> str | None:
    if before is None:
        return None
    kept = [(name, value) for name, value in request.query_params.multi_items() if name != "before" and value]
    return f"{request.url.path}?{urlencode([*kept, ('before', before)])}"
