"""What one gets who opens a crawl."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence

from msgspec import Struct

from bowerbird.crawl.process.process import Process
from bowerbird.crawl.process.stop_rules import StopRules
from bowerbird.crawl.process.tally import Tally
from bowerbird.crawl.process.workers.enrolment import Enrolment
from bowerbird.crawl.work.bookkeeping import QueryLog
from bowerbird.crawl.work.lanes import Lane
from bowerbird.crawl.work.scheduler import Scheduler
from bowerbird.crawl.work.source import LocalWorkSource
from bowerbird.flows.files.crawl_file import CrawlPlan
from bowerbird.limits.rate_limits import RateLimits
from bowerbird.model import Arrival
from bowerbird.ports import Database
from bowerbird.starting.asking.charges import Options


class Dispatch(Struct, frozen=True, kw_only=True):
    """Who hands out the calls of a crawl in this process, for those who make or try some themselves."""

    source: LocalWorkSource
    scheduler: Scheduler
    rules: StopRules
    log: QueryLog
    me: Enrolment


class Crawl(Struct, frozen=True, kw_only=True):
    """A crawl ready to run, and what those who watch it need."""

    plan: CrawlPlan
    database: Database
    number: int
    """Of its row."""
    process: Process
    seeds: AsyncIterator[Arrival]
    tally: Tally
    ledgers: RateLimits
    lanes: Mapping[int, Lane]
    charges: Mapping[int, Options]
    dispatch: Dispatch
    notes: Sequence[str] = ()
    """What the servers of the crawl cannot do of what it would ask, each as a sentence."""
