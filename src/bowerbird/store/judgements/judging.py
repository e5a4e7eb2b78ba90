"""Every page is judged in the transaction that saves it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from msgspec import structs

from bowerbird.model import Facet, Page, Ruling, Saved, Seen, Service, Subject, Task, User
from bowerbird.ports import Database, Judge, Transaction
from bowerbird.ports import Store as StorePort
from bowerbird.store.errors import record_error
from bowerbird.store.judgements.rows import RulingWriter, current_values, earlier_judgements, read_judgements
from bowerbird.store.posts.by_id import with_ids


class JudgingStore:
    """A store that also asks judges about what it saves; implements `ports.Store`."""

    def __init__(self, store: StorePort, database: Database, judges: Sequence[Judge]) -> None:
        self._store = store
        self._database = database
        self._judges = judges
        text = database.any("text")
        self._profiles = (
            f"select id, handle, name, location, description, language, time_zone, opts_out from users where id {text}"
        )
        self._gone = f"select id from deletions where subject = 'user' and id {text}"
        # Of a post that was not kept, or only by its id, nothing may be said: its author opted out, or it was deleted before.
        self._kept = (
            "select p.id from posts p join users u on u.user_no = p.author "
            f"where p.deleted_at is null and coalesce(u.opts_out, 0) = 0 and {with_ids(database, 'p')}"
        )

    def clean(self, page: Page) -> Page:
        return self._store.clean(page)

    async def allowed(self, tx: Transaction, page: Page, service: Service) -> Page:
        return await self._store.allowed(tx, page, service)

    async def allowed_targets(self, tx: Transaction, service: Service, targets: Collection[str]) -> frozenset[str]:
        return await self._store.allowed_targets(tx, service, targets)

    async def save(
        self, tx: Transaction, page: Page, *, service: Service, tasks: Sequence[Task], facet: Facet, call: int, now: datetime
    ) -> Saved:
        saved = await self._store.save(tx, page, service=service, tasks=tasks, facet=facet, call=call, now=now)
        return await self._judged(tx, page, saved, call, now)

    async def hear(self, tx: Transaction, page: Page, *, service: Service, facet: Facet, call: int, now: datetime) -> Saved:
        saved = await self._store.hear(tx, page, service=service, facet=facet, call=call, now=now)
        return await self._judged(tx, page, saved, call, now)

    async def save_alone(self, tx: Transaction) -> None:
        await self._store.save_alone(tx)

    async def _judged(self, tx: Transaction, page: Page, saved: Saved, call: int, now: datetime) -> Saved:
        if not saved.users and not saved.posts:
            return saved
        items = {(Subject.USER, each.id) for each in saved.users} | {(Subject.POST, each.id) for each in saved.posts}
        items |= {(Subject.USER, each.author) for each in saved.posts}
        before = await read_judgements(tx, self._database, items)
        seen = structs.replace(await self._seen(tx, page, saved), before=earlier_judgements(before))
        for judge in self._judges:
            ruling = await self._ruling(tx, judge, seen, call, now)
            await RulingWriter(judge, call, now).write(tx, ruling, before)
        judged = current_values(await read_judgements(tx, self._database, items))
        return structs.replace(saved, judged=judged)

    async def _ruling(self, tx: Transaction, judge: Judge, seen: Seen, call: int, now: datetime) -> Ruling:
        """What the judge says; nothing where it breaks, for a page is not lost by somebody's opinion of it."""
        try:
            return judge.judge(seen)
        except Exception as error:
            await record_error(tx, now, f"judge {judge.name}", f"{type(error).__name__}: {error}", call=call)
            return Ruling()

    async def _seen(self, tx: Transaction, page: Page, saved: Saved) -> Seen:
        # The store's own id: on Mastodon the one on the page may be another server's.
        ids = {user.key: user.id for user in saved.users}
        profiles = {ids[user.key]: user for user in page.users if user.key in ids}
        # What another server shows of an account counts only as far as it was stored.
        views = {user.id for user in saved.users if user.is_view}
        told = {known for known, user in profiles.items() if known not in views and _says_something(user)}
        unknown = (views | {post.author for post in saved.posts}) - told
        stored = {row["id"]: _profile(row) for row in await self._fetch(tx, self._profiles, unknown)}
        shown = told | {known for known in views if known in stored and _says_something(stored[known])}
        posts = {post.id for post in saved.posts}
        hidden = {row["id"] for row in await self._fetch(tx, self._gone, shown)}
        hidden |= posts - {row["id"] for row in await self._fetch(tx, self._kept, posts)}
        return Seen(page=page, saved=saved, profiles=profiles | stored, shown=frozenset(shown), hidden=frozenset(hidden))

    async def _fetch(self, tx: Transaction, sql: str, members: Iterable[str]) -> Sequence[Mapping[str, Any]]:
        values = sorted(members)
        return await tx.fetch(sql, self._database.members(values)) if values else ()


def _says_something(user: User) -> bool:
    """A profile, as against a bare name; who opted out is judged too, so that what was said before goes."""
    return user.location is not None or user.description is not None or bool(user.opts_out)


def _profile(row: Mapping[str, Any]) -> User:
    told = {name: row[name] for name in ("handle", "name", "location", "description", "language", "time_zone")}
    return User(id=row["id"], key=row["id"], opts_out=bool(row["opts_out"]), **told)
