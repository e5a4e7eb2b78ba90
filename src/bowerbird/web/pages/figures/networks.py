"""Networks that can be looked at: friends who answer each other, and what is around one account."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta
from typing import Any

import msgspec
from msgspec import structs
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import BaseRoute, Route

from bowerbird.analysis.favouritism import describe_favouritism, favouritism
from bowerbird.errors import UserError
from bowerbird.reports.histories.find_account import find_accounts
from bowerbird.reports.statistics.networks import BACK, WEIGHTS, Graph, read_around, read_friends
from bowerbird.reports.statistics.people import read_people
from bowerbird.web.answers.kept import Kept
from bowerbird.web.errors import NotFound
from bowerbird.web.formats import in_path
from bowerbird.web.pages.figures.shared import Figures


def routes(figures: Figures) -> list[BaseRoute]:
    database = figures.site.database

    async def friends(request: Request) -> Response:
        async with database.reading() as tx:
            graph, progress = await read_friends(tx, database), await figures.progress(tx)
        return figures.page(request, "figures/friends.html", title="Friends", progress=progress, graph=graph)

    async def friends_graph(request: Request) -> Response:
        async with database.reading() as tx:
            graph = await read_friends(tx, database)
        return drawn(graph)

    async def around(request: Request) -> Response:
        asked = request.query_params.get("account", "").strip()
        if len(asked) > _LONGEST:
            raise UserError("that is too long for the name of an account", code="too_large")
        async with database.reading() as tx:
            found = await find_accounts(database, tx, asked) if asked else []
            people = await read_people(tx, database, [each.number for each in found[:_MOST_SHOWN]])
            values: dict[str, Any] = {"progress": await figures.progress(tx), "asked": asked}
        if not asked:
            return figures.page(request, "figures/around.html", title="Around an account", who=None, **values)
        if len(people) > 1:
            shown = [each for each in found if each.number in people]
            return figures.page(request, "figures/which.html", title="Around an account", found=shown, **values)
        if not people:
            raise NotFound(
                f"There is no account {asked} in this store that may be told of",
                "search for it on the Data page.",
                code="unknown_account",
            )
        who = next(iter(people.values()))
        return figures.page(request, "figures/around.html", title=f"Around {who.label}", who=who, **values)

    async def ties(request: Request) -> Response:
        """What takes a moment: the page is there before it."""
        graph = await around_of(request.query_params.get("account", ""))
        if graph is None:
            raise NotFound("There is no such account in this store that may be told of.", code="unknown_account")
        kinds = Counter(edge.kind for edge in graph.edges)
        favour = favouritism(graph.spoken_to)
        spread = None if favour is None else describe_favouritism(favour, len(graph.spoken_to))
        values = {"weights": WEIGHTS, "strongest": strongest(graph), "favour": favour, "spread": spread}
        return figures.site.part(request, "figures/ties.html", graph=graph, kinds=kinds, **values)

    async def around_of(known_id: str) -> Graph | None:
        async with database.reading() as tx:
            found = await find_accounts(database, tx, known_id)
        return (await graphs.at_once(str(found[0].number))).value if found else None

    async def read_graph(number: str) -> Graph | None:
        now = figures.site.clock.now()
        async with database.reading() as tx:
            graph = await read_around(tx, database, int(number))
        return None if graph is None else structs.replace(graph, as_of=now)

    # The page asks for it twice, as a drawing and as a table.
    graphs: Kept[Graph | None] = Kept(figures.site.clock, _LASTS, read_graph)

    async def around_graph(request: Request) -> Response:
        graph = await around_of(request.path_params["id"])
        return drawn(graph, None if graph is None else graph.people[0].number)

    async def of_user(request: Request) -> Response:
        return RedirectResponse(f"/figures/around?account={in_path(request.path_params['id'])}", 307)

    return [
        Route("/figures/friends", friends),
        Route("/figures/graphs/friends", friends_graph),
        Route("/figures/around", around),
        Route("/figures/around/ties", ties),
        Route("/figures/graphs/around/{id:path}", around_graph),
        Route("/figures/around/{id:path}", of_user),
    ]


_LASTS = timedelta(seconds=15)
_LONGEST = 500
_MOST_SHOWN = 50
_ITSELF = "the account"


def strongest(graph: Graph, most: int = 25) -> list[tuple[Any, Counter[str], int]]:
    """Those with the strongest ties to the first account: person, ties by kind, their sum."""
    own, people = graph.people[0].number, {person.number: person for person in graph.people}
    ties: dict[int, Counter[str]] = {}
    for edge in graph.edges:
        if own in (edge.source, edge.target):
            other = edge.target if edge.source == own else edge.source
            kind = edge.kind if edge.source == own else BACK[edge.kind]
            ties.setdefault(other, Counter())[kind] += edge.weight
    ranked = sorted(ties, key=lambda who: (-ties[who].total(), who))[:most]
    return [(people[who], ties[who], ties[who].total()) for who in ranked]


def _nearest(graph: Graph, own: int) -> dict[int, str]:
    """Of everybody around an account the kind of tie that counts most between the two."""
    ties: dict[int, Counter[str]] = {}
    for edge in graph.edges:
        if own in (edge.source, edge.target):
            other = edge.target if edge.source == own else edge.source
            ties.setdefault(other, Counter())[edge.kind] += WEIGHTS[edge.kind] * edge.weight
    nearest = {who: f"most by {max(sorted(kinds), key=kinds.__getitem__)}" for who, kinds in ties.items()}
    return {**nearest, own: _ITSELF}


def drawn(graph: Graph | None, own: int | None = None) -> Response:
    """A graph as it is drawn: sizes by ties; colours by who is tied together, or around one account by what ties to it."""
    if graph is None:
        return JSONResponse({"nodes": [], "edges": []})
    ties: Counter[int] = Counter()
    for edge in graph.edges:
        ties[edge.source] += edge.weight
        ties[edge.target] += edge.weight
    groups = {who: str(group) for who, group in graph.groups.items()} if own is None else _nearest(graph, own)
    nodes = [
        {
            "id": str(person.number),
            "label": person.label,
            "size": ties[person.number],
            "group": groups.get(person.number, "alone"),
            "href": f"/figures/around?account={in_path(person.id)}",
        }
        for person in graph.people
    ]
    edges = [{"from": str(edge.source), "to": str(edge.target), "weight": edge.weight, "kind": edge.kind} for edge in graph.edges]
    named = [] if own is None else [_ITSELF, *sorted(set(groups.values()) - {_ITSELF})]
    told = {"nodes": nodes, "edges": edges, "groups": named, "as_of": None if graph.as_of is None else graph.as_of.isoformat()}
    return Response(msgspec.json.encode(told), media_type="application/json")
