"""Audits: measure which share of its members' posts a crawl has stored.

An audit draws random members, requests their timelines again with the credentials and limits of the crawl, and compares the posts
with the store. It saves none of them. `begin_audit` draws the accounts, `audit_plan` and `audit_targets` describe the crawl that
requests them, `AuditStore` compares its pages, and `end_audit` keeps the result and removes the rows of that crawl.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from datetime import datetime
from math import ceil
from random import Random
from typing import Any

import msgspec
from msgspec import Struct, structs

from bowerbird.clock import from_micros, to_micros
from bowerbird.crawl.work.lanes import Lane
from bowerbird.errors import UserError
from bowerbird.flows.files.crawl_file import CrawlPlan
from bowerbird.flows.files.sections.seed_list import SeedList
from bowerbird.flows.flow import FacetUse, Flow, Stop
from bowerbird.model import Arrival, Facet, Page, Saved, Service, Subject, Task
from bowerbird.ports import Database, Row, Store, Transaction
from bowerbird.providers import provider
from bowerbird.reports.audits import Audited, read_audited
from bowerbird.store.people.names import has_local_keys, key_in
from bowerbird.store.posts.by_id import with_ids

_BEGIN = "insert into audits (crawl, at, newest) values (?, ?, ?) returning audit"
_ADD_ACCOUNT = "insert into audit_accounts (audit, user_no, since, until, state) values (?, ?, ?, ?, 'asked')"
_END = "update audits set ended_at = ?, result = ? where audit = ?"
# Accounts whose posts were requested, with the service, since when, and until when.
_REQUESTED = """
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
# Accounts known from streams and searches: from their first post to the last activity of the crawl.
_STREAMED = """
select u.user_no, u.id, cast(null as text) as service, min(p.found_at) as since, max(w.updated_at) as until
from posts p join users u on u.user_no = p.author join calls c on c.call = p.found_by join crawls w on w.crawl = c.crawl
where w.crawl = ? and coalesce(u.opts_out, 0) = 0 group by u.user_no, u.id having max(w.updated_at) > min(p.found_at)
"""
_MEMBERS = (
    "select u.user_no from judgements j join users u on u.id = j.id where j.judge = ? and j.subject = 'user' and j.value = 'yes'"
)
_KEY = "select k.key from user_keys k join services s on s.service = k.service where s.name = ? and k.user_no = ?"
_COUNT = (
    "update audit_accounts set asked = asked + ?, wrote = wrote + ?, had = had + ?, state = ? where audit = ? and user_no = ?"
)
_READ_COUNT = "select asked from audit_accounts where audit = ? and user_no = ?"

_TIMELINE = "timeline"
_FIND_CRAWLS = """
select w.crawl as audited, o.crawl as own from audits a join crawls w on w.crawl = a.crawl
join crawls o on o.name = 'audit ' || a.audit || ' of ' || w.name where a.audit = ?
"""
# The calls of the audit become calls of the audited crawl: in its lane of the same name, or in the one that moves there.
_MOVE_LANES = """
update lanes set crawl = ? where crawl = ? and not exists (
    select 1 from lanes o where o.crawl = ? and o.service = lanes.service and o.facet = lanes.facet)
"""
_MOVE_CALLS = """
update calls set crawl = ?, lane = coalesce((
    select o.lane from lanes l join lanes o on o.service = l.service and o.facet = l.facet and o.crawl = ?
    where l.lane = calls.lane), lane) where crawl = ?
"""
_MOVE_ERRORS = "update errors set crawl = ? where crawl = ?"
LANE_TABLES = ("changes", "gaps", "keyword_probes", "rebuilds", "shortfalls", "sightings", "tasks")
CRAWL_TABLES = (
    "admissions", "backups", "candidates", "consents", "controls", "inputs", "keyword_frames", "keyword_labels", "keyword_orders",
    "keyword_posts", "keyword_probes", "keyword_progress", "keyword_samples", "keywords", "keyword_methods", "label_samples",
    "labels", "meanings", "module_runs", "modules", "outputs", "place_names", "plans", "post_days", "results", "streams", "lanes",
    "crawls",
)  # fmt: skip
"""Tables that name a crawl; the rows of the audit's crawl are deleted, because SQLite may give its number to the next crawl."""
MOVED_TABLES = ("calls", "errors")
"""Tables whose rows move to the audited crawl."""
_DELETIONS = (
    "delete from paging where task in (select t.task from tasks t join lanes l on l.lane = t.lane where l.crawl = ?)",
    *(f"delete from {table} where lane in (select lane from lanes where crawl = ?)" for table in LANE_TABLES),
)
_DELETIONS_BY_CRAWL = tuple(f"delete from {table} where crawl = ?" for table in CRAWL_TABLES)


