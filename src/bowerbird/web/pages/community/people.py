"""How a community stands, and its people in lists."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute, Route

from bowerbird.db.moment import one_moment
from bowerbird.model.subjects.community import JUDGE
from bowerbird.reports.community.people import Which, read_people
from bowerbird.reports.community.reading import CommunityCounts, read_community, share_of_mentioned
from bowerbird.reports.labels import read_labelled
from bowerbird.web.errors import NotFound
from bowerbird.web.formats import in_path
from bowerbird.web.pages.community.frame import LISTS, crawl_of, shown
from bowerbird.web.pages.community.kept import Kept
from bowerbird.web.site import Site

_ROWS = 50


def routes(site: Site) -> list[BaseRoute]:
    async def count(_: str) -> CommunityCounts:
        """Of the whole store: judgements are of no single crawl."""
        async with one_moment(site.database) as still, still.reading() as tx:
            return await read_community(tx, still)

    kept = Kept(site.clock, count)

    async def index(request: Request) -> Response:
        crawls = await site.reader.crawls()
        if not crawls:
            return site.page(request, "community/index.html", title="Community")
        about = [crawl for crawl in crawls if '"community"' in crawl.flow] or list(crawls)
        return RedirectResponse(f"/community/{in_path(about[-1].name)}", status_code=303)

    async def overview(request: Request) -> Response:
        async with one_moment(site.database) as still, still.reading() as tx:
            crawl = await crawl_of(still, request)
            samples = [await read_labelled(tx, crawl.crawl, JUDGE, said) for said in ("yes", "no", "undecided")]
        # Of another time, which is shown with it.
        counted = await kept.read("", is_new="refresh" in request.query_params)
        found = counted.value if counted else None
        return shown(
            site, request, "counts.html", crawl, "", counted=counted, counts=found, is_making=kept.is_making(""),
            is_judged=found is None or sum(found.values.values()) > 0,
            share=share_of_mentioned(found.mentioned) if found else None, samples=[each for each in samples if each.drawn],
        )  # fmt: skip

    async def listed(request: Request) -> Response:
        which = which_of(request)
        async with one_moment(site.database) as still, still.reading() as tx:
            crawl = await crawl_of(still, request)
            page = await read_people(tx, crawl.crawl, which, request.query_params.get("after"), _ROWS)
        here, more = f"/community/{in_path(crawl.name)}/{which}", page.after
        return shown(
            site, request, "people.html", crawl, f"/{which}", which=which, about=LISTS[which][1], page=page,
            next=f"{here}?after={more}" if more else None, as_of=site.clock.now(),
        )  # fmt: skip

    return [
        Route("/community", index),
        Route("/community/{name}", overview),
        *(Route(f"/community/{{name}}/{which}", listed) for which in LISTS),
    ]


def which_of(request: Request) -> Which:
    """The list that an address names."""
    named = request.path_params.get("which") or request.url.path.rsplit("/", 1)[-1]
    if named not in list(Which):
        raise NotFound(f"there is no list {named!r:.40} of people", code="unknown_name")
    return Which(named)
