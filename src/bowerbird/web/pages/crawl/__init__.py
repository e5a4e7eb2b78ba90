"""Crawl: its automaton with live counts, what each facet brings, limits, the frontier, the last messages, the plan."""

from __future__ import annotations

from datetime import timedelta
from itertools import accumulate, pairwise
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import BaseRoute, Route

from bowerbird.crawl.process.workers.running import living
from bowerbird.db.moment import one_moment
from bowerbird.reports.reader import Reader
from bowerbird.reports.sheets.names import asked_by, read_names
from bowerbird.reports.status.summary import CrawlReport
from bowerbird.reports.subjects import subject_of
from bowerbird.reports.working.frontier import AGES, read_next
from bowerbird.reports.working.messages import read_messages
from bowerbird.web.answers.kept import Kept
from bowerbird.web.answers.preparing import Preparing
from bowerbird.web.formats import in_path
from bowerbird.web.pages.crawl.drawn import automaton
from bowerbird.web.pages.crawl.limits import Limits, read_limits
from bowerbird.web.pages.crawl.planned import COUNTS, Foreseen, between, compared, foresee
from bowerbird.web.pages.crawl.seen import Crawls, Seen
from bowerbird.web.ranges import plotted
from bowerbird.web.security import Form, Role
from bowerbird.web.site import Site

_PARTS = {"": "Now", "limits": "Limits", "frontier": "Frontier", "messages": "Messages", "plan": "Plan"}
_ECHO = {100: "100", 81: "81 to 99", 61: "61 to 80", 41: "41 to 60", 21: "21 to 40", 1: "1 to 20", 0: "frozen"}
"""TwitterEcho's classes of priority, by their lowest level; lists have fewer."""


def routes(site: Site) -> list[BaseRoute]:
    pages = _Pages(site)
    site.live.add("crawl", pages.live_now)
    site.live.add("limits", pages.live_limits)
    site.live.add("messages", pages.live_messages)
    root = "/crawls/{name}"
    return [
        Route("/crawls", pages.index),
        Route(root, pages.now),
        Route(f"{root}/pace.json", pages.pace),
        Route(f"{root}/limits", pages.limits),
        Route(f"{root}/frontier", pages.frontier),
        Route(f"{root}/messages", pages.messages),
        Route(f"{root}/plan", pages.plan),
        Route(f"{root}/plan.json", pages.plan_numbers),
        Route(f"{root}/plan", site.acting(Role.STEER, pages.make_plan), methods=["POST"]),
    ]


