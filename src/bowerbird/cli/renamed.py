"""A crawl file under another name would start another crawl in the same store and ask everything again: that is said first."""

from __future__ import annotations

import sys

import msgspec
import typer
from msgspec import structs

from bowerbird.app import Outside, ground_of
from bowerbird.cli.before import exists
from bowerbird.crawl.files.crawl_file import CrawlPlan
from bowerbird.db import open_database
from bowerbird.db.addresses import public
from bowerbird.db.versions import version_of
from bowerbird.errors import UserError
from bowerbird.ports import Database
from bowerbird.store.reader import Reader
from bowerbird.store.summary import CrawlState

_ASKED = """
select 1 as found from tasks join lanes on lanes.lane = tasks.lane where lanes.crawl = ? and tasks.target = ? limit 1
"""


async def as_known(plan: CrawlPlan, outside: Outside) -> CrawlPlan:
    """The plan, under the name of the crawl that it was begun as if the user says so.

    Raises `UserError` where nobody can be asked.
    """
    known = await _begun_as(plan, outside)
    if known is None:
        return plan
    what = (
        f"{public(plan.store)} holds the crawl {known.name!r} of the same flow and seeds, with {known.calls:,} calls made; "
        f"{plan.name!r} would be another one beside it and ask everything again"
    )
    if not sys.stdin.isatty():
        raise UserError(
            f'{what}. Was the file renamed? Go on with the old one by --as {known.name} (or name = "{known.name}" in the crawl '
            f"file), or begin another by --as {plan.name}"
        )
    is_meant = typer.confirm(f"{what[0].upper()}{what[1:]}. Go on with {known.name!r} instead?", default=True, err=True)
    return structs.replace(plan, name=known.name) if is_meant else plan


async def _begun_as(plan: CrawlPlan, outside: Outside) -> CrawlState | None:
    """Another crawl of the store that asked about the first seed with the same flow; None where the plan has its own there."""
    if not exists(plan.store):
        return None
    database = await open_database(plan.store, outside.clock)
    try:
        if await version_of(database) is None:
            return None
        crawls = await Reader(database).crawls()
        if any(each.name == plan.name for each in crawls):
            return None
        same = [each for each in crawls if each.calls and msgspec.json.decode(each.flow)["name"] == plan.flow.name]
        return next(iter([each for each in same if await _asked_about(database, plan, each)]), None)
    finally:
        await database.close()


async def _asked_about(database: Database, plan: CrawlPlan, crawl: CrawlState) -> bool:
    seed = next(iter(plan.seeds), None)
    if seed is None:
        return False
    try:
        target = ground_of(plan).place(seed).target
    except UserError:
        return False
    async with database.reading() as tx:
        return await tx.fetch_one(_ASKED, crawl.crawl, target) is not None
