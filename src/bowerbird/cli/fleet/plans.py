"""Which crawl a process of a fleet is to work on: one that lives in a database, by name, or that of a crawl file."""

from __future__ import annotations

from pathlib import Path

from msgspec import structs

from bowerbird.app import open_store
from bowerbird.cli.store_addresses import read_plan, store_address
from bowerbird.cli.which import NamedStore, likely_crawls, opened_store
from bowerbird.crawl.life.plan_versions import joined, with_any_credentials
from bowerbird.db.addresses import public
from bowerbird.errors import UserError
from bowerbird.flows.files.crawl_file import CrawlPlan
from bowerbird.flows.flow import WALKS
from bowerbird.limits.vault import FileVault
from bowerbird.ports import Clock
from bowerbird.reports.crawls import read_numbers
from bowerbird.reports.rerun import RerunCommand


async def named_plan(crawl: str | None, store: str | None, vault: FileVault, clock: Clock) -> CrawlPlan:
    """The plan of a crawl file, or of a crawl in a store; raises `UserError` that says what to write."""
    if crawl is not None and crawl.endswith(".toml"):
        plan = with_any_credentials(read_plan(Path(crawl), vault=vault, may_lack_seeds=True))
        plan = structs.replace(plan, called=RerunCommand(file=crawl).stored())
        return structs.replace(plan, store=store_address(store, vault)) if store else plan
    if store is None:
        raise UserError(
            "say where the crawl is: --store postgresql://…, and its name; or name a crawl file (.toml)", code="needs_option"
        )
    where = store_address(store, vault)
    return await planned_in(where, crawl or await _only_crawl(where, clock), clock)


async def planned_in(store: str, crawl: str, clock: Clock) -> CrawlPlan:
    """The plan that holds in a store, for a process that has no file."""
    async with open_store(store, clock) as database, database.reading() as tx:
        if crawl not in (known := await read_numbers(tx)):
            raise UserError(
                f"{public(store)} holds no crawl called {crawl!r}",
                f"there are: {', '.join(known) or 'none'}",
                code="unknown_crawl",
            )
        plan = await joined(tx, crawl, store)
    if walks := [use.name for use in plan.flow.facets if use.ranker in WALKS]:
        raise UserError(
            f"the crawl {crawl} walks from its seeds ({', '.join(walks)}), which are in its file alone",
            "join it with `bowerbird crawl FILE --join`",
        )
    return plan


async def _only_crawl(store: str, clock: Clock) -> str:
    async with opened_store(NamedStore(store), clock) as database, database.reading() as tx:
        names = likely_crawls(await read_numbers(tx))
    if len(names) != 1:
        raise UserError(
            f"{public(store)} holds {len(names)} crawls ({', '.join(names) or 'none'})",
            "say which one is meant",
            code="ambiguous",
        )
    return names[0]
