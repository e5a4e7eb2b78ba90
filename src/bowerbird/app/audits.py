"""An audit: recent posts of random members are asked for again, through the limits and credentials of their crawl, and held
against the store. Nothing of what is seen is saved."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime, timedelta
from math import ceil
from random import Random
from typing import Any

import msgspec
from msgspec import Struct, structs

from bowerbird.app.crawls import Crawl, Outside
from bowerbird.app.opening import open_crawl
from bowerbird.clock import from_micros, to_micros
from bowerbird.crawl.life.extensions import Extensions
from bowerbird.crawl.process.endings import Ending
from bowerbird.crawl.process.running import check_upgrade
from bowerbird.errors import UserError
from bowerbird.flows.files.crawl_file import CrawlPlan
from bowerbird.flows.files.seed_list import SeedList
from bowerbird.flows.flow import FacetUse, Flow, Stop
from bowerbird.model import Arrival, Facet, Page, Saved, Service, Subject, Task
from bowerbird.ports import Database, Row, Store, Transaction
from bowerbird.providers import provider
from bowerbird.reports.audits import Audited, read_audited
from bowerbird.store.opening import open_store
from bowerbird.store.people.names import has_local_keys, key_in
from bowerbird.store.posts.by_id import with_ids

TIMELINE = "timeline"
_LOOK = timedelta(seconds=1)
# Who was asked about, since when, and when last: by lanes that bring posts.
_FOLLOWED = """
select u.user_no, u.id, f.service, f.since, f.until from (
    select coalesce(
        (select k.user_no from user_keys k where k.service = l.service and k.key = t.target),
        (select x.user_no from users x where x.id in (t.target, s.network || ':' || t.target))) as user_no,
        min(s.name) as service, min(t.added_at) as since, max(t.visited_at) as until
    from tasks t join lanes l on l.lane = t.lane join services s on s.service = l.service
    where l.crawl = ? and l.facet {facets} and t.visits > 0 group by 1
) f join users u on u.user_no = f.user_no
where f.until > f.since and coalesce(u.opts_out, 0) = 0 and coalesce(u.is_protected, 0) = 0
"""
# Of those whom streams and searches alone bring: since the first of their posts came, up to the crawl's last word.
_HEARD = """
select u.user_no, u.id, cast(null as text) as service, min(p.found_at) as since, max(w.updated_at) as until
from posts p join users u on u.user_no = p.author join calls c on c.call = p.found_by join crawls w on w.crawl = c.crawl
where w.crawl = ? and coalesce(u.opts_out, 0) = 0 group by u.user_no, u.id having max(w.updated_at) > min(p.found_at)
"""
_JUDGED = (
    "select u.user_no from judgements j join users u on u.id = j.id where j.judge = ? and j.subject = 'user' and j.value = 'yes'"
)
_BEGIN = "insert into audits (crawl, at, newest) values (?, ?, ?) returning audit"
_ASK = "insert into audit_accounts (audit, user_no, since, until, state) values (?, ?, ?, ?, 'asked')"
_KEYS = "select k.key from user_keys k join services s on s.service = k.service where s.name = ? and k.user_no = ?"
_NOTE = "update audit_accounts set asked = asked + ?, wrote = wrote + ?, had = had + ?, state = ? where audit = ? and user_no = ?"
_READ = "select asked from audit_accounts where audit = ? and user_no = ?"
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
_OF_LANES = (
    "delete from paging where task in (select t.task from tasks t join lanes l on l.lane = t.lane where l.crawl = ?)",
    *(
        f"delete from {table} where lane in (select lane from lanes where crawl = ?)"
        for table in ("changes", "gaps", "rebuilds", "shortfalls", "sightings", "tasks")
    ),
)
_OF_CRAWL = tuple(
    f"delete from {table} where crawl = ?" for table in ("admissions", "controls", "plans", "post_days", "lanes", "crawls")
)
"""What else a crawl of timelines leaves behind."""
_END = "update audits set ended_at = ?, result = ? where audit = ?"


class Wish(Struct, frozen=True, kw_only=True):
    """What is to be audited."""

    accounts: int = 200
    newest: int = 200
    """Posts of each account that are asked for at most."""
    judge: str = "community"
    """Whose `yes` makes an account a member, where it has spoken."""
    lots: Random
    dollars: float | None = None


class Chosen(Struct, frozen=True):
    """One account of an audit."""

    number: int
    id: str
    service: str
    key: str
    since: datetime
    until: datetime


class AuditStore:
    """Holds pages of timelines against what is stored, and saves nothing; implements `ports.Store`."""

    def __init__(self, usual: Store, database: Database, audit: int, newest: int, chosen: Sequence[Chosen]) -> None:
        self._usual = usual
        self._database = database
        self._audit = audit
        self._newest = newest
        self._chosen = {(each.service, each.key): each for each in chosen}
        self._stored = f"select id from posts where {with_ids(database)}"

    def clean(self, page: Page) -> Page:
        return self._usual.clean(page)

    async def allowed(self, tx: Transaction, page: Page, service: Service) -> Page:
        return await self._usual.allowed(tx, page, service)

    async def allowed_targets(self, tx: Transaction, service: Service, targets: Collection[str]) -> frozenset[str]:
        return await self._usual.allowed_targets(tx, service, targets)

    async def save_alone(self, tx: Transaction) -> None:
        await self._usual.save_alone(tx)

    async def save(
        self, tx: Transaction, page: Page, *, service: Service, tasks: Sequence[Task], facet: Facet, call: int, now: datetime
    ) -> Saved:
        own = self._chosen.get((service.name, tasks[0].target)) if tasks else None
        return Saved() if own is None else await self._held_against(tx, own, page)

    async def hear(self, tx: Transaction, page: Page, *, service: Service, facet: Facet, call: int, now: datetime) -> Saved:
        return Saved()

    async def _held_against(self, tx: Transaction, account: Chosen, page: Page) -> Saved:
        """Counts the account's own posts of a page, up to as many as are asked for."""
        row = await tx.fetch_one(_READ, self._audit, account.number)
        room = self._newest - (int(row["asked"]) if row is not None else 0)
        shown = [post for post in page.posts if post.author == account.id][: max(room, 0)]
        counted = [post.id for post in shown if post.created_at and account.since <= post.created_at <= account.until]
        had = await tx.fetch(self._stored, self._database.members(counted)) if counted else ()
        state = "absent" if page.outcome.is_about_target else "shown"
        await tx.execute(_NOTE, len(shown), len(counted), len(had), state, self._audit, account.number)
        # Listings go from new to old: what is older than the crawl does not count.
        is_past = any(post.created_at and post.created_at < account.since for post in shown)
        return Saved(is_enough=len(shown) >= room or is_past)


