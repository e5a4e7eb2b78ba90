"""The crawl that an audit asks with: what it asks, and how nothing is left of it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import ceil

from msgspec import structs

from bowerbird.crawl.work.lanes import Lane
from bowerbird.errors import UserError
from bowerbird.flows.files.crawl_file import CrawlPlan
from bowerbird.flows.files.sections.seed_list import SeedList
from bowerbird.flows.flow import FacetUse, Flow, Stop
from bowerbird.model import Arrival
from bowerbird.ports import Transaction
from bowerbird.providers import provider
from bowerbird.studies.audits.choosing import Chosen, Wish

_TIMELINE = "timeline"
# Its calls become the audited crawl's: in its lane of the same name, or in the one that moves there.
_MOVED = """
update lanes set crawl = ? where crawl = ? and not exists (
    select 1 from lanes o where o.crawl = ? and o.service = lanes.service and o.facet = lanes.facet)
"""
_CALLS = """
update calls set crawl = ?, lane = coalesce((
    select o.lane from lanes l join lanes o on o.service = l.service and o.facet = l.facet and o.crawl = ?
    where l.lane = calls.lane), lane) where crawl = ?
"""
LANE_TABLES = ("changes", "gaps", "keyword_probes", "rebuilds", "shortfalls", "sightings", "tasks")
CRAWL_TABLES = (
    "admissions", "backups", "candidates", "consents", "controls", "inputs", "keyword_frames", "keyword_labels", "keyword_orders",
    "keyword_posts", "keyword_probes", "keyword_progress", "keyword_samples", "keywords", "keyword_methods", "label_samples",
    "labels", "meanings", "module_runs", "modules", "outputs", "place_names", "plans", "post_days", "results", "streams", "lanes",
    "crawls",
)  # fmt: skip
"""Everything that names a crawl goes with the audit's own: on SQLite the next crawl may get its number. A test holds both lists
against the schema."""
MOVED_TABLES = ("calls", "errors")
"""What becomes the audited crawl's instead."""
_OF_LANES = (
    "delete from paging where task in (select t.task from tasks t join lanes l on l.lane = t.lane where l.crawl = ?)",
    *(f"delete from {table} where lane in (select lane from lanes where crawl = ?)" for table in LANE_TABLES),
)
_OF_CRAWL = tuple(f"delete from {table} where crawl = ?" for table in CRAWL_TABLES)


def audit_plan(plan: CrawlPlan, wish: Wish, audit: int) -> CrawlPlan:
    """A crawl of its own, of timelines alone, in the same store and within the same limits."""
    pages = 1
    for each in plan.services:
        facets = provider(each.service.provider).facets
        if _TIMELINE not in facets:
            raise UserError(f"{each.service.provider} cannot be asked for the posts of an account: nothing can be audited there")
        if facets[_TIMELINE].is_paid and wish.dollars is None:
            raise UserError(f"{each.service.provider} bills what it shows: say with --dollars how much the audit may spend")
        pages = max(pages, ceil(wish.newest / facets[_TIMELINE].results_per_call))
    used = next((use for use in plan.flow.facets if use.name == _TIMELINE), FacetUse(_TIMELINE))
    use = FacetUse(_TIMELINE, max_pages=pages, hints=used.hints, credentials=used.credentials)
    flow = Flow(f"audit of {plan.flow.name}", (use,), seeds=(_TIMELINE,), stop=Stop(dollars=wish.dollars))
    return structs.replace(
        plan, name=f"audit {audit} of {plan.name}", flow=flow, seeds=SeedList(), streams=(), places=(), searches=(), backup=None,
        media=None, called={},
    )  # fmt: skip


def audit_targets(lanes: Iterable[Lane], chosen: Sequence[Chosen]) -> list[Arrival]:
    """The accounts of an audit as targets of its lanes."""
    numbers = {lane.service.name: lane.lane for lane in lanes}
    return [Arrival(lane=numbers[each.service], target=each.key) for each in chosen if each.service in numbers]


async def tidy(tx: Transaction, audit: int) -> None:
    """Leaves nothing of the audit's own crawl but its calls, which are the audited crawl's from now on: a store shall not seem to
    hold two crawls because one of them was looked at."""
    row = await tx.fetch_one(
        "select w.crawl as whole, o.crawl as own from audits a join crawls w on w.crawl = a.crawl "
        "join crawls o on o.name = 'audit ' || a.audit || ' of ' || w.name where a.audit = ?",
        audit,
    )
    if row is None:
        return
    whole, own = int(row["whole"]), int(row["own"])
    await tx.execute(_CALLS, whole, whole, own)
    await tx.execute("update errors set crawl = ? where crawl = ?", whole, own)
    for statement in _OF_LANES:
        await tx.execute(statement, own)
    await tx.execute(_MOVED, whole, own, whole)
    for statement in _OF_CRAWL:
        await tx.execute(statement, own)
