"""A store that notes which items of every page answer the questions of a command, in the transaction that saves the page."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import datetime
from functools import partial

import msgspec

from bowerbird.model import Facet, Outcome, Page, Saved, Service, Task
from bowerbird.ports import Database, Row, Transaction
from bowerbird.ports import Store as StorePort
from bowerbird.store.people.names import has_local_keys, id_for
from bowerbird.store.posts.by_id import with_ids
from bowerbird.store.results.found import Found, PageItems, results
from bowerbird.store.results.wanted import Wanted, What
from bowerbird.store.services import registered_service

HEARD = ""
"""The target of what streams bring."""
_ADD = """
insert into results (crawl, service, target, item, post_no, user_no, owner, told) values (?, ?, ?, ?, ?, ?, ?, ?)
on conflict (crawl, service, target, item) do nothing
"""
_MEAN = "insert into meanings (crawl, service, key, target) values (?, ?, ?, ?) on conflict do nothing"
_COUNT = "select count(*) as found from results where crawl = ? and service = ? and target = ?"
_COUNT_HEARD = """
select (select coalesce(max(rows), 0) from outputs where crawl = ?) + count(*) as found
from results r join posts p on p.post_no = r.post_no join users u on u.user_no = p.author
where r.crawl = ? and r.service = ? and r.target = ? and p.deleted_at is null and coalesce(u.opts_out, 0) = 0
    and r.result > (select coalesce(max(result), 0) from outputs where crawl = ?)
