"""What every part of the ledger looks at: the lanes, until when each crawl looked, and when services were down."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta

from msgspec import Struct

from bowerbird.clock import from_micros
from bowerbird.errors import Failure
from bowerbird.model import Facet
from bowerbird.ports import Transaction

Facets = Callable[[str, str], Facet | None]
"""The facet of a provider by name: the tables of the networks live elsewhere."""

_LANES = """
select l.lane, l.facet, l.left_out, c.name as crawl, s.service, s.name as service_name, s.provider, s.network,
    coalesce((select max(w.seen_at) from workers w where w.name = c.name), c.updated_at) as as_of
from lanes l join crawls c on c.crawl = l.crawl join services s on s.service = l.service order by l.lane
"""
_OUTAGES = "select service, began_at, ended_at from outages order by began_at, service"
_MOSTLY = 0.5


class LaneFacts(Struct, frozen=True, kw_only=True):
    """One lane and until when its crawl was run: what happens after that is nobody's loss."""

    lane: int
    crawl: str
    service: int
    service_name: str
    network: str
    facet: Facet
    as_of: datetime
    left_out: str = ""
    """Why it is not asked; empty: it is."""


class Span(Struct, frozen=True):
    since: datetime
    until: datetime | None


class Surroundings(Struct, frozen=True, kw_only=True):
    """The lanes of a store, and the outages of its services."""

    lanes: Sequence[LaneFacts]
    outages: Mapping[str, Sequence[Span]]
    crawl: str | None = None
    """The one whose lines are wanted; None: those of all."""

    @property
    def wanted(self) -> list[LaneFacts]:
        """The lanes to tell of, those of the crawl that ran last first."""
        lanes = [lane for lane in self.lanes if self.crawl in (None, lane.crawl)]
        return sorted(lanes, key=lambda lane: lane.as_of, reverse=True)

    def was_out(self, lane: LaneFacts, since: datetime) -> bool:
        """Whether a service was down for most of the time in which something waited to be asked."""
        spans = self.outages.get(lane.service_name)
        if not spans:
            return False
        waited = lane.as_of - since
        down = sum((_overlap(span, since, lane.as_of) for span in spans), timedelta(0))
        return down > timedelta(0) and down >= waited * _MOSTLY


def _overlap(span: Span, since: datetime, until: datetime) -> timedelta:
    return max(min(span.until or until, until) - max(span.since, since), timedelta(0))


async def read_surroundings(tx: Transaction, facets: Facets, crawl: str | None = None) -> Surroundings:
    lanes = []
    for row in await tx.fetch(_LANES):
        facet = facets(row["provider"], row["facet"])
        # The calls of a stream have a lane too, and no facet.
        if facet is None:
            continue
        lanes.append(
            LaneFacts(
                lane=row["lane"],
                crawl=row["crawl"],
                service=row["service"],
                service_name=row["service_name"],
                network=row["network"],
                facet=facet,
                as_of=from_micros(row["as_of"]),
                left_out=Failure.from_json(row["left_out"]).problem if row["left_out"] else "",
            )
        )
    return Surroundings(lanes=lanes, outages=await _outages(tx), crawl=crawl)


async def _outages(tx: Transaction) -> dict[str, list[Span]]:
    spans: dict[str, list[Span]] = {}
    for row in await tx.fetch(_OUTAGES):
        until = None if row["ended_at"] is None else from_micros(row["ended_at"])
        spans.setdefault(row["service"], []).append(Span(from_micros(row["began_at"]), until))
    return spans
