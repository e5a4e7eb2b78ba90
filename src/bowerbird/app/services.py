"""The services of a plan as lanes and streams: who asks what of whom, with which credentials."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import partial

from msgspec import Struct, structs

from bowerbird.app.charges import charges_of, paid
from bowerbird.app.crawls import Gathered, Given
from bowerbird.crawl.access.credentials import Asking, own_credentials, stream_credentials
from bowerbird.crawl.access.needed import channel_of, filling, listening, searching
from bowerbird.crawl.access.served import Served
from bowerbird.crawl.access.surveys import Unknown
from bowerbird.crawl.answers.long_lists import LongLists
from bowerbird.crawl.life import not_asked, registry
from bowerbird.crawl.life.rebuilding import queues_of
from bowerbird.crawl.seeding.homes import Homes, host_of
from bowerbird.crawl.seeding.seeder import FlowSeeder, HeardSeeder
from bowerbird.crawl.seeding.starts import starts
from bowerbird.crawl.streaming.stream import Key, Keys, Stream, Tuning
from bowerbird.crawl.streaming.stream_rows import enrol_stream
from bowerbird.crawl.work.lanes import Lane
from bowerbird.event.opened import OWN, POLLED, is_filtered
from bowerbird.event.probing import POSTS as PROBED
from bowerbird.event.probing import ProbeLane
from bowerbird.flows.files.crawl_file import CrawlPlan, ServicePlan
from bowerbird.flows.files.stream_plans import StreamPlan
from bowerbird.flows.flow import STREAM, FacetUse, Flow
from bowerbird.limits.filling import fill
from bowerbird.model import Channel, Credential, Service
from bowerbird.policies.focus import Focus
from bowerbird.policies.registry import WALKS, Place, is_batched_lookup, ranker
from bowerbird.ports import Clock, FlavouredProvider, KeywordProvider, Neighbourhood, Ranker, TabledProvider, Transaction
from bowerbird.providers import provider
from bowerbird.providers.common.asking.tables import thrifty, with_limits
from bowerbird.reports.studies.walks import stored_links
from bowerbird.store.posts.listed import is_source

_PROBE_WEIGHT = 0.5
"""Of probes, where limits are short: what is collected comes before what might be."""


class _View(Struct, frozen=True, kw_only=True):
    """One service as this crawl sees it."""

    planned: ServicePlan
    number: int
    """Of its row."""
    plain: TabledProvider
    """The network with the user's limits."""
    speaks: TabledProvider
    """The same with what this server offers, and as sparing as the budget wants it."""
    served: Served[TabledProvider]
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


async def add_service(tx: Transaction, given: Given, gathered: Gathered, planned: ServicePlan) -> None:
    """Adds the lanes and streams of one service."""
    view = await _view(tx, given, gathered, planned)
    for use in view.uses:
        _add_lane(given, gathered, view, use)
    lost = gathered.lost[view.service.name]
    for use in (use for use in view.kept.facets if use.name in lost):
        gathered.waiting[view.numbers[use.name]] = _waiting(given, view, use, lost[use.name])
    for each in view.streams:
        gathered.streams.append(await _stream(tx, given, gathered, view, each))
    for name in view.probes:
        _add_probes(given, gathered, view, name)
    sources = {view.numbers[use.name]: use.name for use in view.kept.facets if is_source(view.plain.facets[use.name])}
    heard = {each.lane: STREAM for each in gathered.streams if each.service.name == view.service.name}
    gathered.queues.extend(queues_of(view.kept, view.service, view.seeder, view.numbers, sources | heard))


async def _view(tx: Transaction, given: Given, gathered: Gathered, planned: ServicePlan) -> _View:
    plan, service = given.plan, planned.service
    plain = speaking(planned, given.now)
    number = await registry.enrol_service(tx, service, plain.network)
    served = Served(plain, service, given.flavours.get(service.name), gathered.notes)
    lost = gathered.lost[service.name] = served.lost(plan.flow, Asking(planned, plan.services, given.vault))
    streams = served.streams([each for each in plan.streams if each.service.name == service.name], gathered.mute)
    whole = plan.flow.without(OWN) if given.event is not None and streams else plan.flow
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
    return _View(
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
        seeder=FlowSeeder(kept, numbers, partial(Homes(gathered.homes).away_from, service)),
        probes=await _probes(tx, given, number, _probed(given, gathered, service, speaks)),
    )


