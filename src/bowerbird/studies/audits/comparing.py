"""Holds what an audit is shown against what is stored."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime

from bowerbird.model import Facet, Page, Saved, Service, Task
from bowerbird.ports import Database, Store, Transaction
from bowerbird.store.posts.by_id import with_ids
from bowerbird.studies.audits.choosing import Chosen

_NOTE = "update audit_accounts set asked = asked + ?, wrote = wrote + ?, had = had + ?, state = ? where audit = ? and user_no = ?"
_READ = "select asked from audit_accounts where audit = ? and user_no = ?"


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
