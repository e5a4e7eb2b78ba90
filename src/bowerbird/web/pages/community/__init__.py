"""Community: who belongs, who may, what the judge went by; people say what is right, one account after the other."""

from __future__ import annotations

from starlette.routing import BaseRoute

from bowerbird.web.pages.community import deciding, names, people, sampling
from bowerbird.web.site import Site

_PARTS = (people, sampling, names, deciding)


def routes(site: Site) -> list[BaseRoute]:
    return [route for part in _PARTS for route in part.routes(site)]
