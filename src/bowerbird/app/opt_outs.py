"""The opt-out list of a crawl file: whoever is on it leaves the store before the first call, and stays out."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from bowerbird.errors import UserError
from bowerbird.flows.files.crawl_file import CrawlPlan
from bowerbird.model import Subject
from bowerbird.modules.media.files import MediaFolder
from bowerbird.ports import Clock, Database, Transaction
from bowerbird.reports.histories.meant import Finder
from bowerbird.store.forgetting.lists import OptOuts, read_opt_outs
from bowerbird.store.forgetting.names import wished
from bowerbird.store.forgetting.requests import Forgetter, Wish, is_unfinished
from bowerbird.store.forgetting.tombstones import Tombstones

_FILES = "select 1 as kept from media_files where path is not null limit 1"


async def keep_out(plan: CrawlPlan, database: Database, clock: Clock) -> None:
    """Forgets whoever is on the list and was not forgotten before; what was done already costs a look at the list."""
    if not plan.consent.opt_out or plan.is_joined:
        return
    listed = read_opt_outs(Path(plan.consent.opt_out), [each.service for each in plan.services])
    marks = Tombstones()
    async with database.reading() as tx:
        await marks.load(tx)
        news = [each for each in listed.people if not all(map(marks.holds, wished(each, None, Subject.USER)))]
        is_known = not news and marks.holds_lines(listed.lines)
        if is_known and not await is_unfinished(tx):
            return
        wish = await _wish(plan, database, tx, OptOuts(tuple(news), listed.lines))
        remove = await _remover(plan, tx)
    await Forgetter(database, clock, remove).forget(wish)


async def _wish(plan: CrawlPlan, database: Database, tx: Transaction, listed: OptOuts) -> Wish:
    meant = await Finder(database, tx, None, Subject.USER).find(listed.people)
    return Wish(
        who=f"the opt-out list of the crawl {plan.name}",
        why="whoever is on the list is not collected",
        users=frozenset(meant.users),
        names=frozenset(meant.names),
        lines=listed.lines,
    )


async def _remover(plan: CrawlPlan, tx: Transaction) -> Callable[[str], object]:
    """Takes their pictures and films off the disk; raises `UserError` where there are some and nothing says where."""
    if plan.media is not None:
        return MediaFolder(plan.media.folder).remove
    if await tx.fetch_one(_FILES) is None:
        return lambda media: None
    raise UserError(
        f"people on {plan.consent.opt_out} are new, and the store has pictures or films on disk, of which this crawl file "
        f"does not say where they are: begin with `bowerbird forget {plan.consent.opt_out} --media FOLDER`"
    )