"""
"""Rows that are written, and results that will be: what went away in between leaves room, or a stream would never end."""
_NOTHING = Page()
_Row = tuple[str, str, int | None, int | None, int | None, str | None]


class CollectingStore:
    """Saves pages as the store that it is made of does, and notes the results among what they bring; implements `ports.Store`."""

    def __init__(self, store: StorePort, database: Database, crawl: int, wanted: Wanted) -> None:
        self._store = store
        self._crawl = crawl
        self._wanted = wanted
        self.left_out: Counter[str] = Counter()
        """How many items were listed and are no results, by the reason, in this run."""
        self.found = 0
        """Results that this run has noted, as often as pages brought them."""
        self.when_found: Callable[[], None] = lambda: None
        """Called when there are more, once they are committed."""
        text = database.any("text")
        self._members = database.members
        self._posts = f"select id, post_no from posts where {with_ids(database)}"
        self._ids = f"select id as name, user_no from users where id {text}"
        self._keys = f"select key as name, user_no from user_keys where service = ? and key {text}"
        self._origins = f"select key, target from meanings where crawl = ? and service = ? and key {text} order by target"
        self._services: dict[str, tuple[int, str]] = {}

    def clean(self, page: Page) -> Page:
        page = self._store.clean(page)
        return page if self._wanted.keeps_raw else _without_raw(page)

    async def save(
        self, tx: Transaction, page: Page, *, service: Service, tasks: Sequence[Task], facet: Facet, call: int, now: datetime
    ) -> Saved:
        saved = await self._store.save(tx, page, service=service, tasks=tasks, facet=facet, call=call, now=now)
        if page.outcome is not Outcome.OK:
            return saved
        items = PageItems(page, saved, tasks)
        if facet.name in self._wanted.leading:
            await self._mean(tx, service, items)
        what = self._wanted.facets.get(facet.name)
        if what is None:
            return saved
        found = list(results(items, what, self._wanted, facet.side))
        self._tell(tx, items, what)
        is_enough = await self._note(tx, service, found, [task.target for task in tasks])
        return msgspec.structs.replace(saved, is_enough=is_enough or (facet.is_incremental and self._wanted.is_past(page)))

    async def hear(self, tx: Transaction, page: Page, *, service: Service, facet: Facet, call: int, now: datetime) -> Saved:
        """Keeps of a stream only what is wanted of it, and what it says is gone."""
        if not self._wanted.heard:
            return await self._store.hear(tx, page, service=service, facet=facet, call=call, now=now)
        page = self._heard(page)
        saved = await self._store.hear(tx, page, service=service, facet=facet, call=call, now=now)
        items = PageItems(page, saved, ())
        found = [Found(HEARD, items.ids[post.key], post=items.ids[post.key]) for post in items.listed()]
        is_enough = await self._note(tx, service, found, [HEARD]) if found else False
        return msgspec.structs.replace(saved, is_enough=is_enough)

    async def allowed(self, tx: Transaction, page: Page, service: Service) -> Page:
        return await self._store.allowed(tx, page, service)

    async def allowed_targets(self, tx: Transaction, service: Service, targets: Collection[str]) -> frozenset[str]:
        return await self._store.allowed_targets(tx, service, targets)

    async def save_alone(self, tx: Transaction) -> None:
        await self._store.save_alone(tx)

    def _heard(self, page: Page) -> Page:
        posts = tuple(post for post in page.posts if post.id not in page.along and not self._wanted.refuses(post))
        authors = {post.author for post in posts}
        users = tuple(user for user in page.users if user.id in authors)
        gone = page.gone if posts or page.gone else ()
        return msgspec.structs.replace(_NOTHING, posts=posts, users=users, gone=gone, results=page.results)

    def _tell(self, tx: Transaction, items: PageItems, what: What) -> None:
        """Counts what was listed and is no result, once that is committed."""
        reasons = items.left_out(self._wanted, what)
        if reasons:
            tx.after_commit(lambda: self.left_out.update(reasons))

    async def _mean(self, tx: Transaction, service: Service, items: PageItems) -> None:
        number, network = await self._service(tx, service)
        rows = [(self._crawl, number, key, target) for key, target in items.meanings(network) if key and key != target]
        if rows:
            await tx.execute_many(_MEAN, rows)

    async def _note(self, tx: Transaction, service: Service, found: Sequence[Found], targets: Sequence[str]) -> bool:
        """Writes results down, for each target as many as are wanted; says whether a lone target has had enough."""
        number, _ = await self._service(tx, service)
        origins = await self._origins_of(tx, number, {each.target for each in found} | set(targets))
        posts = await self._post_numbers(tx, {each.post for each in found if each.post})
        users = await self._user_numbers(tx, service, {key for each in found for key in (each.user, each.owner) if key})
        rows = [
            (origin, each.item, posts.get(each.post), users.get(each.user), users.get(each.owner), _json(each))
            for each in found
            for origin in origins.get(each.target, (each.target,))
            if (not each.post or each.post in posts) and (not each.user or each.user in users)
        ]
        known = {origin for each in targets for origin in origins.get(each, (each,))}
        if self._wanted.limit is not None:
            rows, counts = await self._limited(tx, number, rows, known)
        if rows:
            await tx.execute_many(_ADD, [(self._crawl, number, *row) for row in rows])
            tx.after_commit(partial(self._has_found, len(rows)))
        limit = self._wanted.limit
        return limit is not None and len(targets) == 1 and all(counts[each] >= limit for each in known)

    def _has_found(self, count: int) -> None:
        self.found += count
        self.when_found()

    async def _limited(
        self, tx: Transaction, service: int, rows: list[_Row], targets: Iterable[str]
    ) -> tuple[list[_Row], Counter[str]]:
        """The rows for which there is room, and how many results each target has then. One that is there twice counts twice: at
        worst a list is read a page further."""
        counts: Counter[str] = Counter()
        for target in targets:
            row = await self._counted(tx, service, target)
            counts[target] = int(row["found"]) if row is not None else 0
        kept = []
        for each in rows:
            if counts[each[0]] < (self._wanted.limit or 0):
                counts[each[0]] += 1
                kept.append(each)
        return kept, counts

    async def _counted(self, tx: Transaction, service: int, target: str) -> Row | None:
        if target != HEARD:
            return await tx.fetch_one(_COUNT, self._crawl, service, target)
        return await tx.fetch_one(_COUNT_HEARD, self._crawl, self._crawl, service, target, self._crawl)

    async def _origins_of(self, tx: Transaction, service: int, targets: set[str]) -> Mapping[str, list[str]]:
        if not self._wanted.leading or not targets:
            return {}
        found: dict[str, list[str]] = {}
        for row in await tx.fetch(self._origins, self._crawl, service, self._members(sorted(targets))):
            found.setdefault(row["key"], []).append(row["target"])
        return found

    async def _post_numbers(self, tx: Transaction, ids: set[str]) -> Mapping[str, int]:
        rows = await tx.fetch(self._posts, self._members(sorted(ids))) if ids else ()
        return {row["id"]: row["post_no"] for row in rows}

    async def _user_numbers(self, tx: Transaction, service: Service, keys: set[str]) -> Mapping[str, int]:
        if not keys:
            return {}
        number, network = await self._service(tx, service)
        if has_local_keys(network):
            rows = await tx.fetch(self._keys, number, self._members(sorted(keys)))
            return {row["name"]: row["user_no"] for row in rows}
        ids = {id_for(network, service.name, key): key for key in keys}
        return {ids[row["name"]]: row["user_no"] for row in await tx.fetch(self._ids, self._members(sorted(ids)))}

    async def _service(self, tx: Transaction, service: Service) -> tuple[int, str]:
        if service.name not in self._services:
            number, network, _ = await registered_service(tx, service.name)
            self._services[service.name] = number, network
        return self._services[service.name]


def _without_raw(page: Page) -> Page:
    """The page without the items as they were sent."""
    return msgspec.structs.replace(
        page,
        posts=tuple(msgspec.structs.replace(post, raw=b"") for post in page.posts),
        users=tuple(msgspec.structs.replace(user, raw=b"") for user in page.users),
    )


def _json(found: Found) -> str | None:
    return None if found.told is None else msgspec.json.encode(found.told).decode()
