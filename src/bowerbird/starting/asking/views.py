"""One service as a crawl sees it: what can be asked there, in which lanes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import partial

from msgspec import Struct

from bowerbird.crawl.access.credentials import Asking
from bowerbird.crawl.access.needed import filling, searching
from bowerbird.crawl.access.served import NOT_OFFERED, Note, Served
from bowerbird.crawl.access.surveys import Unknown
from bowerbird.crawl.life import not_asked, registry
from bowerbird.crawl.seeding.homes import HomeServers
from bowerbird.crawl.seeding.seeder import FlowSeeder
from bowerbird.errors import Failure
from bowerbird.flows.files.crawl_file import CrawlPlan, ServicePlan
from bowerbird.flows.files.sections.stream_plans import StreamPlan
from bowerbird.flows.flow import FacetUse, Flow
from bowerbird.keywords.setup import SEARCHES, WITHOUT_STREAM
from bowerbird.limits.rate_limits import call_charges
from bowerbird.model import Service
from bowerbird.ports import Clock, Transaction
from bowerbird.providers import provider
from bowerbird.providers.base import Provider
from bowerbird.providers.limit_overrides import thrifty, with_limits
from bowerbird.starting.gathered import Gathered, Given


class ServiceView(Struct, frozen=True, kw_only=True):
    """One service as this crawl sees it."""

    planned: ServicePlan
    number: int
    """Of its row."""
    plain: Provider
    """The network with the user's limits."""
    speaks: Provider
    """The same with what this server offers, and as sparing as the budget wants it."""
    served: Served[Provider]
    flow: Flow
    """What can be asked here."""
    kept: Flow
    """The same with the facets for which targets wait."""
    streams: list[StreamPlan]
    searched: Mapping[str, FacetUse]
    uses: tuple[FacetUse, ...]
    numbers: Mapping[str, int]
    """Lanes by facet."""
    seeder: FlowSeeder
    probes: Mapping[str, int] = {}
    """Lanes of probes by facet, in an event crawl."""

    @property
    def service(self) -> Service:
        return self.planned.service


async def view_of(tx: Transaction, given: Given, gathered: Gathered, planned: ServicePlan) -> ServiceView:
    plan, service = given.plan, planned.service
    plain = speaking(planned, given.now)
    number = await registry.enrol_service(tx, service, plain.network)
    served = Served(plain, service, given.flavours.get(service.name), gathered.notes)
    lost = gathered.lost[service.name] = served.lost(plan.flow, Asking(planned, plan.services, given.vault))
    streams = served.streams([each for each in plan.streams if each.service.name == service.name], gathered.mute)
    whole = plan.flow.without(WITHOUT_STREAM) if given.event is not None and streams else plan.flow
    asked = {use.name for use in whole.facets}
    flow, kept = (
        served.note(whole, {name: why for name, why in lost.items() if name in asked}),
        not_asked.kept(whole.among(plain.facets), lost),
    )
    speaks = thrifty(served.provider, plan.budget_on(service.name).a_call)
    searched = searching(plan.searches, service, flow)
    filled = filling(streams, speaks, flow)
    uses = (*flow.facets, *searched.values(), *(use for use in filled if use.name not in searched))
    numbers = {use.name: await registry.enrol_lane(tx, given.crawl, number, use.name) for use in (*uses, *kept.facets)}
    return ServiceView(
        planned=planned,
        number=number,
        plain=plain,
        speaks=speaks,
        served=served,
        flow=flow,
        kept=kept,
        streams=streams,
        searched=searched,
        uses=uses,
        numbers=numbers,
        seeder=FlowSeeder(kept, numbers, partial(HomeServers(gathered.homes).away_from, service)),
        probes=await _probes(tx, given, number, _probed(given, gathered, service, speaks)),
    )


def _probed(given: Given, gathered: Gathered, service: Service, speaks: Provider) -> list[str]:
    """The facets that candidates can be searched by; where there are none, the user is told."""
    lost = gathered.lost[service.name]
    found = [name for name in SEARCHES if name in speaks.facets and name not in lost]
    if given.event is not None and given.event.use.probes != 0 and not found:
        why = next(iter(lost.values()), Failure(NOT_OFFERED, "it has no such search"))
        untested = why.within(f"candidates for keywords cannot be tested by searches: {why.problem}")
        gathered.notes.append(Note(service.name, untested))
    return found


async def _probes(tx: Transaction, given: Given, service: int, facets: Sequence[str]) -> dict[str, int]:
    """The lanes of probes: apart from all others, so that they take turns with them and read one page each."""
    if given.event is None or given.event.use.probes == 0:
        return {}
    return {name: await registry.enrol_lane(tx, given.crawl, service, f"probe {name}") for name in facets}


def speaking(planned: ServicePlan, now: Callable[[], datetime]) -> Provider:
    """The provider of a service with the user's own limits."""
    return with_limits(provider(planned.service.provider, now=now, base=planned.service.base), planned.limits)


def unknown_servers(plan: CrawlPlan, clock: Clock) -> Iterator[Unknown]:
    """The servers of the crawl that may be of many kinds, with what a question to them takes from their limits."""
    for planned in plan.services:
        speaks, name = speaking(planned, clock.now), planned.service.name
        if speaks.has_server_types:
            charges = call_charges(next(iter(speaks.facets_for("none").values())), name, None)
            yield Unknown(speaks, planned.service, tuple(each for each in charges if not each.limit.only_paged))
