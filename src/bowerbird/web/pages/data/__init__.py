"""Data: users, posts, relations and media to search and look through; a page for each user and each post."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute, Route

from bowerbird.web.answers.crowd import UnderWay
from bowerbird.web.pages.data.account import account, counts_plot, newest_posts, ties_plot
from bowerbird.web.pages.data.downloads import MOST_AT_ONCE, MOST_OF_ONE, TYPES, download
from bowerbird.web.pages.data.lists import ADDRESSES, counting, finding, listing
from bowerbird.web.pages.data.media import media_file
from bowerbird.web.pages.data.post import cascade, cascade_graph, counters_plot, post
from bowerbird.web.pages.data.saved import dropping, keeping, saved_list
from bowerbird.web.security import Role
from bowerbird.web.site import Site


def routes(site: Site) -> list[BaseRoute]:
    under_way = UnderWay(MOST_OF_ONE, MOST_AT_ONCE)
    files = [
        Route(f"{path}.{format_}", download(site, under_way, what, format_))
        for what, path in ADDRESSES.items()
        for format_ in TYPES
    ]
    return [
        Route("/data", _first),
        Route("/data/find", finding(site)),
        *files,
        *(Route(path, listing(site, what)) for what, path in ADDRESSES.items()),
        *(Route(f"{path}/count", counting(site, what)) for what, path in ADDRESSES.items()),
        Route("/data/saved", saved_list(site)),
        Route("/data/saved", site.acting(Role.READ, keeping(site)), methods=["POST"]),
        Route("/data/saved/delete", site.acting(Role.STEER, dropping(site)), methods=["POST"]),
        Route("/data/plots/ties/{id:path}", ties_plot(site)),
        Route("/data/plots/profile/{id:path}", counts_plot(site)),
        Route("/data/plots/counters/{id:path}", counters_plot(site)),
        Route("/data/newest/{id:path}", newest_posts(site)),
        Route("/data/cascades/{id:path}", cascade(site)),
        Route("/data/graphs/cascade/{id:path}", cascade_graph(site)),
        Route("/media/{id:path}", media_file(site)),
        Route("/users/{id:path}", account(site)),
        Route("/posts/{id:path}", post(site)),
    ]


async def _first(request: Request) -> Response:
    return RedirectResponse("/data/posts", 307)
