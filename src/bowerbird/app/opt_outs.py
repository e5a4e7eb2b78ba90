"""The opt-out list of a crawl file, with who finds people in the store and takes their pictures off the disk."""

from __future__ import annotations

from collections.abc import Sequence

from bowerbird.flows.files.crawl_file import CrawlPlan
from bowerbird.model import Subject
from bowerbird.modules.media.files import MediaFolder
from bowerbird.ports import Clock, Database, Transaction
from bowerbird.reports.histories.meant import Finder
from bowerbird.store.forgetting.opt_outs import OptOutList, keep_out


async def heed_opt_outs(plan: CrawlPlan, database: Database, clock: Clock) -> None:
    """Keeps out whoever is on the list of the plan, where it names one."""
    if not plan.consent.opt_out or plan.is_joined:
        return

    async def find(tx: Transaction, people: Sequence[str]) -> tuple[frozenset[int], frozenset[str]]:
        meant = await Finder(database, tx, None, Subject.USER).find(people)
        return frozenset(meant.users), frozenset(meant.names)

    listing = OptOutList(
        crawl=plan.name,
        file=plan.consent.opt_out,
        services=tuple(each.service for each in plan.services),
        find=find,
        remove=None if plan.media is None else MediaFolder(plan.media.folder).remove,
    )
    await keep_out(listing, database, clock)
