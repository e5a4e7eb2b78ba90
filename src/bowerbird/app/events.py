"""The event half of a crawl put together: what is followed, who decides, and what is steered."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import timedelta

from msgspec import Struct

from bowerbird.app.crawls import Gathered
from bowerbird.crawl.process.tally import Tally
from bowerbird.crawl.streaming.streamer import Streamer
from bowerbird.crawl.work.bookkeeping import Bookkeeping
from bowerbird.crawl.work.lanes import Lane
from bowerbird.crawl.work.targets import Targets
from bowerbird.event.deciding import Decider
from bowerbird.event.opened import POLLED, OpenedEvent
from bowerbird.event.part import Adapter
from bowerbird.event.probing import Prober
from bowerbird.event.steering import Polled, Steering, Tuned
from bowerbird.flows.files.crawl_file import CrawlPlan
from bowerbird.flows.keywords import BACKGROUND
from bowerbird.ports import Claims, Database, KeywordProvider, Part
from bowerbird.providers import provider

_PROBES, _PAID_PROBES = 20, 2


class Keeping(Struct, frozen=True):
    """Where an event is written down: the accounts of the crawl, its claims, and what is told while it runs."""

    books: Bookkeeping
    claims: Claims
    tally: Tally


def opened_event(plan: CrawlPlan, crawl: int, database: Database) -> OpenedEvent | None:
    """The event half of a crawl; None where its seeds are ordinary targets."""
    if plan.flow.keywords is None:
        return None
    speakers = [provider(each.service.provider) for each in plan.services]
    most = min((each.most_keywords for each in speakers if isinstance(each, KeywordProvider)), default=1)
    heard = {each.service.name for each in plan.streams}
    is_polled = any(each.service.name not in heard for each in plan.services)
    return OpenedEvent(crawl, plan.flow.keywords, database, most=most, is_polled=is_polled)


def event_parts(
    event: OpenedEvent | None, gathered: Gathered, streamers: Sequence[Streamer], targets: Targets, keeping: Keeping
) -> list[Part]:
    """The part that decides frames, in a crawl whose seeds are keywords."""
    if event is None:
        return []
    books = keeping.books
    tuned = [
        Tuned(streamer, gathered.tuned[stream.stream])
        for stream, streamer in zip(gathered.streams, streamers, strict=True)
        if stream.stream in gathered.tuned
    ]
    steering = Steering(
        crawl=event.crawl,
        database=event.database,
        frontier=books.frontier,
        targets=targets,
        tuned=tuned,
        polled=_polled(event, gathered),
        prober=Prober(event.crawl, gathered.probes, _most_probes(event, gathered)),
        cap=_cap(event, tuned),
    )
    decider = Decider(event.methods, event.settings, steering)
    return [Adapter(decider, steering, event.grid, books.clock, keeping.claims, keeping.tally).part()]


def _polled(event: OpenedEvent, gathered: Gathered) -> list[Polled]:
    """The services that are not heard: their keywords are searched for."""
    heard = {stream.service.name for stream in gathered.streams}
    probes = {each.lane for each in gathered.probes.values()}
    asked: dict[str, list[Lane]] = {}
    for number, lane in gathered.lanes.items():
        if lane.service.name not in heard and number not in probes:
            asked.setdefault(lane.service.name, []).append(lane)
    return list(_polls(event, asked.values()))


def _polls(event: OpenedEvent, services: Iterable[Sequence[Lane]]) -> Iterable[Polled]:
    for lanes in services:
        speaks = lanes[0].provider
        own = {lane.facet.name: lane.lane for lane in lanes if lane.facet.name in POLLED}
        background = next((lane.lane for lane in lanes if lane.facet.name == BACKGROUND), None)
        if own and isinstance(speaks, KeywordProvider):
            yield Polled(own, speaks, event.by_target, background)


def _most_probes(event: OpenedEvent, gathered: Gathered) -> int:
    """How many a frame may have: as the crawl file says, and few where each costs money."""
    if event.use.probes is not None:
        return event.use.probes
    is_paid = any(gathered.lanes[each.lane].facet.is_paid for each in gathered.probes.values())
    return _PAID_PROBES if is_paid else _PROBES


def _cap(event: OpenedEvent, tuned: Sequence[Tuned]) -> int | None:
    """Posts that the streams bring at most in a frame, where the crawl file or the network says so."""
    streams = (each.provider.keyword_stream(("#event",), each.stream.wanted) for each in tuned)
    told = [each.volume for each in streams if each is not None and each.volume is not None]
    a_minute = event.use.volume or (sum(told) if told else None)
    return None if a_minute is None else int(a_minute * (event.use.frame / timedelta(minutes=1)))
