"""The modules of a crawl as parts of the process that runs them."""

from __future__ import annotations

from bowerbird.flows.files.crawl_file import CrawlPlan
from bowerbird.modules.backups import BackupTaker, Turns
from bowerbird.modules.media import Collector
from bowerbird.ports import Claims, Clock, Database, MediaTransport, Part


def module_parts(plan: CrawlPlan, database: Database, clock: Clock, media: MediaTransport | None, claims: Claims) -> list[Part]:
    """Scheduled backups and downloads, as far as the plan wants them."""
    found: list[Part] = []
    if plan.backup is not None:
        turns = Turns(database, plan.name, claims, plan.backup.every, clock)
        found.append(Part(name="backup", run=BackupTaker(plan.name, plan.store, plan.backup, clock, turns).run))
    if plan.media is not None and media is not None:
        collector = Collector(database, clock, media, plan.media, claims)
        found.append(Part(name="media", run=collector.run, end=collector.end, finish=collector.finish))
    return found
