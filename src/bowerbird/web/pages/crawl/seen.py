"""A crawl as its pages show it, read through reports."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta

import msgspec
from msgspec import Struct

from bowerbird.crawl.life import registry
from bowerbird.crawl.process.workers.running import living
from bowerbird.db.moment import one_moment
from bowerbird.flows.flow import Flow, Size
from bowerbird.model import ShownState, StreamState
from bowerbird.reports.reader import Reader
from bowerbird.reports.status.left_out import NotAsked, read_left_out
from bowerbird.reports.status.streams import StreamReport, read_streams
from bowerbird.reports.status.summary import CrawlReport
from bowerbird.reports.working import paces as rates
from bowerbird.reports.working.frontier import LaneLoad, Led, read_frontier, read_led
from bowerbird.reports.working.left import TimeLeft, time_left
from bowerbird.reports.working.paces import Course, Pace, read_course, read_minutes, read_open
from bowerbird.web.answers.kept import Kept
from bowerbird.web.errors import NotFound
from bowerbird.web.site import Site

_RECENT = timedelta(minutes=10)
"""What counts as now, where something is said per minute."""
_LEAST = 1 / 60
"""Less than a second is no time to tell a rate by, in minutes."""


class Seen(Struct, frozen=True, kw_only=True):
    """One crawl at one moment; `loads`, `led` and the course of its pace are some seconds older."""

    crawl: CrawlReport
    flow: Flow
    now: datetime
    paces: list[Pace]
    loads: list[LaneLoad]
    led: Mapping[tuple[str, str], Led]
    left: TimeLeft
    streams: list[StreamReport]
    left_out: list[NotAsked]
    lately: timedelta
    """The time over which something is said per minute."""
    ran: timedelta
    """How long it was run, in all, until now where somebody works on it."""
    is_run: bool
    """Somebody works on it now."""

    @property
    def state(self) -> ShownState:
        return self.crawl.shown_state(is_run=self.is_run)

    @property
    def waiting(self) -> int:
        return sum(load.waiting for load in self.loads)

    @property
    def is_exact(self) -> bool:
        return all(load.is_exact for load in self.loads)

    @property
    def a_minute(self) -> float:
        """Items of late; of a crawl that nobody runs over all the time that it was run, which no longer changes."""
        return sum(pace.a_minute for pace in self.paces) if self.is_run else self.by_minute(self.crawl.items)

    @property
    def calls_a_minute(self) -> float:
        return sum(pace.calls_a_minute for pace in self.paces) if self.is_run else self.by_minute(self.crawl.calls)

    @property
    def is_long(self) -> bool:
        """What is said per minute is over the time of late; otherwise since it began."""
        return self.now - self.crawl.created_at > self.lately

    def by_minute(self, count: int) -> float:
        """So many in a minute, over all the time that the crawl was run."""
        return count / max(self.ran / timedelta(minutes=1), _LEAST)


class Crawls:
    """What the pages of all crawls share: the slower a figure changes, the longer it is kept."""

    def __init__(self, site: Site) -> None:
        self._site = site
        self.course: Kept[Course] = Kept(site.clock, timedelta(seconds=30), self._course)
        self._led: Kept[dict[tuple[str, str], Led]] = Kept(site.clock, timedelta(seconds=10), self._read_led)
        self._loads: Kept[list[LaneLoad]] = Kept(site.clock, timedelta(seconds=5), self._read_loads)
        self.seen: Kept[Seen] = Kept(site.clock, timedelta(seconds=1), self._seen)

    async def crawl(self, name: str, reader: Reader | None = None) -> CrawlReport:
        """Raises `NotFound` where there is none of this name."""
        found = await (reader or self._site.reader).crawl(name)
        if found is None:
            raise NotFound(f"there is no crawl {name!r} in this store", "its crawls are listed at /crawls", code="unknown_crawl")
        return found

    async def _course(self, name: str) -> Course:
        async with one_moment(self._site.database) as still, still.reading() as tx:
            return await read_course(tx, (await self.crawl(name, Reader(still))).crawl)

    async def _read_led(self, name: str) -> dict[tuple[str, str], Led]:
        async with one_moment(self._site.database) as still, still.reading() as tx:
            number = (await self.crawl(name, Reader(still))).crawl
            return await read_led(tx, still, number, self._site.clock.now())

    async def _read_loads(self, name: str) -> list[LaneLoad]:
        async with one_moment(self._site.database) as still, still.reading() as tx:
            crawl = await self.crawl(name, Reader(still))
            return await read_frontier(tx, still, crawl.crawl, flow_of(crawl), self._site.clock.now())

    async def loads(self, name: str) -> list[LaneLoad]:
        return (await self._loads.get(name)).value

    async def services(self, name: str) -> set[str]:
        """Which services a crawl asks."""
        return {load.service for load in (await self._loads.at_once(name)).value}

    async def _seen(self, name: str) -> Seen:
        course, loads = (await self.course.get(name)).value, await self.loads(name)
        led, now = (await self._led.get(name)).value, self._site.clock.now()
        async with one_moment(self._site.database) as still, still.reading() as tx:
            crawl = await self.crawl(name, Reader(still))
            minutes = await read_minutes(tx, crawl.crawl, max(now - _RECENT, crawl.created_at))
            heard = await read_open(tx, crawl.crawl)
            streams = [stream for stream in await read_streams(tx) if stream.crawl == name]
            left_out = await read_left_out(tx, name)
            members = await living(tx, name, now)
            # The last sign of life of those who work now is some seconds old.
            unsaid = now - max((member.seen_at for member in members), default=now)
            ran = await registry.time_run(tx, name) + max(unsaid, timedelta())
        flow, found = flow_of(crawl), rates.paces(minutes, course, heard, now)
        size = Size(calls=crawl.calls, items=crawl.items, users=crawl.users, posts=crawl.posts, elapsed=ran)
        listens = any(stream.state is StreamState.LIVE for stream in streams)
        return Seen(
            crawl=crawl,
            flow=flow,
            now=now,
            paces=found,
            loads=loads,
            led=led,
            left=time_left(flow, loads, found, size, listens=listens),
            streams=streams,
            left_out=left_out,
            lately=now - minutes.since,
            ran=ran,
            is_run=bool(members),
        )


def flow_of(crawl: CrawlReport) -> Flow:
    """The flow that its last start wrote down."""
    return msgspec.json.decode(crawl.flow, type=Flow)
