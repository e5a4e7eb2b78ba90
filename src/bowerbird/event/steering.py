"""Has streams and searches follow the keywords: filters are changed, targets are added and retired, probes are asked for."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta

from msgspec import Struct, structs

from bowerbird.crawl.work.lanes import Lane
from bowerbird.crawl.work.targets import Targets
from bowerbird.errors import UserError
from bowerbird.event import rows
from bowerbird.event.opened import POLLED
from bowerbird.event.probing import Prober
from bowerbird.flows.keywords import BACKGROUND, KeywordUse
from bowerbird.model import Arrival, Reason, Subscription, TaskState
from bowerbird.ports import Database, Frontier, KeywordProvider, Retunable, Transaction

_WHO = "keywords"
_ASKED = f"select target from tasks where lane = ? and state not in ('{TaskState.RETIRED}', '{TaskState.RETIRING}')"
_LEFT = Reason(_WHO, "it is no keyword any more")
_TUNED = Reason(_WHO, "the keywords have changed")
ALL = "all"
"""The target that shows what everybody writes."""


class Tuned(Struct, frozen=True):
    """A stream whose network filters, and who says how."""

    stream: Retunable
    provider: KeywordProvider


class Polled(Struct, frozen=True):
    """A service without streams: keywords are targets of these lanes, by facet."""

    lanes: dict[str, int]
    provider: KeywordProvider
    by_target: dict[str, str]
    """By lane and target the keyword that it stands for, for those who read the answers."""
    background: int | None = None
    """The lane that shows what everybody writes, where there is one."""


class Steering(Struct, frozen=True, kw_only=True):
    """All that follows the keywords of one crawl."""

    crawl: int
    database: Database
    frontier: Frontier
    targets: Targets
    tuned: Sequence[Tuned]
    polled: Sequence[Polled]
    prober: Prober
    cap: int | None = None
    """Posts that its streams bring at most in a frame."""

    async def follow(self, tx: Transaction, probes: Sequence[Sequence[str]], frame: datetime, now: datetime) -> None:
        """Brings the targets in line with the keywords, and asks for probes, in the transaction that decided so."""
        arrivals = await self.prober.arrange(tx, self.frontier, probes, frame, now)
        arrivals += await self._moved(tx, now)
        if arrivals:
            await self.targets.add(tx, arrivals, None, now)

    async def catch_up(self, now: datetime) -> None:
        """Brings targets and streams in line with the keywords as they are; what is so already stays."""
        async with self.database.transaction() as tx:
            arrivals = await self._moved(tx, now)
            if arrivals:
                await self.targets.add(tx, arrivals, None, now)
        await self.tune()

    async def tune(self) -> None:
        """Has the streams hear the keywords as they are in the database."""
        if not self.tuned:
            return
        async with self.database.reading() as tx:
            terms = rows.heard_as(await rows.read_methods(tx, self.crawl))
        for each in self.tuned:
            await each.stream.retune(heard_by(each.provider, each.stream, terms), _TUNED)

    async def _moved(self, tx: Transaction, now: datetime) -> list[Arrival]:
        """Retires the targets of keywords that left; answers those to add."""
        if not self.polled:
            return []
        terms = rows.union(await rows.read_methods(tx, self.crawl))
        arrivals: list[Arrival] = []
        for each in self.polled:
            arrivals += await self._moved_on(tx, each, terms, now)
        return arrivals

    async def _moved_on(self, tx: Transaction, polled: Polled, terms: Sequence[str], now: datetime) -> list[Arrival]:
        arrivals: list[Arrival] = []
        wanted = polled_targets(polled, terms)
        polled.by_target.update({f"{lane} {target}": term for term, (lane, target) in wanted.items()})
        for lane in polled.lanes.values():
            own = {target for at, target in wanted.values() if at == lane}
            asked = {row["target"] for row in await tx.fetch(_ASKED, lane)}
            if gone := sorted(asked - own):
                await self.frontier.retire(tx, lane, gone, _LEFT, now)
            arrivals += [Arrival(lane=lane, target=target, depth=1) for target in sorted(own - asked)]
        if polled.background is not None and not await tx.fetch(_ASKED, polled.background):
            arrivals.append(Arrival(lane=polled.background, target=ALL, depth=1))
        return arrivals


def polled_services(lanes: Iterable[Lane], by_target: dict[str, str]) -> list[Polled]:
    """The services of these lanes whose keywords are searched for."""
    services: dict[str, list[Lane]] = {}
    for lane in lanes:
        services.setdefault(lane.service.name, []).append(lane)
    found = (_polled(own, by_target) for own in services.values())
    return [each for each in found if each is not None]


def _polled(lanes: Sequence[Lane], by_target: dict[str, str]) -> Polled | None:
    """One service; None where it cannot be asked for keywords."""
    speaks = lanes[0].provider
    own = {lane.facet.name: lane.lane for lane in lanes if lane.facet.name in POLLED}
    if not own or not isinstance(speaks, KeywordProvider):
        return None
    background = next((lane.lane for lane in lanes if lane.facet.name == BACKGROUND), None)
    return Polled(own, speaks, by_target, background)


def most_heard(use: KeywordUse, tuned: Iterable[Tuned]) -> int | None:
    """Posts that the streams bring at most in a frame, where the crawl file or the network says so."""
    streams = (each.provider.keyword_stream(("#event",), each.stream.wanted) for each in tuned)
    told = [each.volume for each in streams if each is not None and each.volume is not None]
    a_minute = use.volume or (sum(told) if told else None)
    return None if a_minute is None else int(a_minute * (use.frame / timedelta(minutes=1)))


def polled_targets(polled: Polled, terms: Sequence[str]) -> dict[str, tuple[int, str]]:
    """By keyword the lane and target that list its posts, as far as there is one, and as many as the network usually takes."""
    found: dict[str, tuple[int, str]] = {}
    for term in terms[: polled.provider.most_keywords]:
        asked = polled.provider.keyword_search(term)
        if asked is not None and asked[0] in polled.lanes:
            found[term] = polled.lanes[asked[0]], asked[1]
    return found


def heard_by(provider: KeywordProvider, stream: Retunable, terms: Sequence[str]) -> Subscription:
    """What a filtered stream is to hear."""
    wanted = provider.keyword_stream(terms[: provider.most_keywords], stream.wanted)
    if wanted is None:
        raise UserError(f"{provider.name} has no stream that filters")
    return structs.replace(stream.wanted, options=wanted.stream.options)