def _probed(given: Given, gathered: Gathered, service: Service, speaks: TabledProvider) -> list[str]:
    """The facets that candidates can be searched by; where there are none, the user is told."""
    lost = gathered.lost[service.name]
    found = [name for name in POLLED if name in speaks.facets and name not in lost]
    if given.event is not None and given.event.use.probes != 0 and not found:
        why = next(iter(lost.values()), "it has no such search")
        gathered.notes.append(f"Candidates for keywords cannot be tested by searches on {service.name}: {why}.")
    return found


async def _probes(tx: Transaction, given: Given, service: int, facets: Sequence[str]) -> dict[str, int]:
    """The lanes of probes: apart from all others, so that they take turns with them and read one page each."""
    if given.event is None or given.event.use.probes == 0:
        return {}
    return {name: await registry.enrol_lane(tx, given.crawl, service, f"probe {name}") for name in facets}


def _add_probes(given: Given, gathered: Gathered, view: _View, name: str) -> None:
    use = FacetUse(name, weight=_PROBE_WEIGHT, max_pages=1, hints={"limit": str(PROBED)})
    lane = _lane(given, structs.replace(view, numbers={**view.numbers, name: view.probes[name]}), use)
    if given.event is None or not isinstance(view.speaks, KeywordProvider):
        return
    lane = gathered.lanes[lane.lane] = structs.replace(lane, sieve=given.event.probe_sieve())
    credentials = own_credentials(use, view.planned, given.plan.services, given.vault)
    gathered.charges[lane.lane] = charges_of(lane, view.speaks, credentials, given.plan, given.vault)
    gathered.probes.setdefault(name, ProbeLane(lane.lane, view.speaks))


def _add_lane(given: Given, gathered: Gathered, view: _View, use: FacetUse) -> None:
    lane = gathered.lanes[view.numbers[use.name]] = _lane(given, view, use)
    # As the network has it: a batch that a server does not take is still asked by ids alone.
    if lane.facet.is_lookup and view.plain.facets[use.name].objects_per_call == 1:
        gathered.homes[host_of(view.service)] = lane.lane
    credentials = own_credentials(use, view.planned, given.plan.services, given.vault)
    gathered.charges[lane.lane] = charges_of(lane, view.speaks, credentials, given.plan, given.vault)


def _lane(given: Given, view: _View, use: FacetUse) -> Lane:
    place = _place(given.plan, use, view.flow, view.speaks, view.numbers)
    is_searched = use.name in view.searched
    return Lane(
        lane=view.numbers[use.name],
        service=view.service,
        provider=view.speaks,
        facet=view.speaks.facets[use.name],
        ranker=_ranker(given, use, place),
        seeder=HeardSeeder(view.seeder) if is_searched else given.extensions.seeder(view.seeder, view.numbers),
        weight=use.weight * view.flow.weight,
        hints=use.hints,
        max_pages=use.max_pages,
        is_polled=use.revisit is not None,
        sieve=None if given.event is None else given.event.lane_sieve(use.name),
        long_lists=None if use.large_share is None else LongLists(use.large_share, use.large_after),
        follows_opted_out=view.flow.filters.follow_opted_out,
        neighbourhood=_neighbourhood(given, view, use),
        links=stored_links(view.service, view.number, view.speaks.network, place.facet) if place.is_one_sided_walk else None,
    )


def _neighbourhood(given: Given, view: _View, use: FacetUse) -> Neighbourhood | None:
    if use.ranker != Focus.name or given.plan.community is None or not given.plan.community.uses_relations:
        return None
    from bowerbird.app import communities

    return communities.neighbourhood(given.database, view.number, view.speaks.network)