class _Pages:
    def __init__(self, site: Site) -> None:
        self._site = site
        self._crawls = Crawls(site)
        self._messages: Kept[dict[str, Any]] = Kept(site.clock, timedelta(seconds=1), self._read_messages)
        self._preparing = Preparing(site.database, site.clock)

    async def index(self, request: Request) -> Response:
        async with one_moment(self._site.database) as still, still.reading() as tx:
            crawls = await Reader(still).crawls()
            run = {member.crawl for member in await living(tx, None, self._site.clock.now())}
        if len(crawls) == 1:
            return RedirectResponse(f"/crawls/{in_path(crawls[0].name)}", 303)
        return self._site.page(request, "crawl/index.html", title="Crawl", crawls=crawls, run=run)

    def _page(self, request: Request, part: str, seen: Any = None, **values: Any) -> Response:
        name = request.path_params["name"]
        root = f"/crawls/{in_path(name)}"
        tabs = [(label, f"{root}/{key}" if key else root, key == part) for key, label in _PARTS.items()]
        template = f"crawl/{part or 'crawl'}.html"
        return self._site.page(request, template, title=f"Crawl {name}", name=name, root=root, tabs=tabs, seen=seen, **values)

    async def _seen(self, name: str) -> Seen:
        return (await self._crawls.seen.get(name)).value

    async def now(self, request: Request) -> Response:
        seen = (await self._crawls.seen.at_once(request.path_params["name"])).value
        return self._page(request, "", seen, drawing=automaton(seen))

    async def live_now(self, name: str) -> str:
        seen = await self._seen(name)
        return self._site.fragment("crawl/now.html", seen=seen, drawing=automaton(seen), root=f"/crawls/{in_path(name)}")

    async def pace(self, request: Request) -> Response:
        kept = await self._crawls.course.at_once(request.path_params["name"])
        course = kept.value
        totals = {facet: sum(rates) for facet, rates in course.rates.items()}
        series = [{"label": each, "values": course.rates[each]} for each in sorted(totals, key=lambda facet: -totals[facet])]
        return plotted(
            request,
            {
                "kind": "lines",
                "x": "time",
                "x_label": "time (UTC)",
                "y_label": "items per minute",
                "unit": "items/min",
                "place": "middle",
                **({"step": 60} if len(course.at) == 1 else {}),
                "xs": [at.isoformat() for at in course.at],
                "series": series,
                "as_of": kept.at.isoformat(),
            },
            self._site.clock.now(),
        )

    async def _read_limits(self, name: str) -> Limits:
        # Of seconds ago: which services a crawl asks hardly changes.
        services = await self._crawls.services(name)
        async with one_moment(self._site.database) as still, still.reading() as tx:
            await self._crawls.crawl(name, Reader(still))
            return await read_limits(tx, name, services, self._site.clock.now())

    async def limits(self, request: Request) -> Response:
        return self._page(request, "limits", limits=await self._read_limits(request.path_params["name"]))

    async def live_limits(self, name: str) -> str:
        return self._site.fragment("crawl/windows.html", limits=await self._read_limits(name))

    async def frontier(self, request: Request) -> Response:
        loads = await self._crawls.loads(request.path_params["name"])
        async with self._site.database.reading() as tx:
            first = {load.lane: await read_next(tx, load.lane, 5) for load in loads if load.waiting}
            asked = [(load.service, subject_of(load.facet), task.target) for load in loads for task in first.get(load.lane, ())]
            names = await read_names(self._site.database, tx, asked)
        several = len({load.service for load in loads}) > 1
        values = {"ages": list(AGES), "classes": _ECHO, "several": several, "names": names, "at": self._site.clock.now()}
        return self._page(request, "frontier", loads=loads, first=first, **values)

    async def _read_messages(self, name: str) -> dict[str, Any]:
        async with one_moment(self._site.database) as still, still.reading() as tx:
            messages = await read_messages(tx, (await self._crawls.crawl(name, Reader(still))).crawl)
            asked = [
                each for lines in messages.values() for line in lines for each in asked_by(line.service, line.facet, line.targets)
            ]
            names = await read_names(still, tx, asked)
        return {"messages": messages, "names": names, "crawl": name, "at": self._site.clock.now()}

    async def messages(self, request: Request) -> Response:
        return self._page(request, "messages", **(await self._messages.at_once(request.path_params["name"])).value)

    async def live_messages(self, name: str) -> str:
        return self._site.fragment("crawl/lines.html", **(await self._messages.get(name)).value)

    async def plan(self, request: Request) -> Response:
        name = request.path_params["name"]
        seen, prepared = await self._seen(name), await self._preparing.report(f"plan of {name}")
        foreseen = msgspec.json.decode(prepared.made.document, type=Foreseen) if prepared.made else None
        crawl = seen.crawl
        actual = {what: getattr(crawl, what) for what in COUNTS}
        lines = compared(foreseen, seen.ran, actual) if foreseen else []
        return self._page(request, "plan", seen, prepared=prepared, foreseen=foreseen, lines=lines)

    async def plan_numbers(self, request: Request) -> Response:
        """Items over the time that the crawl was run: three rehearsals and what happened."""
        name = request.path_params["name"]
        seen, prepared = await self._seen(name), await self._preparing.report(f"plan of {name}")
        hours = max(seen.ran / timedelta(hours=1), 0.25)
        times = [hours * 1.5 * step / 30 for step in range(31)]
        series: list[dict[str, Any]] = []
        if prepared.made:
            foreseen = msgspec.json.decode(prepared.made.document, type=Foreseen)
            rows = [foreseen.at("items", at) for at in times]
            names = ("planned, quiet world", "planned, usual world", "planned, busy world")
            series = [{"label": label, "values": [row[world] for row in rows]} for world, label in enumerate(names)]
        done = await self._happened(seen.crawl, times, hours)
        return JSONResponse(
            {
                "kind": "lines",
                "x": "number",
                "x_label": "hours run",
                "y_label": "items",
                "unit": "items",
                "xs": [round(at, 3) for at in times],
                "series": [*series, {"label": "happened", "values": done}],
                "as_of": seen.now.isoformat(),
            }
        )

    async def _happened(self, crawl: CrawlReport, times: list[float], ran: float) -> list[float | None]:
        """Items in all by the hours run, as if it had been run without a break."""
        course, items = (await self._crawls.course.get(crawl.name)).value, crawl.items
        if len(course.at) < 2:
            return [items if at >= ran else None for at in times]
        rates = [sum(values) for values in zip(*course.rates.values(), strict=True)]
        spans = [(after - at).total_seconds() for at, after in pairwise(course.at)]
        sums = [0.0, *accumulate(rate * span for rate, span in zip(rates, spans, strict=False))]
        places = [0.0, *accumulate(spans)]
        scale, stretch = items / (sums[-1] or 1.0), places[-1] / ran
        return [round(between(places, sums, at * stretch) * scale) if at <= ran * 1.0001 else None for at in times]

    async def make_plan(self, request: Request, form: Form) -> Response:
        name = (await self._crawls.crawl(request.path_params["name"])).name

        async def begin() -> bool:
            return self._preparing.begin(f"plan of {name}", lambda: foresee(self._site, name))

        await self._site.act(request, "plan", name, begin)
        return RedirectResponse(f"/crawls/{in_path(name)}/plan", 303)
