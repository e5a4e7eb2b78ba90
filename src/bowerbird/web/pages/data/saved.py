"""Saved searches: kept in the store under a name, with who kept them."""

from __future__ import annotations

from urllib.parse import parse_qsl, quote_plus

from starlette.datastructures import QueryParams
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from bowerbird.errors import UserError
from bowerbird.store.searches import SavedSearch, drop_search, keep_search, saved_searches
from bowerbird.web.pages.data.asking import asked
from bowerbird.web.pages.data.lists import ADDRESSES, TITLES
from bowerbird.web.security.guard import Endpoint, Form, Handler
from bowerbird.web.site import Site


def saved_list(site: Site) -> Endpoint:
    async def endpoint(request: Request) -> Response:
        tabs = [(title, ADDRESSES[each], False) for each, title in TITLES.items()] + [("Saved", "/data/saved", True)]
        searches = await saved_searches(site.database)
        return site.page(
            request, "data/saved.html", title="Saved searches", searches=searches, addresses=ADDRESSES, titles=TITLES, tabs=tabs
        )

    return endpoint


def keeping(site: Site) -> Handler:
    """Keeps the search that a page showed, and goes back to it."""

    async def handler(request: Request, form: Form) -> Response:
        what, name = str(form.get("what", "")), str(form.get("name", "")).strip()
        if what not in ADDRESSES:
            raise UserError(f"there is nothing called {what!r} to search", code="unknown_name")
        # Written anew from what is understood: nothing else is kept.
        query = asked(what, QueryParams(parse_qsl(str(form.get("query", ""))))).query()
        person = site.guard.person(request)
        who = person.name if person else ""
        search = SavedSearch(name=name, what=what, query=readable(query), who=who, at=site.clock.now())
        await site.act(request, "save search", name, lambda: keep_search(site.database, search))
        return RedirectResponse(f"{ADDRESSES[what]}?{query}", 303)

    return handler


def readable(query: str) -> str:
    """The same query with as little encoded as a link allows: whoever is forgotten must be found in it by name."""
    return "&".join(f"{name}={''.join(map(_encoded, value))}" for name, value in parse_qsl(query))


def _encoded(sign: str) -> str:
    return quote_plus(sign) if sign in "%&#+ ;" or not sign.isprintable() else sign


def dropping(site: Site) -> Handler:
    async def handler(request: Request, form: Form) -> Response:
        name = str(form.get("name", ""))
        await site.act(request, "delete search", name, lambda: drop_search(site.database, name))
        return RedirectResponse("/data/saved", 303)

    return handler