def _waiting(given: Given, view: _View, use: FacetUse, why: str) -> Lane:
    """A lane that is not asked, with the reason."""
    return Lane(
        lane=view.numbers[use.name],
        service=view.service,
        provider=view.plain,
        facet=view.plain.facets[use.name],
        ranker=_ranker(given, use, _place(given.plan, use, view.kept, view.plain, view.numbers)),
        seeder=view.seeder,
        left_out=why,
    )


async def _stream(tx: Transaction, given: Given, gathered: Gathered, view: _View, planned: StreamPlan) -> Stream:
    # Signatures are made over the address that is asked, and streams may have another than the rest.
    plain = provider(planned.service.provider, now=given.now, base=planned.host.base)
    speaks = Served(plain, view.service, view.served.flavour, []).provider
    service, wanted = planned.service, structs.replace(planned.subscription, owner=given.plan.owner)
    is_tuned = isinstance(speaks, KeywordProvider) and is_filtered(speaks, planned, given.event)
    if given.event is not None and isinstance(speaks, KeywordProvider) and is_tuned:
        wanted = await given.event.heard_from_now(tx, speaks, wanted)
    number = await registry.enrol_service(tx, service, speaks.network)
    channel = channel_of(planned, speaks)
    able = stream_credentials(planned, channel, given.plan.services, given.own) or (None,)
    stream = await enrol_stream(tx, given.crawl, number, wanted)
    if isinstance(speaks, KeywordProvider) and is_tuned:
        gathered.tuned[stream] = speaks
    return Stream(
        stream=stream,
        crawl=given.crawl,
        me=given.me.number,
        lane=await registry.enrol_lane(tx, given.crawl, number, f"stream {wanted.name}"),
        tuning=Tuning(wanted),
        service=service,
        host=planned.host,
        provider=listening(speaks),
        seeder=view.seeder,
        keys=Keys([_key(channel, service, each, given.plan) for each in able]),
        sieve=None if given.event is None else given.event.stream_sieve(is_tuned=is_tuned),
    )


def _key(channel: Channel, service: Service, credential: Credential | None, plan: CrawlPlan) -> Key:
    """What opening a stream as somebody takes, and what changing it then does."""
    change = structs.replace(channel.facet, limits=channel.change)
    charges, changes = (paid(facet, service, credential, plan) for facet in (channel.facet, change))
    return Key(credential.name if credential else None, charges, changes)


def _ranker(given: Given, use: FacetUse, place: Place) -> Ranker:
    return given.extensions.ranker(use.ranker, use.revisit, lambda: ranker(use.ranker, use.options, use.revisit, place))


def _place(plan: CrawlPlan, use: FacetUse, flow: Flow, speaks: TabledProvider, numbers: Mapping[str, int]) -> Place:
    facet = speaks.facets[use.name]
    seeds, others = starts(plan.seeds, speaks, facet) if use.ranker in WALKS else ((), 0)
    lanes = tuple(numbers[each.name] for each in flow.facets if each.ranker == use.ranker)
    lookups = (numbers[each.name] for each in flow.facets if is_batched_lookup(speaks.facets[each.name]))
    return Place(facet, lanes, use.ranker, seeds, others, next(lookups, None), use.max_pages)


def speaking(planned: ServicePlan, now: Callable[[], datetime]) -> TabledProvider:
    """The provider of a service with the user's own limits."""
    return with_limits(provider(planned.service.provider, now=now, base=planned.service.base), planned.limits)


def unknown_servers(plan: CrawlPlan, clock: Clock) -> Iterator[Unknown]:
    """The servers of the crawl that may be of many kinds, with what a question to them takes from their limits."""
    for planned in plan.services:
        speaks, name = speaking(planned, clock.now), planned.service.name
        if isinstance(speaks, FlavouredProvider):
            charges = fill(next(iter(speaks.facets_for("none").values())), name, None)
            yield Unknown(speaks, planned.service, tuple(each for each in charges if not each.limit.only_paged))
