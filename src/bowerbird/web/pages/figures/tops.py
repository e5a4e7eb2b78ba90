"""Top lists: users, tags, links, domains, mentions; of all times or one month. And influence by reposts and mentions."""

from __future__ import annotations

from datetime import UTC, datetime
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from bowerbird.errors import UserError
from bowerbird.reports.statistics.tops import Entry, Ranked, read_influence, read_top
from bowerbird.web.pages.figures.shared import Figures

NAMES = {
    Ranked.TAGS: ("Tags", "posts with the tag"),
    Ranked.AUTHORS: ("Most active", "posts written"),
    Ranked.ANSWERED: ("Most answered", "replies received"),
    Ranked.REPOSTED: ("Most reposted", "reposts received"),
    Ranked.MENTIONED: ("Most mentioned", "posts that mention"),
    Ranked.DOMAINS: ("Domains", "posts with a link there"),
    Ranked.LINKS: ("Links", "posts with the link"),
}


def routes(figures: Figures) -> list[BaseRoute]:
    async def index(request: Request) -> Response:
        what, month = _ranked(request), _month(request)
        async with figures.site.database.reading() as tx:
            top, progress = await read_top(tx, figures.site.database, what, month), await figures.progress(tx)
        return figures.page(
            request,
            "figures/top.html",
            title="Top lists",
            progress=progress,
            what=what,
            name=NAMES[what],
            lists=[(label, f"/figures/top?what={each}", each is what) for each, (label, _) in NAMES.items()],
            top=top,
            month=month,
            rows=[] if top is None else [(entry, address(what, entry)) for entry in top.entries],
        )

    async def influence(request: Request) -> Response:
        async with figures.site.database.reading() as tx:
            found, progress = await read_influence(tx, figures.site.database), await figures.progress(tx)
        rows, as_of = found if found is not None else ((), None)
        return figures.page(request, "figures/influence.html", title="Influence", progress=progress, rows=rows, as_of=as_of)

    return [Route("/figures/top", index), Route("/figures/influence", influence)]


def address(what: Ranked, entry: Entry) -> str | None:
    """Where what is behind a line can be seen."""
    if entry.person is not None:
        return f"/users/{quote(entry.person.id, safe='')}"
    if what is Ranked.TAGS:
        return f"/data/posts?q={quote('#' + entry.text, safe='')}"
    return None


def _ranked(request: Request) -> Ranked:
    try:
        return Ranked(request.query_params.get("what", Ranked.TAGS))
    except ValueError as error:
        raise UserError("there is no such list", f"there are {', '.join(Ranked)}", code="unknown_name") from error


def _month(request: Request) -> datetime | None:
    written = request.query_params.get("month", "")
    if not written:
        return None
    try:
        return datetime.strptime(written, "%Y-%m").replace(tzinfo=UTC)
    except ValueError as error:
        raise UserError(f"{written[:40]!r} is no month", "write 2026-03") from error
