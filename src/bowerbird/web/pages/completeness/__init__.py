"""Completeness: by day with causes, gaps of streams, what was lost by caps."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute, Route

from bowerbird.db.moment import one_moment
from bowerbird.reports.completeness.daily import Sums, read_daily
from bowerbird.reports.completeness.entries import CAUSE_WORDS, Cause
from bowerbird.reports.completeness.lost import read_lost
from bowerbird.reports.reader import Reader
from bowerbird.reports.status.health import Completeness, read_completeness
from bowerbird.reports.status.left_out import read_left_out
from bowerbird.reports.status.streams import gap_words, read_gaps, read_streams
from bowerbird.reports.status.summary import CrawlReport
from bowerbird.web.answers.kept import Kept
from bowerbird.web.answers.preparing import PreparedReport, Preparing
from bowerbird.web.errors import NotFound
from bowerbird.web.formats import in_path
from bowerbird.web.ranges import plotted
from bowerbird.web.security import Form, Role
from bowerbird.web.site import Site

_LASTS = timedelta(hours=1)
_LISTED_LASTS = timedelta(minutes=1)
_MOST_DAYS = 366
_VIEWS = {
    "user": ("accounts", "posts and lists of every account that is wanted"),
    "query": ("queries", "searches and hashtags"),
    "stream": ("streams", "what streams should have brought"),
    "id": ("lists of ids", "posts that were asked for by id"),
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
        self._listed: Kept[Completeness] = Kept(site.clock, _LISTED_LASTS, self._read_listed)

    async def index(self, request: Request) -> Response:
        crawls = await self._site.reader.crawls()
        if len(crawls) == 1:
            return RedirectResponse(f"/completeness/{in_path(crawls[0].name)}", 303)
        return self._site.page(request, "completeness/index.html", title="Completeness", crawls=crawls)

    async def _crawl(self, name: str, reader: Reader | None = None) -> CrawlReport:
        crawl = await (reader or self._site.reader).crawl(name)
        if crawl is None:
            raise NotFound(f"there is no crawl {name!r} in this store", code="unknown_crawl")
        return crawl

    async def _read_listed(self, about: str) -> Completeness:
        async with self._site.database.reading() as tx:
            return await read_completeness(tx, self._site.database)

    async def _make(self, name: str) -> str:
        """Of the only crawl of a store all posts count; of one of several, those that it was the first to bring."""
        async with one_moment(self._site.database) as still:
            is_alone = len(await Reader(still).crawls()) == 1
            return msgspec.json.encode(await read_daily(still, None if is_alone else name)).decode()

    async def _prepared(self, name: str) -> tuple[PreparedReport, Sums | None]:
        prepared = await self._preparing.fresh(f"completeness of {name}", lambda: self._make(name), _LASTS)
        return prepared, msgspec.json.decode(prepared.made.document, type=Sums) if prepared.made else None

    async def crawl(self, request: Request) -> Response:
        name = request.path_params["name"]
        async with one_moment(self._site.database) as still, still.reading() as tx:
            crawl = await self._crawl(name, Reader(still))
            streams = [each for each in await read_streams(tx) if each.crawl == crawl.name]
            own = {each.stream for each in streams}
            values: dict[str, Any] = {
                "streams": streams,
                "gaps": [gap for gap in await read_gaps(tx) if gap.stream in own],
                "lost": await read_lost(tx, crawl.crawl),
                "left_out": await read_left_out(tx, crawl.name),
            }
        # These two are older, and their times are shown with them.
        prepared, sums = await self._prepared(crawl.name)
        values["listed"] = await self._listed.get("")
        words: dict[str, Any] = {"causes": CAUSE_WORDS, "views": _VIEWS, "gap_words": gap_words}
        title = f"Completeness of {crawl.name}"
        root = f"/completeness/{in_path(crawl.name)}"
        return self._site.page(
            request,
            "completeness/crawl.html",
            title=title,
            crawl=crawl,
            prepared=prepared,
            sums=sums,
            root=root,
            **values,
            **words,
        )

    async def days(self, request: Request) -> Response:
        crawl = await self._crawl(request.path_params["name"])
        prepared, sums = await self._prepared(crawl.name)
        dated = [line for line in sums.days if line.day != "undated"][-_MOST_DAYS:] if sums else []
        causes = [cause for cause in Cause if any(line.causes.get(cause) for line in dated)]
        series = [{"label": "captured", "values": [line.captured for line in dated]}]
        series += [{"label": CAUSE_WORDS[cause], "values": [line.causes.get(cause, 0) for line in dated]} for cause in causes]
        return plotted(
            request,
            {
                "kind": "stacked",
                "x": "time",
                "x_label": "day on which posts were written (UTC)",
                "y_label": "posts per day",
                "unit": "posts",
                "step": 86_400,
                "xs": [f"{line.day}T00:00:00+00:00" for line in dated],
                "series": series,
                "as_of": prepared.made.made_at.isoformat() if prepared.made else None,
            },
            self._site.clock.now(),
        )

    async def refresh(self, request: Request, form: Form) -> Response:
        crawl = await self._crawl(request.path_params["name"])
        self._preparing.begin(f"completeness of {crawl.name}", lambda: self._make(crawl.name))
        return RedirectResponse(f"/completeness/{in_path(crawl.name)}", 303)
