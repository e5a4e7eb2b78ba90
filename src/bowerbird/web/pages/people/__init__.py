"""Coming in, going out, and who may do what."""

from __future__ import annotations

from starlette.routing import BaseRoute, Route

from bowerbird.web.pages.people.door import DoorPages
from bowerbird.web.pages.people.people import PeoplePages
from bowerbird.web.security import Role, open_to_all
from bowerbird.web.site import Site

POST = ["POST"]


def routes(site: Site) -> list[BaseRoute]:
    door, people = DoorPages(site), PeoplePages(site)
    return [
        Route("/login", open_to_all(door.ask)),
        Route("/login", open_to_all(door.log_in), methods=POST),
        Route("/enter", open_to_all(door.enter)),
        Route("/logout", site.acting(Role.READ, door.log_out), methods=POST),
        Route("/people", people.index),
        Route("/people/own", site.acting(Role.READ, people.own_password), methods=POST),
        Route("/people/add", site.acting(Role.ADMIN, people.add), methods=POST),
        Route("/people/role", site.acting(Role.ADMIN, people.role), methods=POST),
        Route("/people/password", site.acting(Role.ADMIN, people.password), methods=POST),
        Route("/people/remove", site.acting(Role.ADMIN, people.remove), methods=POST),
    ]
