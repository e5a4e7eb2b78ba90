"""What is looked at before a crawl starts, so that a mistake is named at once and not after an hour of retries."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

from msgspec import Struct, structs

from bowerbird.app import Outside, unknown_servers
from bowerbird.cli.checks.services import AddressError, in_vain, look, lost_facets, missing
from bowerbird.crawl.access.surveys import Survey
from bowerbird.crawl.life import registry
from bowerbird.crawl.life.moved_service import proved
from bowerbird.crawl.process.workers.running import Member, living, running_already
from bowerbird.db import open_database
from bowerbird.db.addresses import public
from bowerbird.db.tables import is_store
from bowerbird.errors import UserError
from bowerbird.flows.files.crawl_file import CrawlPlan, ServicePlan
from bowerbird.flows.files.sections.seed_list import SeedQuery
from bowerbird.flows.flow import Size
from bowerbird.limits.budget import budget_statuses
from bowerbird.limits.rate_limits import RateLimits
from bowerbird.model import CrawlState, ServerInfo
from bowerbird.ports import Vault
from bowerbird.reports.reader import Reader
from bowerbird.reports.seeds.chosen import chosen
from bowerbird.reports.status.money import own_purse
from bowerbird.reports.status.summary import CrawlReport
from bowerbird.starting.plan_checks import check_credentials, left_out, sorted_seeds


class _Known(Struct, frozen=True):
    """What the store knows of a crawl: how it stands, who runs it now, and how long it was run in all."""

    state: CrawlReport | None = None
    workers: list[Member] = []
    ran: timedelta = timedelta(0)
    spent: float = 0.0
    """Dollars, in all."""
    proved: frozenset[tuple[str, str]] = frozenset()
    """Services that gave a good answer, and the addresses at which they did."""
    ledgers: RateLimits = RateLimits()
    """What the limits of the servers have left, as far as the store knows."""


class Start(Struct, frozen=True):
    """A crawl that may start: the plan as this run will follow it, and what its servers said of themselves when asked."""

    plan: CrawlPlan
    asked: Mapping[str, Survey]
    notes: tuple[str, ...] = ()
    """What is left out, for the user to know once the crawl really starts."""


async def check_start(
    plan: CrawlPlan, outside: Outside, limits: Mapping[str, Any], *, may_join: bool, say: Callable[[str], None]
) -> Start:
    """Everything that can be known before the first call; raises `UserError` for what the user must change first."""
    unusable = sorted_seeds(plan, {})
    unusable.check(skips_bad=plan.skips_bad)
    for planned in plan.services:
        check_credentials(plan, planned, outside.vault)
    known = await _found(plan, outside) if exists(plan.store) else _Known()
    if known.workers and not may_join:
        raise running_already(plan.name, known.workers[0], outside.clock.now())
    if known.workers and known.state is not None and known.state.wanted == CrawlState.PAUSED:
        say(f"The crawl {plan.name} is paused: this process waits with the others until `bowerbird resume`.")
    # Only a new crawl is refused: one that goes on waits for its service, as after any outage.
    is_new = known.state is None or not known.state.calls
    asked = await _check_new(plan, outside, known.ledgers) if is_new else await _check_mended(plan, outside, known)
    return Start(_limited(plan, known, limits), asked, (*unusable.report(), *left_out(plan), *_limits_reached(plan, known)))


def exists(store: str) -> bool:
    """Whether there is a store of that name already; nothing is made."""
    # Looked at before it is opened: a start that is refused leaves no empty database behind.
    return "://" in store or Path(store).exists()


async def _found(plan: CrawlPlan, outside: Outside) -> _Known:
    database = await open_database(plan.store, outside.clock)
    try:
        if not await is_store(database, public(plan.store)):
            return _Known()
        async with database.reading() as tx:
            workers = await living(tx, plan.name, outside.clock.now())
            ran = await registry.time_run(tx, plan.name)
            ledgers = RateLimits(pace=outside.is_paced)
            await ledgers.load(tx)
            own = own_purse(budget_statuses(ledgers.buckets().values(), outside.clock.now()), plan.name)
            known = await proved(tx)
        return _Known(await Reader(database).crawl(plan.name), workers, ran, own.spent if own else 0.0, known, ledgers)
    finally:
        await database.close()


async def _check_new(plan: CrawlPlan, outside: Outside, ledgers: RateLimits) -> dict[str, Survey]:
    """Whether a crawl has anything to start from, and somebody to ask; answers what its servers say they are."""
    query = plan.seeds.query
    if not (plan.streams or plan.searches) and next(iter(plan.seeds), None) is None:
        if query is None:
            raise UserError(
                f"the crawl {plan.name} has no seeds: its list or seeds file is empty", "write at least one", code="no_seeds"
            )
        if not await _chooses(query, plan, outside):
            raise UserError(
                f"the crawl {plan.name} has no seeds: of what is in {public(query.store or plan.store)} its query chooses none",
                "make it less strict, or write some seeds",
                code="no_seeds",
            )
    found = [await look(planned, outside, most=1) for planned in _askable(plan, outside, ledgers)]
    for each in found:
        if each.problem:
            raise AddressError(each)
    asked = {each.service.name: each.survey for each in found if each.survey is not None}
    check_askable(plan, outside.vault, {name: survey.flavour for name, survey in asked.items()})
    return asked


def _askable(plan: CrawlPlan, outside: Outside, ledgers: RateLimits) -> list[ServicePlan]:
    """The services that may be asked now: one whose limits are used up is there, and waited for as for any limit."""
    now = outside.clock.now()
    waits = {each.service.name for each in unknown_servers(plan, outside.clock) if ledgers.available_at(each.charges, now) > now}
    return [each for each in plan.services if each.service.name not in waits]


async def _check_mended(plan: CrawlPlan, outside: Outside, known: _Known) -> dict[str, Survey]:
    """Whether a crawl that goes on has the right address of every service that never answered there; answers what these say
    they are."""
    askable = _askable(plan, outside, known.ledgers)
    doubtful = [each for each in askable if (each.service.name, each.service.base) not in known.proved]
    found = [await look(planned, outside, most=1) for planned in doubtful]
    for each in found:
        if each.is_foreign:
            raise AddressError(each)
    return {each.service.name: each.survey for each in found if each.survey is not None and not each.problem}


def check_askable(plan: CrawlPlan, vault: Vault, flavours: Mapping[str, ServerInfo]) -> None:
    """Raises `UserError` where seeds would be asked about in vain, or nothing of what the flow is there for can be asked: the
    server does not answer that, or not to whom we ask as."""
    lost = lost_facets(plan, vault, flavours)
    if any(name in facets for facets in lost.values() for name in plan.flow.seeds):
        sorted_seeds(plan, lost).check(skips_bad=plan.skips_bad)
    vain = in_vain(plan, lost)
    # A service may have none of these facets by its nature: it is another one that does not answer them.
    for name, facet in ((name, facet) for name, facets in lost.items() for facet in facets if facet in vain):
        found = missing(facet, lost[name][facet])
        raise UserError(f"{name} {found.problem}", found.advice or "ask another server", code=found.code)


async def _chooses(query: SeedQuery, plan: CrawlPlan, outside: Outside) -> bool:
    """Whether there is anything in the store that the query chooses."""
    where = query.store or plan.store
    if not exists(where):
        return False
    database = await open_database(where, outside.clock)
    try:
        if not await is_store(database, public(where)):
            return False
        async for _ in chosen(database, query.what, query.holds, plan.services[0].service, asks_judges=query.asks_judges):
            return True
        return False
    finally:
        await database.close()


def _limits_reached(plan: CrawlPlan, known: _Known) -> Iterator[str]:
    """The limit under [stop] that ends this run as soon as it has begun."""
    crawl = known.state
    if crawl is None:
        return
    size = Size(calls=crawl.calls, items=crawl.items, users=crawl.users, posts=crawl.posts, elapsed=known.ran, earlier=known.ran)
    if why := plan.flow.stop.reached(size):
        yield f"The crawl ends at once: {why}. Raise this limit under [stop] of the crawl file."


def _limited(plan: CrawlPlan, known: _Known, limits: Mapping[str, Any]) -> CrawlPlan:
    """The plan with the command line's own limits, which count from now and never loosen what the file says."""
    state = known.state
    done = {
        "calls": state.calls if state else 0,
        "items": state.items if state else 0,
        "dollars": known.spent,
        "duration": known.ran,
    }
    stop, dollars = plan.flow.stop, limits.get("dollars")
    for name, more in limits.items():
        if more is not None:
            own = getattr(stop, name)
            most = done[name] + more
            most = round(most, 3) if name == "dollars" else most
            stop = structs.replace(stop, **{name: most if own is None else min(own, most)})
    return structs.replace(plan, flow=structs.replace(plan.flow, stop=stop), dollars=dollars)
