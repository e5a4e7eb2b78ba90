"""What the first page of the dashboard shows: everything of `status`, and what follows from it."""

from __future__ import annotations

from datetime import datetime

from msgspec import Struct

from bowerbird.db.moment import one_moment
from bowerbird.model import CrawlState
from bowerbird.model.money import in_dollars, thousandths
from bowerbird.ports import Database
from bowerbird.reports.status.status import Status, read_status


class Overview(Struct, frozen=True, kw_only=True):
    """A store at one moment, for somebody who has just come."""

    status: Status

    @property
    def running(self) -> int:
        return sum(crawl.state == CrawlState.RUNNING for crawl in self.status.summary.crawls)

    @property
    def items_per_second(self) -> float | None:
        """Over the last calls, up to now: a crawl that has come to a stop brings less with every second."""
        pace = self.status.health.pace
        seconds = (self.status.now - pace.since).total_seconds() if pace.since else 0
        return pace.items / seconds if seconds > 0 else None

    @property
    def completeness(self) -> float | None:
        told = self.status.health.completeness
        return told.stored / told.claimed if told.claimed else None

    @property
    def dollars(self) -> str:
        return in_dollars(thousandths(sum(purse.spent for purse in self.status.purses if not purse.is_crawl)))


async def read_overview(database: Database, now: datetime) -> Overview:
    """Reads it all, as of one moment."""
    async with one_moment(database) as moment:
        return Overview(status=await read_status(moment, now))