async def audit_posts(plan: CrawlPlan, outside: Outside, wish: Wish) -> Audited:
    """Asks for recent posts of random members again; answers which part of them is stored."""
    async with open_store(plan.store, outside.clock, check=check_upgrade) as database:
        audit, chosen = await _begun(database, plan, outside, wish)
        extensions = Extensions(store=lambda usual, store, _: AuditStore(usual, store, audit, wish.newest, chosen))
        asking = structs.replace(outside, is_alone=False, messenger=None)
        async with open_crawl(_plan(plan, wish, audit), asking, extensions) as opened:
            ending = await _asked(opened, chosen)
        return await _ended(database, audit, ending, outside.clock.now())


async def _begun(database: Database, plan: CrawlPlan, outside: Outside, wish: Wish) -> tuple[int, Sequence[Chosen]]:
    now = outside.clock.now()
    async with database.transaction() as tx:
        row = await tx.fetch_one("select crawl from crawls where name = ?", plan.name)
        if row is None:
            raise UserError(f"there is no crawl {plan.name!r} in its store yet: run it first with `bowerbird crawl`")
        chosen = await _choose(tx, database, plan, row["crawl"], wish)
        begun = await tx.fetch_one(_BEGIN, row["crawl"], to_micros(now), wish.newest)
        audit = int(begun["audit"]) if begun is not None else 0
        rows = [(audit, each.number, to_micros(each.since), to_micros(each.until)) for each in chosen]
        await tx.execute_many(_ASK, rows)
    return audit, chosen


