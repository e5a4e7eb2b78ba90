"""What a running crawl looks like at one moment: values only, for the panel, the plain lines and the machine alike."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from msgspec import Struct

from bowerbird.flows.flow import Size
from bowerbird.limits.budget import BudgetStatus
from bowerbird.model import ShownState, StreamState
from bowerbird.reports.keywords.method_counts import MethodCounts
from bowerbird.reports.status.money import month_values, spent_values


class Lane(Struct, frozen=True, kw_only=True):
    """One facet on one service: what it did in this run and what waits."""

    facet: str
    calls: int
    items: int
    waiting: int
    is_exact: bool = True


class StreamGlimpse(Struct, frozen=True, kw_only=True):
    """One stream the crawl listens to."""

    name: str
    state: StreamState
    events: int
    """Over the crawl's whole life."""
    gaps: int
    """That nothing has filled, or not yet."""
    behind: timedelta | None = None


class Bucket(Struct, frozen=True, kw_only=True):
    """One limit of a service, as our account has it now."""

    name: str
    remaining: int
    allowance: int
    resets_at: datetime | None
    waits_until: datetime | None = None
    """A back-off after trouble with the service."""

    @property
    def tightness(self) -> float:
        return self.remaining / max(1, self.allowance)


class Glimpse(Struct, frozen=True, kw_only=True):
    """A crawl at one moment."""

    now: datetime
    name: str
    flow: str
    store: str
    state: ShownState
    elapsed: timedelta
    whole: Size
    """The whole crawl, with earlier runs and other processes."""
    run: Size
    """What this process did."""
    calls_per_second: float
    items_per_second: float
    lanes: tuple[Lane, ...]
    buckets: tuple[Bucket, ...]
    """The tightest first; money is not among them."""
    purses: tuple[BudgetStatus, ...] = ()
    """Of the services in this month, and of the crawl."""
    streams: tuple[StreamGlimpse, ...] = ()
    keywords: tuple[MethodCounts, ...] = ()
    """By method, in a crawl whose seeds are keywords."""
    doing: str
    left: str
    trouble: str = ""
    trouble_at: datetime | None = None
    given_up: int = 0
    by_outcome: dict[str, int] = {}
    is_down: bool = False
    """A service does not answer, and `doing` says so."""

    @property
    def relations(self) -> int:
        return self.whole.items - self.whole.users - self.whole.posts

    @property
    def waiting(self) -> int:
        return sum(lane.waiting for lane in self.lanes)

    @property
    def trouble_age(self) -> timedelta:
        return timedelta(0) if self.trouble_at is None else self.now - self.trouble_at


def as_values(glimpse: Glimpse) -> dict[str, Any]:
    """The glimpse for machines."""
    return {
        "at": glimpse.now,
        "crawl": glimpse.name,
        "flow": glimpse.flow,
        "store": glimpse.store,
        "state": glimpse.state,
        "seconds": round(glimpse.elapsed.total_seconds(), 3),
        **_sized(glimpse.whole),
        "relations": glimpse.relations,
        **spent_values(glimpse.purses, glimpse.name),
        "months": month_values(glimpse.purses),
        "run": _sized(glimpse.run),
        "calls_per_second": round(glimpse.calls_per_second, 3),
        "items_per_second": round(glimpse.items_per_second, 3),
        "waiting": glimpse.waiting,
        "given_up": glimpse.given_up,
        "outcomes": glimpse.by_outcome,
        "facets": {lane.facet: {"calls": lane.calls, "items": lane.items, "waiting": lane.waiting} for lane in glimpse.lanes},
        "buckets": {
            bucket.name: {"remaining": bucket.remaining, "allowance": bucket.allowance, "resets_at": bucket.resets_at}
            for bucket in glimpse.buckets
        },
        "streams": {
            ear.name: {"state": ear.state, "events": ear.events, "open_gaps": ear.gaps, "behind_seconds": _seconds(ear.behind)}
            for ear in glimpse.streams
        },
        "doing": glimpse.doing,
        "left": glimpse.left,
        "trouble": glimpse.trouble or None,
        "trouble_at": glimpse.trouble_at,
    }


def _seconds(span: timedelta | None) -> float | None:
    return None if span is None else round(span.total_seconds(), 3)


def _sized(size: Size) -> dict[str, int]:
    return {"calls": size.calls, "items": size.items, "users": size.users, "posts": size.posts}