class AuditOptions(Struct, frozen=True, kw_only=True):
    """The size and budget of an audit."""

    accounts: int = 200
    newest: int = 200
    """The maximum number of posts per account."""
    judge: str = "community"
    """The classifier whose `yes` makes an account a member; without any, all accounts of the crawl are members."""
    random: Random
    dollars: float | None = None


class AuditedAccount(Struct, frozen=True):
    """One account of an audit, and the time in which its posts count."""

    number: int
    id: str
    service: str
    key: str
    since: datetime
    until: datetime


async def begin_audit(
    database: Database, plan: CrawlPlan, options: AuditOptions, now: datetime
) -> tuple[int, Sequence[AuditedAccount]]:
    """Draw the accounts and save them; raise `UserError` if there are none."""
    async with database.transaction() as tx:
        row = await tx.fetch_one("select crawl from crawls where name = ?", plan.name)
        if row is None:
            raise UserError(
                f"there is no crawl {plan.name!r} in its store yet", "run it first with `bowerbird crawl`", code="unknown_crawl"
            )
        accounts = await _draw_accounts(tx, database, plan, row["crawl"], options)
        begun = await tx.fetch_one(_BEGIN, row["crawl"], to_micros(now), options.newest)
        audit = int(begun["audit"]) if begun is not None else 0
        rows = [(audit, each.number, to_micros(each.since), to_micros(each.until)) for each in accounts]
        await tx.execute_many(_ADD_ACCOUNT, rows)
    return audit, accounts


async def end_audit(database: Database, audit: int, reason: str, now: datetime) -> Audited:
    """Save and return the result, and remove the audit's own crawl."""
    async with database.transaction() as tx:
        result = await read_audited(tx, audit)
        values: dict[str, Any] = msgspec.to_builtins(result)
        await tx.execute(_END, to_micros(now), msgspec.json.encode(values | {"reason": reason}).decode(), audit)
        await remove_audit_crawl(tx, audit)
    return structs.replace(result, reason=reason)


async def _draw_accounts(
    tx: Transaction, database: Database, plan: CrawlPlan, crawl: int, options: AuditOptions
) -> list[AuditedAccount]:
    """Return random members, or random accounts without any labels."""
    facets = {
        name
        for each in plan.services
        for name, facet in provider(each.service.provider).facets.items()
        if facet.subject is Subject.USER and "posts" in facet.yields
    }
    rows = await tx.fetch(_REQUESTED.format(facets=database.any("text")), crawl, database.members(sorted(facets)))
    rows = rows or await tx.fetch(_STREAMED, crawl)
    members = {row["user_no"] for row in await tx.fetch(_MEMBERS, options.judge)}
    eligible = sorted((row for row in rows if not members or row["user_no"] in members), key=lambda row: int(row["user_no"]))
    if not eligible:
        raise UserError(
            f"nothing to audit: the crawl {plan.name!r} has not requested any account twice, or for long enough",
            code="nothing_to_do",
        )
    options.random.shuffle(eligible)
    accounts: list[AuditedAccount] = []
    for row in eligible:
        if len(accounts) < options.accounts and (account := await _account(tx, plan, row)) is not None:
            accounts.append(account)
    return accounts


async def _account(tx: Transaction, plan: CrawlPlan, row: Row) -> AuditedAccount | None:
    """Return the account with a service that can be requested and its key there, or None if there is none."""
    services = {each.service.name: each.service for each in plan.services}
    for name in [row["service"]] if row["service"] in services else services:
        network = provider(services[name].provider).network
        if has_local_keys(network):
            known = await tx.fetch_one(_KEY, name, row["user_no"])
            key = None if known is None else str(known["key"])
        else:
            key = key_in(network, row["id"])
        if key:
            return AuditedAccount(row["user_no"], row["id"], name, key, from_micros(row["since"]), from_micros(row["until"]))
    return None


