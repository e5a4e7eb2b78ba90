"""Names of places that members write and no table knew: confirmed or refused by a person."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute, Route

from bowerbird.db.moment import one_moment
from bowerbird.errors import UserError
from bowerbird.reports.place_names import read_names, say
from bowerbird.web.formats import in_path
from bowerbird.web.pages.community.frame import crawl_of, shown, who
from bowerbird.web.security import Form, Role
from bowerbird.web.site import Site

_SAID = {"confirm": "confirmed", "refuse": "refused"}


def routes(site: Site) -> list[BaseRoute]:
    async def page(request: Request) -> Response:
        async with one_moment(site.database) as still, still.reading() as tx:
            crawl = await crawl_of(still, request)
            names = await read_names(tx, crawl.crawl)
        return shown(site, request, "names.html", crawl, "/names", names=names, as_of=site.clock.now())

    async def decide(request: Request, form: Form) -> Response:
        crawl, name, verb = await crawl_of(site.database, request), str(form.get("place") or ""), str(form.get("verb") or "")
        if verb not in _SAID:
            raise UserError("a name is confirmed or refused")

        async def do() -> None:
            async with site.database.transaction() as tx:
                await say(tx, crawl.crawl, name, _SAID[verb], who(site, request), site.clock.now())

        await site.act(request, f"{verb} place name", name, do)
        return RedirectResponse(f"/community/{in_path(crawl.name)}/names", status_code=303)

    return [
        Route("/community/{name}/names", page),
        Route("/community/{name}/names/say", site.acting(Role.STEER, decide), methods=["POST"]),
    ]
