"""A post's page."""

from __future__ import annotations

from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from bowerbird.analysis.cascades import Cascade, rebuild
from bowerbird.db.moment import one_moment
from bowerbird.model import Passed, Subject, post_at
from bowerbird.ports import Database
from bowerbird.reports.histories.changes import Change, read_edits
from bowerbird.reports.sheets.names import Names, asked_about, read_names
from bowerbird.reports.sheets.posts import (
    COUNTERS,
    PassedOn,
    PostSheet,
    read_passed_on,
    read_post,
    read_readings,
    read_thread,
)
from bowerbird.reports.studies.cascades import CascadeReader
from bowerbird.web.errors import NotFound
from bowerbird.web.formats import in_path
from bowerbird.web.security.guard import Endpoint
from bowerbird.web.site import Site

_LARGEST = 2_000
"""Of the cascades that a page draws."""
_TREE = 200
_OTHERS = ("repost_of", "quote_of", "root")


def post(site: Site) -> Endpoint:
    async def endpoint(request: Request) -> Response:
        async with one_moment(site.database) as still:
            sheet = await _sheet(still, request)
            values: dict[str, Any] = {"sheet": sheet, "edits": await _edits(still, sheet), "read_at": site.clock.now()}
            values["names"] = await _names(still, sheet)
            values["thread"] = await read_thread(still, sheet)
        values["is_drawn"] = sheet.passed_on.is_exact and 0 < sheet.passed_on.value <= _LARGEST and sheet.post is not None
        return site.page(request, "data/post.html", title=_title(sheet), **values)

    return endpoint


def cascade(site: Site) -> Endpoint:
    """Who passed it on to whom, as a tree."""

    async def endpoint(request: Request) -> Response:
        sheet, passed, tree = await _cascade(site, request)
        steps = [(step, *passed.users.get(step.user, ("", None))) for step in tree.steps[:_TREE]]
        return site.part(request, "data/cascade.html", sheet=sheet, tree=tree, steps=steps, more=len(tree.steps) - len(steps))

    return endpoint


def cascade_graph(site: Site) -> Endpoint:
    async def endpoint(request: Request) -> Response:
        _, passed, tree = await _cascade(site, request)
        nodes = [
            {
                "id": str(place),
                "label": _name(passed, step.user),
                "size": 6 if place == 0 else 3,
                "group": str(step.kind) if place else "the post",
                "href": f"/users/{in_path(passed.users[step.user][0])}" if step.user in passed.users else None,
            }
            for place, step in enumerate(tree.steps)
        ]
        edges = [
            {"from": str(step.parent), "to": str(place), "weight": 1, "kind": str(step.kind)}
            for place, step in enumerate(tree.steps)
            if place
        ]
        return JSONResponse({"nodes": nodes, "edges": edges, "as_of": site.clock.now().isoformat()})

    return endpoint


def counters_plot(site: Site) -> Endpoint:
    """The counters of a post over time."""

    async def endpoint(request: Request) -> Response:
        readings = await read_readings(site.database, str(request.path_params["id"]))
        if readings is None:
            raise NotFound("The store has no such post, or it is gone.", code="unknown_post")
        told = [name for name in COUNTERS if any(each.counts[name] is not None for each in readings)]
        return JSONResponse(
            {
                "kind": "lines",
                "x": "time",
                "x_label": "seen at",
                "y_label": "count",
                "unit": "",
                "xs": [each.at.timestamp() for each in readings],
                "series": [{"label": name, "values": [each.counts[name] for each in readings]} for name in told],
                "as_of": readings[-1].at.isoformat(),
            }
        )

    return endpoint


async def _sheet(still: Database, request: Request) -> PostSheet:
    name = str(request.path_params["id"])
    sheet = await read_post(still, name) or await read_post(still, post_at(name) or name)
    if sheet is None:
        raise NotFound(
            f"The store has no post {name}.", "Search for it among the posts, or hydrate it by its id.", code="unknown_post"
        )
    return sheet


async def _names(still: Database, sheet: PostSheet) -> Names:
    """Of whom and what it speaks of, and of what the call that brought it asked about."""
    people = sheet.post["mentions"] if sheet.post else []
    posts = [sheet.post[each] for each in _OTHERS if sheet.post[each]] if sheet.post else []
    spoken = [*(("", Subject.USER, id_) for id_ in people), *(("", Subject.POST, id_) for id_ in posts)]
    async with still.reading() as tx:
        return await read_names(still, tx, [*spoken, *asked_about(sheet.brought)])


async def _cascade(site: Site, request: Request) -> tuple[PassedOn, Passed, Cascade]:
    async with one_moment(site.database) as still:
        sheet = await read_passed_on(still, str(request.path_params["id"]))
        if sheet is None or not sheet.passed_on.is_exact:
            raise NotFound(
                "This cascade is not drawn: the post is gone, or it was passed on too often.",
                "Ask bowerbird cascade.",
                code="unknown_post",
            )
        passed = await CascadeReader(still).read(sheet.number)
    return sheet, passed, rebuild(passed)


async def _edits(still: Database, sheet: PostSheet) -> list[Change]:
    """What changed of it but its counters, and its versions."""
    if sheet.post is None:
        return []
    return [each for each in await read_edits(still, sheet.number) if each.field not in _COUNTED]


_COUNTED = frozenset({*COUNTERS, "poll", "emoji"})


def _title(sheet: PostSheet) -> str:
    if sheet.post is None:
        return "A post that is gone"
    handle = sheet.post["author_handle"]
    return f"{str(sheet.post['kind']).capitalize()} by {'@' + handle if handle else sheet.post['author_id']}"


def _name(passed: Passed, user: int) -> str:
    id_, handle = passed.users.get(user, ("", None))
    return f"@{handle}" if handle else id_
