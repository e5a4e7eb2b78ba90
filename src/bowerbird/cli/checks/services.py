"""Looks at the services of a crawl before it starts, for `bowerbird crawl` and `bowerbird doctor` alike: is anybody there, is it
the right address, what is the server, and what of the crawl would be asked in vain."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urljoin, urlsplit

import msgspec
from msgspec import Struct, structs

from bowerbird.app import Outside
from bowerbird.crawl.access.credentials import Asking
from bowerbird.crawl.access.served import Served
from bowerbird.crawl.access.surveys import Survey, survey
from bowerbird.crawl.life.not_asked import main_facets
from bowerbird.errors import Failure, UserError
from bowerbird.flows.files.crawl_file import CrawlPlan, ServicePlan
from bowerbird.model import TRAITS, Answer, Request, ServerInfo, Service, origin
from bowerbird.ports import Vault
from bowerbird.providers import PROVIDERS, provider
from bowerbird.providers.base import Provider

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
    is_foreign: bool = False
    """What answers there is no API of its network."""
    meant_base: str = ""
    """The address to write instead, as far as that could be found out; or"""
    meant_provider: str = ""
    """the provider that speaks its API."""

    @property
    def problem(self) -> str:
        """Why nothing can be asked there, in words; empty: it can."""
        service = self.service
        if self.failure:
            return f"the service {service.name} at {service.base} does not answer: {self.failure}"
        if self.moved:
            return f"{service.base} sends every question on to {self.moved}, which is not followed"
        if self.is_foreign:
            return f"what answers at {service.base} does not speak the API of {service.provider}"
        return ""

    @property
    def code(self) -> str:
        return "server_moved" if self.moved else "wrong_server" if self.is_foreign else "server_unreachable"

    @property
    def advice(self) -> str:
        """What to do about it in a crawl file."""
        if self.moved:
            return f'write base = "{self.moved}" in the crawl file; credentials must belong to that address too'
        if self.is_foreign and self.meant_provider:
            return f'write provider = "{self.meant_provider}" in the crawl file'
        if self.is_foreign and self.meant_base:
            return f'write base = "{self.meant_base}" in the crawl file'
        if self.is_foreign:
            return f"write the address of the server alone as `base`, such as {self._usual}, in the crawl file"
        return "check `base` in the crawl file, and the network"

    @property
    def option_advice(self) -> str:
        """What to do about it on a command line without a crawl file."""
        if self.moved:
            return f"write --on {self.moved}; credentials must belong to that address too"
        if self.is_foreign and self.meant_provider:
            return f"write --provider {self.meant_provider}"
        if self.is_foreign:
            return f"write --on {self.meant_base or self._usual}" + ("" if self.meant_base else ", or another server")
        return "check --on, and the network"

    @property
    def _usual(self) -> str:
        return TRAITS[self.service.provider].base


class AddressError(UserError):
    """Nothing can be asked at the address of a service."""

    def __init__(self, seen: Look) -> None:
        super().__init__(seen.problem, seen.advice, code=seen.code)
        self.option_advice = seen.option_advice


async def look(planned: ServicePlan, outside: Outside, most: int = _MOST_QUESTIONS) -> Look:
    """Knocks at a service, and asks what it is where that matters, with at most so many questions unless it looks wrong."""
    service = planned.service
    found, answers = await _knock(service, outside, most)
    is_known = found is not None and bool(found.flavour.software)
    moved = _moved(service, PROVIDERS[service.provider].probe_path, answers[0]) if answers and not is_known else ""
    failure = answers[0].failure if answers and not any(answer.status for answer in answers) else ""
    seen = Look(service, found, failure, moved)
    if seen.problem or _is_own(provider(service.provider), service, answers) is not False:
        return seen
    base, other = await _meant(service, outside)
    return structs.replace(seen, is_foreign=True, meant_base=base, meant_provider=other)


async def _knock(service: Service, outside: Outside, most: int = _MOST_QUESTIONS) -> tuple[Survey | None, tuple[Answer, ...]]:
    """What a service says at its door, and what it is where that differs; who looks wrong is asked everything."""
    speaks = provider(service.provider)
    if not speaks.has_server_types:
        answer = await outside.transport.send(service, Request(path=PROVIDERS[service.provider].probe_path))
        return None, (answer,)
    found = await survey(speaks, outside.transport, service, outside.clock, most)
    if _is_own(provider(service.provider), service, found.answers) is False and len(found.answers) < _MOST_QUESTIONS:
        found = await survey(speaks, outside.transport, service, outside.clock, before=found.answers)
    return found, found.answers


async def _meant(service: Service, outside: Outside) -> tuple[str, str]:
    """What the user may have meant: the same server without the rest of the address (a base), or its own network (a
    provider)."""
    root = structs.replace(service, base=origin(service.base))
    for name in (service.provider, *(each for each in PROVIDERS if each != service.provider)):
        other = structs.replace(root, provider=name)
        is_same = other == service
        if not is_same and _is_own(provider(name), other, (await _knock(other, outside, most=1))[1]):
            return (root.base, "") if name == service.provider else ("", name)
    return "", ""


def _moved(service: Service, path: str, answer: Answer) -> str:
    """Where the whole service has gone; a redirect to another path, such as a page for people, says nothing."""
    location = answer.headers.get("location", "")
    if not 300 <= answer.status < 400 or not location:
        return ""
    target = urljoin(service.base + path, location)
    return origin(target) if urlsplit(target).path == path and origin(target) != origin(service.base) else ""


def lost_facets(plan: CrawlPlan, vault: Vault, flavours: Mapping[str, ServerInfo]) -> dict[str, dict[str, Failure]]:
    """By service, the facets of the crawl that would be asked in vain, each with the reason."""
    return {
        each.service.name: Served(provider(each.service.provider), each.service, flavours.get(each.service.name), []).lost(
            plan.flow, Asking(each, plan.services, vault)
        )
        for each in plan.services
    }


def in_vain(plan: CrawlPlan, lost: Mapping[str, Mapping[str, Failure]]) -> frozenset[str]:
    """The facets for which the flow is there, if none of the services can be asked for any of them."""
    facets = [(each.service, provider(each.service.provider).facets) for each in plan.services]
    asked = [(service.name, table[use.name]) for service, table in facets for use in plan.flow.among(table).facets]
    main = main_facets([facet for _, facet in asked])
    is_vain = all(facet.name in lost[name] for name, facet in asked if facet.name in main)
    return main if is_vain and not plan.streams else frozenset()


def missing(facet: str, why: Failure) -> Failure:
    """A facet without which the crawl brings nothing of what it is there for, and what to do."""
    return why.within(f"cannot be asked for {facet}: {why.problem}. The crawl could do nothing else of what it is there for")


def _is_own(provider: Provider, service: Service, answers: Sequence[Answer]) -> bool | None:
    """Whether the responses are from an API of the service's network; None if they do not tell."""
    path = urlsplit(service.base).path.strip("/")
    if any(provider.is_own_response(_json_object(answer), path) for answer in answers):
        return True
    # Proxies and rate limits answer before the server does.
    is_unclear = any(answer.status in (0, 401, 403, 408, 425, 429) or answer.status >= 500 for answer in answers)
    return None if is_unclear or not answers else False


def _json_object(answer: Answer) -> Mapping[str, Any]:
    try:
        body = msgspec.json.decode(answer.body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return {}
    return body if isinstance(body, dict) else {}
