"""An audit put together: a small crawl of its own, within the limits of the one that is audited."""

from __future__ import annotations

from datetime import timedelta

from msgspec import structs

from bowerbird.app.opening import open_crawl
from bowerbird.crawl.life.extensions import Extensions
from bowerbird.crawl.process.workers.running import check_upgrade
from bowerbird.flows.files.crawl_file import CrawlPlan
from bowerbird.reports.audits import Audited
from bowerbird.starting.outside import Outside
from bowerbird.store.opening import open_store
from bowerbird.studies.audits.audit import begin_audit, end_audit
from bowerbird.studies.audits.choosing import Wish
from bowerbird.studies.audits.comparing import AuditStore
from bowerbird.studies.audits.own_crawl import audit_plan, audit_targets

_LOOK = timedelta(seconds=1)


async def audit_posts(plan: CrawlPlan, outside: Outside, wish: Wish) -> Audited:
    """Asks for recent posts of random members again; answers which part of them is stored."""
    async with open_store(plan.store, outside.clock, check=check_upgrade) as database:
        audit, chosen = await begin_audit(database, plan, wish, outside.clock.now())
        extensions = Extensions(store=lambda usual, store, _: AuditStore(usual, store, audit, wish.newest, chosen))
        asking = structs.replace(outside, participation=structs.replace(outside.participation, is_alone=False), messenger=None)
        async with open_crawl(audit_plan(plan, wish, audit), asking, extensions) as opened:
            targets = audit_targets(opened.lanes.values(), chosen)
            ending = await opened.process.run(targets, slots=opened.plan.concurrency, watch_every=_LOOK)
        return await end_audit(database, audit, ending.reason, outside.clock.now())
