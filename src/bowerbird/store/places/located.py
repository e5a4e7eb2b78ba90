"""Where accounts and posts are: each page is judged in the transaction that saves it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from operator import itemgetter
from typing import Any

import msgspec

from bowerbird.model import Facet, Finding, Page, Post, Saved, Service, Source, Subject, Task, User, to_micros
from bowerbird.ports import Database, Locator, Transaction
from bowerbird.ports import Store as StorePort

_BY_ACCOUNT = (Source.PROFILE, Source.TEXT)
_RANK = "case {} " + " ".join(f"when '{source}' then {source.rank}" for source in Source) + " end"
_KEEP = f"""
insert into located (place, subject, id, source, longitude, latitude, confidence, at, call) values (?, ?, ?, ?, ?, ?, ?, ?, ?)
on conflict (place, subject, id) do update set source = excluded.source, longitude = excluded.longitude,
    latitude = excluded.latitude, confidence = excluded.confidence, at = excluded.at, call = excluded.call
where {_RANK.format("excluded.source")} < {_RANK.format("located.source")}
"""
_MOVED = "delete from located where subject = 'user' and id = ? and place = ? and source in ('profile', 'text')"
# Posts that were stored before the profile of their author was known; those with a place of their own speak for themselves.
_THEIR_POSTS = """
insert into located (place, subject, id, source, longitude, latitude, confidence, at, call)
select ?, 'post', p.id, ?, ?, ?, ?, ?, ? from posts p join users u on u.user_no = p.author
where u.id = ? and p.place is null and p.kind <> 'repost' and p.deleted_at is null
on conflict (place, subject, id) do nothing
"""

Rows = list[tuple[Any, ...]]


class LocatingStore:
    """A store that also says where what it saves is; implements `ports.Store`."""

    def __init__(self, store: StorePort, database: Database, locator: Locator) -> None:
        self._store = store
        self._database = database
        self._locator = locator
        text = database.any("text")
        self._known = f"select id, place from located where subject = 'user' and source in ('profile', 'text') and id {text}"
        self._buried = f"select id from deletions where subject = 'user' and id {text}"
        self._authors = f"select id, location, description, opts_out from users where id {text}"
        self._hidden = f"select id from posts where deleted_at is not null and id {text}"

    def clean(self, page: Page) -> Page:
        return self._store.clean(page)

    async def save(
        self, tx: Transaction, page: Page, *, service: Service, tasks: Sequence[Task], facet: Facet, call: int, now: datetime
    ) -> Saved:
        saved = await self._store.save(tx, page, service=service, tasks=tasks, facet=facet, call=call, now=now)
        await self._locate(tx, page, saved, call, now)
        return saved

    async def hear(self, tx: Transaction, page: Page, *, service: Service, facet: Facet, call: int, now: datetime) -> Saved:
        saved = await self._store.hear(tx, page, service=service, facet=facet, call=call, now=now)
        await self._locate(tx, page, saved, call, now)
        return saved

    async def _locate(self, tx: Transaction, page: Page, saved: Saved, call: int, now: datetime) -> None:
        if not saved.users and not saved.posts:
            return
        book = _Book(call, to_micros(now))
        ids = {user.key: user.id for user in saved.users}
        # The store's own id: on Mastodon the one on the page may be another server's.
        profiles = {ids[user.key]: user for user in page.users if user.key in ids}
        # What another server shows of an account says where it is only as far as it was stored.
        views = [user.id for user in saved.users if user.is_view]
        profiles |= {row["id"]: _profile(row) for row in await self._fetch(tx, self._authors, views)}
        await self._locate_users(tx, book, profiles)
        await self._locate_posts(tx, book, page.posts, saved, profiles)
        if book.moved:
            await tx.execute_many(_MOVED, book.moved)
        if book.rows:
            await tx.execute_many(_KEEP, sorted(book.rows, key=itemgetter(0, 1, 2)))
        for row in book.settled_in:
            await tx.execute(_THEIR_POSTS, *row)

    async def _locate_users(self, tx: Transaction, book: _Book, profiles: Mapping[str, User]) -> None:
        told = {known: user for known, user in profiles.items() if _says_something(user)}
        buried = {row["id"] for row in await self._fetch(tx, self._buried, told)}
        before: dict[str, set[str]] = {}
        for row in await self._fetch(tx, self._known, told):
            before.setdefault(row["id"], set()).add(row["place"])
        for owner, user in told.items():
            if owner not in buried:
                book.users(owner, self._locator.user(user), before.get(owner, set()))

    async def _locate_posts(
        self, tx: Transaction, book: _Book, posts: Sequence[Post], saved: Saved, profiles: Mapping[str, User]
    ) -> None:
        stored = {post.key: post for post in saved.posts if not post.is_view}
        shown = [post for post in posts if post.key in stored]
        authors = {stored[post.key].author for post in shown}
        strangers = authors - {owner for owner, user in profiles.items() if _says_something(user)}
        known = dict(profiles) | {row["id"]: _profile(row) for row in await self._fetch(tx, self._authors, strangers)}
        hidden = {row["id"] for row in await self._fetch(tx, self._hidden, [stored[post.key].id for post in shown])}
        for post in shown:
            own = stored[post.key]
            if own.id not in hidden:
                book.post(own.id, own.author, self._locator.post(post, known.get(own.author)))

    async def _fetch(self, tx: Transaction, sql: str, members: Iterable[str]) -> Sequence[Mapping[str, Any]]:
        values = sorted(members)
        return await tx.fetch(sql, self._database.members(values)) if values else ()


class _Book:
    """What one page is to change in the table."""

    def __init__(self, call: int, at: int) -> None:
        self._call, self._at = call, at
        self.rows: Rows = []
        self.moved: Rows = []
        self.settled_in: Rows = []

    def users(self, owner: str, findings: Sequence[Finding], before: set[str]) -> None:
        now = {each.area for each in findings}
        self.moved += [(owner, place) for place in sorted(before - now)]
        for each in findings:
            self.rows.append(self._row(each, Subject.USER, owner))
            if each.area not in before:
                self.settled_in.append((each.area, *self._why(each), self._at, self._call, owner))

    def post(self, post: str, author: str, findings: Sequence[Finding]) -> None:
        for each in findings:
            self.rows.append(self._row(each, Subject.POST, post))
            if each.source not in _BY_ACCOUNT:
                # Who writes from a place was there, whatever the profile says.
                self.rows.append(self._row(each, Subject.USER, author))

    def _row(self, finding: Finding, subject: Subject, owner: str) -> tuple[Any, ...]:
        return (finding.area, subject.value, owner, *self._why(finding), self._at, self._call)

    def _why(self, finding: Finding) -> tuple[Any, ...]:
        return finding.source.value, finding.longitude, finding.latitude, finding.confidence


def _says_something(user: User) -> bool:
    """A profile, as against a bare name; who opted out is judged too, so that an earlier finding goes."""
    return user.location is not None or user.description is not None or bool(user.opts_out)


def _profile(row: Mapping[str, Any]) -> User:
    return msgspec.structs.replace(
        User(id=row["id"], key=row["id"]),
        location=row["location"],
        description=row["description"],
        opts_out=bool(row["opts_out"]),
    )
