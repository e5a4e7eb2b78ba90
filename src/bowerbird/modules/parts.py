"""The modules of a crawl as parts of the process that runs them."""

from __future__ import annotations

from msgspec import Struct

from bowerbird.flows.files.crawl_file import CrawlPlan
from bowerbird.modules.backups import BackupTaker, Copies, Turns
from bowerbird.modules.media import Collector
from bowerbird.ports import Claims, Clock, Database, MediaTransport, Part


class Around(Struct, frozen=True):
    """What they work with."""

    database: Database
    clock: Clock
    claims: Claims


def module_parts(plan: CrawlPlan, around: Around, media: MediaTransport | None, copies: Copies | None = None) -> list[Part]:
    """Scheduled backups and downloads, as far as the plan wants them. `copies`: copies the media with each backup."""
    database, clock, claims = around.database, around.clock, around.claims
    found: list[Part] = []
    # They need folders of the machine that has the crawl file.
    if plan.is_joined:
        return found
    if plan.backup is not None:
        turns = Turns(database, plan.name, claims, plan.backup.every, clock)
        found.append(Part(name="backup", run=BackupTaker(plan.store, plan.backup, turns, copies).run))
    if plan.media is not None and media is not None:
        collector = Collector(database, clock, media, plan.media, claims)
        found.append(Part(name="media", run=collector.run, end=collector.end, finish=collector.finish))
    return found
