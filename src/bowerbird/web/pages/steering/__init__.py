"""Steering: crawls made, started, paused and stopped; seeds, credentials, databases; who did what."""

from __future__ import annotations

from starlette.routing import BaseRoute

from bowerbird.web.pages.steering import actions, controls, credentials, making, people, seeds, starting
from bowerbird.web.pages.steering.desk import Desk
from bowerbird.web.site import Site

_PARTS = (controls, starting, making, seeds, people, credentials, actions)


def routes(site: Site) -> list[BaseRoute]:
    desk = Desk(site)
    return [route for part in _PARTS for route in part.routes(desk)]
