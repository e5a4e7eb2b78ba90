"""What can be steered of a store: its crawls, who runs them, and which of their facets and workers are held back."""

from __future__ import annotations

from datetime import datetime

from msgspec import Struct

from bowerbird.crawl.process.workers.running import Member, living
from bowerbird.db.moment import one_moment
from bowerbird.model import CrawlState, ShownState
from bowerbird.ports import Database
from bowerbird.reports.reader import Reader
from bowerbird.reports.status.summary import CrawlReport

_FACETS = """
select c.name as crawl, l.facet as name, max(k.wanted) as wanted from lanes l join crawls c on c.crawl = l.crawl
left join controls k on k.crawl = l.crawl and k.kind = 'facet' and k.name = l.facet
where l.facet <> 'survey'
group by c.name, l.facet order by min(l.lane)
"""
_WORKERS = """
select w.name as crawl, w.label as name, max(k.wanted) as wanted from workers w join crawls c on c.name = w.name
left join controls k on k.crawl = c.crawl and k.kind = 'worker' and k.name = w.label
where w.ended_at is null and w.label is not null group by w.name, w.label order by min(w.worker)
"""


class SteeredPart(Struct, frozen=True):
    """A facet or a worker, and what is wanted of it."""

    kind: str
    name: str
    wanted: CrawlState


class SteeredCrawl(Struct, frozen=True, kw_only=True):
    """A crawl, who runs it, and its parts."""

    crawl: CrawlReport
    members: tuple[Member, ...]
    facets: tuple[SteeredPart, ...]
    workers: tuple[SteeredPart, ...]

    @property
    def is_running(self) -> bool:
        return bool(self.members)

    @property
    def state(self) -> ShownState:
        return self.crawl.shown_state(is_run=self.is_running)


async def read_steered(database: Database, now: datetime) -> list[SteeredCrawl]:
    """Everything that has a control, in the order in which the crawls were begun."""
    async with one_moment(database) as still, still.reading() as tx:
        crawls = await Reader(still).crawls()
        members = await living(tx, None, now)
        parts = [
            (row["crawl"], SteeredPart(kind, row["name"], CrawlState(row["wanted"] or CrawlState.RUNNING)))
            for kind, sql in (("facet", _FACETS), ("worker", _WORKERS))
            for row in await tx.fetch(sql)
        ]
    return [
        SteeredCrawl(
            crawl=crawl,
            members=tuple(each for each in members if each.crawl == crawl.name),
            facets=tuple(part for name, part in parts if name == crawl.name and part.kind == "facet"),
            workers=tuple(part for name, part in parts if name == crawl.name and part.kind == "worker"),
        )
        for crawl in crawls
    ]