def audit_plan(plan: CrawlPlan, options: AuditOptions, audit: int) -> CrawlPlan:
    """Return the plan of the audit's own crawl: timelines only, in the same store and within the same limits."""
    pages = 1
    for each in plan.services:
        facets = provider(each.service.provider).facets
        if _TIMELINE not in facets:
            raise UserError(
                f"{each.service.provider} has no timelines of accounts, so that nothing can be audited there", code="unsupported"
            )
        if facets[_TIMELINE].is_paid and options.dollars is None:
            raise UserError(
                f"{each.service.provider} bills requests",
                "say with --dollars how much the audit may spend",
                code="needs_agreement",
            )
        pages = max(pages, ceil(options.newest / facets[_TIMELINE].results_per_call))
    used = next((use for use in plan.flow.facets if use.name == _TIMELINE), FacetUse(_TIMELINE))
    use = FacetUse(_TIMELINE, max_pages=pages, hints=used.hints, credentials=used.credentials)
    flow = Flow(f"audit of {plan.flow.name}", (use,), seeds=(_TIMELINE,), stop=Stop(dollars=options.dollars))
    return structs.replace(
        plan,
        name=f"audit {audit} of {plan.name}",
        flow=flow,
        seeds=SeedList(),
        streams=(),
        places=(),
        searches=(),
        backup=None,
        media=None,
        called={},
    )


def audit_targets(lanes: Iterable[Lane], accounts: Sequence[AuditedAccount]) -> list[Arrival]:
    """Return the accounts as targets of the audit's lanes."""
    numbers = {lane.service.name: lane.lane for lane in lanes}
    return [Arrival(lane=numbers[each.service], target=each.key) for each in accounts if each.service in numbers]


class AuditStore:
    """Compares pages of timelines with the store and saves nothing; implements `ports.Store`."""

    def __init__(self, usual: Store, database: Database, audit: int, newest: int, accounts: Sequence[AuditedAccount]) -> None:
        self._usual = usual
        self._database = database
        self._audit = audit
        self._newest = newest
        self._accounts = {(each.service, each.key): each for each in accounts}
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
        """Count the account's posts on a page, up to the maximum, and how many of them are stored."""
        account = self._accounts.get((service.name, tasks[0].target)) if tasks else None
        if account is None:
            return Saved()
        row = await tx.fetch_one(_READ_COUNT, self._audit, account.number)
        room = self._newest - (int(row["asked"]) if row is not None else 0)
        shown = [post for post in page.posts if post.author == account.id][: max(room, 0)]
        counted = [post.id for post in shown if post.created_at and account.since <= post.created_at <= account.until]
        had = await tx.fetch(self._stored, self._database.members(counted)) if counted else ()
        state = "absent" if page.outcome.is_about_target else "shown"
        await tx.execute(_COUNT, len(shown), len(counted), len(had), state, self._audit, account.number)
        # Timelines go from new to old: posts from before the crawl do not count.
        is_past = any(post.created_at and post.created_at < account.since for post in shown)
        return Saved(is_enough=len(shown) >= room or is_past)

    async def hear(self, tx: Transaction, page: Page, *, service: Service, facet: Facet, call: int, now: datetime) -> Saved:
        return Saved()


async def remove_audit_crawl(tx: Transaction, audit: int) -> None:
    """Delete the audit's own crawl. Its calls and errors move to the audited crawl, so that the store holds only that one."""
    row = await tx.fetch_one(_FIND_CRAWLS, audit)
    if row is None:
        return
    audited, own = int(row["audited"]), int(row["own"])
    await tx.execute(_MOVE_CALLS, audited, audited, own)
    await tx.execute(_MOVE_ERRORS, audited, own)
    for statement in _DELETIONS:
        await tx.execute(statement, own)
    await tx.execute(_MOVE_LANES, audited, own, audited)
    for statement in _DELETIONS_BY_CRAWL:
        await tx.execute(statement, own)
