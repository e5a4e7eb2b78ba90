"""The page "Completeness": posts by day with what is missing, gaps of streams, and what services cut."""

from __future__ import annotations

from datetime import timedelta

import msgspec
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute, Route

from bowerbird.db.moment import one_moment
from bowerbird.reports.columns import Columns, Toned
from bowerbird.reports.completeness import (
    CAUSE_WORDS,
    DAY_COLUMNS,
    LOSS_COLUMNS,
    TOTAL_COLUMNS,
    Cause,
    View,
    read_completeness,
    read_losses,
    total_rows,
)
from bowerbird.reports.reader import Reader
from bowerbird.reports.status.health import Completeness
from bowerbird.reports.status.health import read_completeness as read_sample
from bowerbird.reports.status.left_out import read_left_out
from bowerbird.reports.status.streams import GapReport, gap_words, read_gaps, read_streams
from bowerbird.reports.status.summary import CrawlReport
from bowerbird.web.answers.kept import Kept
from bowerbird.web.answers.preparing import PreparedReport, Preparing
from bowerbird.web.errors import NotFound
from bowerbird.web.formats import in_path
from bowerbird.web.ranges import plotted
from bowerbird.web.security import Form, Role
from bowerbird.web.site import Site

MOST_DAYS = 366


def _gap_state(gap: GapReport) -> str:
    if gap.is_filled:
        return Toned("filled", "ok")
    if gap.asked_at:
        return "being filled"
    return "will be filled" if gap.can_be_filled else Toned("lost", "bad")


GAP_COLUMNS: Columns = {
    "stream": "name",
    "why": lambda gap: f"{gap_words(gap.cause)} ({gap.detail})" if gap.detail else gap_words(gap.cause),
    "from": "began_at",
    "until": "ended_at",
    "for": lambda gap: gap.ended_at and gap.ended_at - gap.began_at,
    "missing": "missing",
    "state": _gap_state,
}


def routes(site: Site) -> list[BaseRoute]:
    pages = _Pages(site)
    return [
        Route("/completeness", pages.index),
        Route("/completeness/{name}", pages.crawl),
        Route("/completeness/{name}/days.json", pages.days),
        Route("/completeness/{name}/refresh", site.acting(Role.READ, pages.refresh), methods=["POST"]),
    ]


class _Pages:
    def __init__(self, site: Site) -> None:
        self._site = site
        self._preparing = Preparing(site.database, site.clock)
        self._sample: Kept[Completeness] = Kept(site.clock, timedelta(minutes=1), self._read_sample)

    async def index(self, request: Request) -> Response:
        crawls = await self._site.reader.crawls()
        if len(crawls) == 1:
            return RedirectResponse(f"/completeness/{in_path(crawls[0].name)}", 303)
        return self._site.page(request, "completeness/index.html", title="Completeness", crawls=crawls)

    async def crawl(self, request: Request) -> Response:
        async with one_moment(self._site.database) as still, still.reading() as tx:
            crawl = await self._find_crawl(request, Reader(still))
            streams = [each for each in await read_streams(tx) if each.crawl == crawl.name]
            numbers = {each.stream for each in streams}
            gaps = [gap for gap in await read_gaps(tx) if gap.stream in numbers]
            losses = await read_losses(tx, crawl.crawl)
            left_out = await read_left_out(tx, crawl.name)
        prepared, report = await self._report(crawl.name)
        days = report["day"].lines if report else []
        return self._site.page(
            request,
            "completeness/crawl.html",
            title=f"Completeness of {crawl.name}",
            root=f"/completeness/{in_path(crawl.name)}",
            crawl=crawl,
            prepared=prepared,
            report=report,
            days=days,
            undated=next((day for day in days if day.subject == "undated"), None),
            last_days=[day for day in reversed(days) if day.captured or day.likely or day.deleted][:31],
            totals=[row for row in total_rows(report or {}) if row.view != "day"],
            requested=next((row.total for row in total_rows(report or {}) if (row.view, row.items) == ("user", "posts")), None),
            streams=streams,
            gaps=gaps,
            losses=losses,
            left_out=left_out,
            sample=await self._sample.get(""),
            columns={"total": TOTAL_COLUMNS, "day": DAY_COLUMNS, "gap": GAP_COLUMNS, "loss": LOSS_COLUMNS},
        )

    async def days(self, request: Request) -> Response:
        crawl = await self._find_crawl(request, self._site.reader)
        prepared, report = await self._report(crawl.name)
        days = [day for day in (report["day"].lines if report else ()) if day.subject != "undated"][-MOST_DAYS:]
        series = [{"label": "captured", "values": [day.captured for day in days]}]
        for cause in Cause:
            values = [day.of(cause) for day in days]
            series += [{"label": CAUSE_WORDS[cause], "values": values}] if any(values) else []
        plot = {
            "kind": "stacked",
            "x": "time",
            "x_label": "day on which posts were written (UTC)",
            "y_label": "posts per day",
            "unit": "posts",
            "step": 86_400,
            "xs": [f"{day.subject}T00:00:00+00:00" for day in days],
            "series": series,
            "as_of": prepared.made.made_at.isoformat() if prepared.made else None,
        }
        return plotted(request, plot, self._site.clock.now())

    async def refresh(self, request: Request, form: Form) -> Response:
        crawl = await self._find_crawl(request, self._site.reader)
        self._preparing.begin(f"completeness report of {crawl.name}", lambda: self._compute(crawl.name))
        return RedirectResponse(f"/completeness/{in_path(crawl.name)}", 303)

    async def _find_crawl(self, request: Request, reader: Reader) -> CrawlReport:
        name = request.path_params["name"]
        crawl = await reader.crawl(name)
        if crawl is None:
            raise NotFound(f"No crawl {name!r} in this store.", code="unknown_crawl")
        return crawl

    async def _report(self, name: str) -> tuple[PreparedReport, dict[str, View] | None]:
        """Return the report as it was last computed, at most an hour ago or being computed again."""
        title = f"completeness report of {name}"
        prepared = await self._preparing.fresh(title, lambda: self._compute(name), timedelta(hours=1))
        return prepared, msgspec.json.decode(prepared.made.document, type=dict[str, View]) if prepared.made else None

    async def _compute(self, name: str) -> str:
        """Of the only crawl of a store all posts count; of one of several, those that it brought first."""
        async with one_moment(self._site.database) as still:
            is_alone = len(await Reader(still).crawls()) == 1
            return msgspec.json.encode(await read_completeness(still, crawl=None if is_alone else name)).decode()

    async def _read_sample(self, about: str) -> Completeness:
        async with self._site.database.reading() as tx:
            return await read_sample(tx, self._site.database)
