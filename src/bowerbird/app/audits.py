"""Run an audit: a small crawl within the limits of the audited one."""

from __future__ import annotations

from datetime import timedelta

from msgspec import structs

from bowerbird.app.opening import open_crawl
from bowerbird.crawl.life.extensions import Extensions
from bowerbird.flows.files.crawl_file import CrawlPlan
from bowerbird.reports.audits import Audited
from bowerbird.starting.outside import Outside
from bowerbird.store.opening import open_store
from bowerbird.studies.audits import AuditOptions, AuditStore, audit_plan, audit_targets, begin_audit, end_audit

_LOOK = timedelta(seconds=1)


async def audit_posts(plan: CrawlPlan, outside: Outside, options: AuditOptions) -> Audited:
    """Request recent posts of random members again and return the share that is stored."""
    async with open_store(plan.store, outside.clock) as database:
        audit, accounts = await begin_audit(database, plan, options, outside.clock.now())
        extensions = Extensions(store=lambda usual, store, _: AuditStore(usual, store, audit, options.newest, accounts))
        asking = structs.replace(outside, participation=structs.replace(outside.participation, is_alone=False), messenger=None)
        async with open_crawl(audit_plan(plan, options, audit), asking, extensions) as opened:
            targets = audit_targets(opened.lanes.values(), accounts)
            ending = await opened.process.run(targets, slots=opened.plan.concurrency, watch_every=_LOOK)
        return await end_audit(database, audit, str(ending.reason), outside.clock.now())