async def _choose(tx: Transaction, database: Database, plan: CrawlPlan, crawl: int, wish: Wish) -> list[Chosen]:
    """Random accounts of the crawl: members where a judge says who that is, or else all that were asked about."""
    facets = {
        name
        for each in plan.services
        for name, facet in provider(each.service.provider).facets.items()
        if facet.subject is Subject.USER and "posts" in facet.yields
    }
    rows = await tx.fetch(_FOLLOWED.format(facets=database.any("text")), crawl, database.members(sorted(facets)))
    rows = rows or await tx.fetch(_HEARD, crawl)
    judged = {row["user_no"] for row in await tx.fetch(_JUDGED, wish.judge)}
    able = [row for row in rows if not judged or row["user_no"] in judged]
    if not able:
        raise UserError(
            f"nobody can be audited: the crawl {plan.name!r} has asked about no account twice, or long enough, so far"
        )
    wish.lots.shuffle(able := sorted(able, key=lambda row: int(row["user_no"])))
    found: list[Chosen] = []
    for row in able:
        if len(found) < wish.accounts and (each := await _account(tx, plan, row)) is not None:
            found.append(each)
    return found


async def _account(tx: Transaction, plan: CrawlPlan, row: Row) -> Chosen | None:
    """Where an account can be asked about, and under which key; None where it cannot."""
    services = {each.service.name: each.service for each in plan.services}
    for name in [row["service"]] if row["service"] in services else services:
        network = provider(services[name].provider).network
        if has_local_keys(network):
            known = await tx.fetch_one(_KEYS, name, row["user_no"])
            key = None if known is None else str(known["key"])
        else:
            key = key_in(network, row["id"])
        if key:
            return Chosen(row["user_no"], row["id"], name, key, from_micros(row["since"]), from_micros(row["until"]))
    return None


def _plan(plan: CrawlPlan, wish: Wish, audit: int) -> CrawlPlan:
    """A crawl of its own, of timelines alone, in the same store and within the same limits."""
    pages = 1
    for each in plan.services:
        facets = provider(each.service.provider).facets
        if TIMELINE not in facets:
            raise UserError(f"{each.service.provider} cannot be asked for the posts of an account: nothing can be audited there")
        if facets[TIMELINE].is_paid and wish.dollars is None:
            raise UserError(f"{each.service.provider} bills what it shows: say with --dollars how much the audit may spend")
        pages = max(pages, ceil(wish.newest / facets[TIMELINE].results_per_call))
    used = next((use for use in plan.flow.facets if use.name == TIMELINE), FacetUse(TIMELINE))
    use = FacetUse(TIMELINE, max_pages=pages, hints=used.hints, credentials=used.credentials)
    flow = Flow(f"audit of {plan.flow.name}", (use,), seeds=(TIMELINE,), stop=Stop(dollars=wish.dollars))
    return structs.replace(
        plan, name=f"audit {audit} of {plan.name}", flow=flow, seeds=SeedList(), streams=(), places=(), searches=(), backup=None,
        media=None, called={},
    )  # fmt: skip


async def _asked(opened: Crawl, chosen: Sequence[Chosen]) -> Ending:
    lanes: Mapping[str, int] = {lane.service.name: number for number, lane in opened.lanes.items()}
    seeds = [Arrival(lane=lanes[each.service], target=each.key) for each in chosen if each.service in lanes]
    return await opened.process.run(seeds, slots=opened.plan.concurrency, watch_every=_LOOK)


async def _tidied(tx: Transaction, audit: int) -> None:
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


async def _ended(database: Database, audit: int, ending: Ending, now: datetime) -> Audited:
    async with database.transaction() as tx:
        result = await read_audited(tx, audit)
        told: dict[str, Any] = msgspec.to_builtins(result)
        await tx.execute(_END, to_micros(now), msgspec.json.encode(told | {"reason": ending.reason}).decode(), audit)
        await _tidied(tx, audit)
    return structs.replace(result, reason=ending.reason)
