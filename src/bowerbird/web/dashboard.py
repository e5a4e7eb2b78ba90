"""Builds the application: routes, assets, and what is said when something goes wrong."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from bowerbird.errors import Busy, DiskFull, Failure, StoreError, UserError, failure_of
from bowerbird.web.answers.crowd import Crowd
from bowerbird.web.errors import NotFound
from bowerbird.web.files import asset_routes
from bowerbird.web.pages import (
    community,
    completeness,
    crawl,
    data,
    figures,
    keywords,
    machine,
    overview,
    people,
    steering,
    work,
)
from bowerbird.web.security import check_routes
from bowerbird.web.security.actions import Overtaken
from bowerbird.web.site import Site

_AREAS = (overview, crawl, work, machine, data, figures, community, keywords, completeness, steering, people)
_AWAY = "The database does not answer"
_log = logging.getLogger(__name__)


def dashboard(site: Site) -> Starlette:
    """The application of a site."""
    routes = dashboard_routes(site)
    check_routes(routes)
    site.guard.actions = [route for route in routes if isinstance(route, Route) and "POST" in (route.methods or ())]
    site.guard.away, site.guard.failed = _away(site), _failed(site)
    return Starlette(
        routes=routes,
        # The watch first: a turn is for those who are let in, and strangers get one when all they send has come.
        middleware=[*site.guard.middleware(), Middleware(Crowd, clock=site.clock)],
        exception_handlers={
            HTTPException: _http(site),
            UserError: _said(site, 400),
            NotFound: _said(site, 404),
            Overtaken: _said(site, 409),
            StoreError: _away(site),
            Busy: _away(site),
            DiskFull: _away(site),
            OSError: _away(site),
        },
    )


def dashboard_routes(site: Site) -> list[BaseRoute]:
    """Every address of the dashboard."""
    live = [Route(path, site.live.respond) for path in ("/live/{topic}", "/live/{topic}/{argument:path}")]
    pages = [route for area in _AREAS for route in area.routes(site)]
    return [*asset_routes(), *live, *pages]


_Answer = Callable[[Request, Exception], Awaitable[Response]]


def _said(site: Site, status: int) -> _Answer:
    async def answer(request: Request, error: Exception) -> Response:
        heading = "Not found" if status == 404 else "This cannot be done"
        return site.page(request, "said.html", title=heading, status=status, failure=failure_of(error), again=False)

    return answer


def _http(site: Site) -> _Answer:
    async def answer(request: Request, error: Exception) -> Response:
        status = error.status_code if isinstance(error, HTTPException) else 500
        heading = "There is no such page" if status == 404 else "This cannot be done"
        words = "Go on with the navigation." if status == 404 else str(getattr(error, "detail", ""))
        failure = Failure("unknown_page" if status == 404 else "refused", words)
        told = site.page(request, "said.html", title=heading, status=status, failure=failure, again=False)
        told.headers.update(getattr(error, "headers", None) or {})
        return told

    return answer


def _away(site: Site) -> _Answer:
    async def answer(request: Request, error: Exception) -> Response:
        _log.warning("the page %.200r waits for the database: %.300r", request.url.path, str(error))
        words = "The crawl is not touched by this. This page tries again every few seconds."
        failure = Failure("database_busy", words)
        return site.page(request, "said.html", title=_AWAY, status=503, failure=failure, again=True)

    return answer


def _failed(site: Site) -> _Answer:
    async def answer(request: Request, error: Exception) -> Response:
        _log.error("the page %.200r failed", request.url.path, exc_info=error)
        words = f"Our own mistake ({type(error).__name__}); the crawl is not touched by it. The log of the dashboard says more."
        failure = Failure("unexpected", words)
        return site.page(request, "said.html", title="This page failed", status=500, failure=failure, again=False)

    return answer
