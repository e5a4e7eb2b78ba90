"""Looks at the services of a crawl before it starts, for `bowerbird crawl` and `bowerbird doctor` alike: is anybody there, is it
the right address, what is the server, and what of the crawl would be asked in vain."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import urljoin, urlsplit

from msgspec import Struct

from bowerbird.app import Outside, ground_of
from bowerbird.crawl.credentials import Asking
from bowerbird.crawl.files.crawl_file import CrawlPlan, ServicePlan
from bowerbird.crawl.flavours import Survey, survey
from bowerbird.crawl.seeding.ground import Chaff
from bowerbird.crawl.served import Served
from bowerbird.model import Answer, Flavour, Request, Service, origin
from bowerbird.ports import FlavouredProvider, Vault
from bowerbird.providers import provider

_DOORS = {
    "bluesky": "/xrpc/_health",
    "twitter_v1": "/1.1/application/rate_limit_status.json",
    "weibo": "/2/account/rate_limit_status.json",
    "x": "/2/openapi.json",
}
"""Where networks whose servers are all alike are knocked at, without a credential: what they say does not matter."""


_MOST_QUESTIONS = 6


class Look(Struct, frozen=True):
    """What was seen of one service."""

    service: Service
    survey: Survey | None = None
    """What it says it is, on networks where that differs."""
    failure: str = ""
    """Why nobody can be reached."""
    moved: str = ""
    """The address that it sends every question on to."""

    @property
    def problem(self) -> str:
        """Why nothing can be asked there, in words; empty: it can."""
        service = self.service
        if self.failure:
            return f"the service {service.name} at {service.base} does not answer: {self.failure}"
        if self.moved:
            return f"{service.base} sends every question on to {self.moved}, which is not followed"
        return ""

    @property
    def advice(self) -> str:
        if self.moved:
            return f'write base = "{self.moved}" in the crawl file; credentials must belong to that address too'
        return "check `base` in the crawl file, and the network"


async def look(planned: ServicePlan, outside: Outside, most: int = _MOST_QUESTIONS) -> Look:
    """Knocks at a service, and asks what it is where that matters, with at most so many questions."""
    service, speaks = planned.service, provider(planned.service.provider)
    if isinstance(speaks, FlavouredProvider):
        found = await survey(speaks, outside.transport, service, outside.clock, most)
        first = speaks.survey([])
        path = first.path if isinstance(first, Request) else "/"
        moved = _moved(service, path, found.answers[0]) if found.answers and not found.flavour.software else ""
        return Look(service, found, found.failure, moved)
    path = _DOORS.get(service.provider, "/")
    answer = await outside.transport.send(service, Request(path=path))
    return Look(service, None, answer.failure, _moved(service, path, answer))


def _moved(service: Service, path: str, answer: Answer) -> str:
    """Where the whole service has gone; a redirect to another path, such as a page for people, says nothing."""
    location = answer.headers.get("location", "")
    if not 300 <= answer.status < 400 or not location:
        return ""
    target = urljoin(service.base + path, location)
    return origin(target) if urlsplit(target).path == path and origin(target) != origin(service.base) else ""


def lost_facets(plan: CrawlPlan, vault: Vault, flavours: Mapping[str, Flavour]) -> dict[str, dict[str, str]]:
    """By service, the facets of the crawl that would be asked in vain, each with the reason in words."""
    return {
        each.service.name: Served(provider(each.service.provider), each.service, flavours.get(each.service.name), []).lost(
            plan.flow, Asking(each, plan.services, vault)
        )
        for each in plan.services
    }


def sorted_seeds(plan: CrawlPlan, lost: Mapping[str, Mapping[str, str]]) -> Chaff:
    """What is wrong with the seeds that are written down: those that nobody understands, and those that nobody may ask about."""
    chaff = Chaff()
    for _ in ground_of(plan, lost).sort(plan.seeds.located(), chaff):
        pass
    return chaff
