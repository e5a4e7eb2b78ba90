"""A store as a long crawl leaves it, of a chosen number of posts, written by the real store page by page.

Every account is looked up twice (its description changes; one in fifty takes another handle), its timeline brings forty posts,
its list of followers forty relations. One account in ten is listed again: a quarter of its followers are gone and as many are
new. One post in a hundred is deleted, one account in two hundred asks not to be collected, one in a hundred is suspended.
"""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from bowerbird.clock import RealClock, to_micros
from bowerbird.db import open_database
from bowerbird.db.tables import SCHEMA_VERSION
from bowerbird.model import Gone, Outcome, Page, Post, Progress, Relation, RelationKind, Service, Subject, Task, User
from bowerbird.ports import Database, Transaction
from bowerbird.providers import provider
from bowerbird.store import Store, register_service

POSTS_EACH = 40
FOLLOWERS_EACH = 40
CHOSEN = 777
"""The account whose history is asked for; it is in the smallest store too."""
RENAMED = 827
"""One that bears another handle by now."""
_TOGETHER = 50
"""Accounts in one transaction."""
_BEGAN = datetime(2026, 1, 1, tzinfo=UTC)
_BASE = "https://large.example"
SERVICE = Service(name="large.example", provider="mastodon", base=_BASE)
_FACETS = ("profiles", "timeline", "followers")
_FLOW = '{"name":"accounts","facets":[{"name":"profiles"},{"name":"timeline"},{"name":"followers"}]}'
_RAW = b'{"content":"%b","visibility":"public","application":{"name":"Web"},"favourites_count":3,"reblogs_count":1}'
_CALL = (
    "insert into calls (call, crawl, lane, facet, worker, state, charges, objects, targets, leased_at, expires_at, sent_at, "
    "received_at, settled_at, status, outcome, results, new_items, rank_micros, call_micros, seed_micros, settle_micros) "
    "values (?, 1, ?, ?, 1, 'settled', '[]', 1, ?, ?, ?, ?, ?, ?, 200, 'ok', ?, ?, 90, 200000, 40, 2500)"
)
_COUNT = """
update crawls set calls = (select max(call) from calls), users = (select max(user_no) from users),
    posts = (select max(post_no) from posts),
    items = (select max(user_no) from users) + (select max(post_no) from posts) + (select max(rowid) from relations)
"""
_TASK = (
    "insert into tasks (lane, target, ready, priority, due, state, added_at, visited_at, visits) "
    "values (?, ?, 0, 1.0, ?, 'asleep', ?, ?, 1)"
)


def large_store(posts: int, folder: Path, smaller: Path | None = None) -> Path:
    """The path of a store of at least so many posts, made now unless the folder has it: from one of an earlier version, or from a
    `smaller` one, which grows."""
    path = folder / f"reports-{SCHEMA_VERSION}-{posts}.db"
    if path.exists():
        return path
    folder.mkdir(parents=True, exist_ok=True)
    growing = path.with_suffix(".growing")
    for ending in ("", "-wal", "-shm"):
        growing.with_name(growing.name + ending).unlink(missing_ok=True)
    earlier = max(folder.glob(f"reports-*-{posts}.db"), key=lambda each: each.stat().st_mtime, default=smaller)
    if earlier is not None:
        shutil.copyfile(earlier, growing)
        growing.chmod(0o600)
    asyncio.run(_grow(str(growing), -(-posts // POSTS_EACH)))
    return growing.rename(path)


async def _grow(path: str, accounts: int) -> None:
    database = await open_database(path, RealClock())
    await database.create_tables()
    await _Grower(database).grow(accounts)
    await database.close()


class _Grower:
    """Writes accounts, the next after those that are there."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._store = Store(database)
        self._facets = {name: provider("mastodon").facets[name if name != "profiles" else "profile"] for name in _FACETS}
        self._call = 0

    async def grow(self, accounts: int) -> None:
        first = await self._begin()
        for start in range(first, accounts, _TOGETHER):
            async with self._database.transaction() as tx:
                for number in range(start, min(start + _TOGETHER, accounts)):
                    await self._account(tx, number)
                await tx.execute(_COUNT)

    async def _begin(self) -> int:
        """Whoever is there already."""
        async with self._database.transaction() as tx:
            row = await tx.fetch_one("select count(*) as n from tasks where lane = 2")
            (last,) = await tx.fetch("select max(call) as call from calls")
            self._call = int(last["call"] or 0)
            if row and row["n"]:
                return int(row["n"])
            await register_service(tx, SERVICE, "mastodon")
            at = to_micros(_BEGAN)
            await tx.execute(
                "insert into crawls (name, flow, settings, state, wanted, created_at, updated_at) "
                "values ('large', ?, '{}', 'finished', 'running', ?, ?)",
                *(_FLOW, at, at),
            )
            facets = [(number, facet.name) for number, facet in enumerate(self._facets.values(), 1)]
            await tx.execute_many("insert into lanes (lane, crawl, service, facet) values (?, 1, 1, ?)", facets)
        return 0

    async def _account(self, tx: Transaction, number: int) -> None:
        now = _BEGAN + timedelta(seconds=20 * number)
        await self._save(tx, 1, number, Page(users=(_user(number),)), now)
        await self._save(tx, 2, number, Page(users=(_user(number),), posts=tuple(_posts(number, now))), now)
        await self._save(tx, 3, number, Page(relations=tuple(_followers(number, 0))), now)
        later = now + timedelta(days=2)
        if number % 10 == 0:
            await self._save(tx, 3, number, Page(relations=tuple(_followers(number, FOLLOWERS_EACH // 4))), later)
        await self._save(tx, 1, number, _second_look(number), later)
        gone = [Gone(Subject.POST, str(number * POSTS_EACH + 7), Outcome.NOT_FOUND, is_stated=True)] if number % 5 < 2 else []
        await self._save(tx, 2, number, Page(gone=tuple(gone)), later)
        at = to_micros(later)
        await tx.execute_many(_TASK, [(lane, str(number), at + 10**12, at, at) for lane in (1, 2, 3)])

    async def _save(self, tx: Transaction, lane: int, number: int, page: Page, now: datetime) -> None:
        self._call += 1
        facet, key = self._facets[_FACETS[lane - 1]], str(number)
        at, items = to_micros(now), len(page.users) + len(page.posts) + len(page.relations)
        await tx.execute(_CALL, self._call, lane, facet.name, key, at, at, at, at, at, items, items)
        task = Task(task=number, lane=lane, target=key, token=1, progress=Progress())
        await self._store.save(tx, page, service=SERVICE, tasks=[task], facet=facet, call=self._call, now=now)


def handle_of(number: int) -> str:
    return f"person{number}"


def _user(number: int, **fields: Any) -> User:
    known: dict[str, Any] = {
        "handle": handle_of(number),
        "name": f"Person {number}",
        "description": f"Writes about {number % 97} and more.",
        "followers": FOLLOWERS_EACH,
        "following": FOLLOWERS_EACH,
        "posts": POSTS_EACH + number % 3,
    }
    return User(id=f"{_BASE}/users/person{number}", key=str(number), **known | fields)


def _second_look(number: int) -> Page:
    if number % 100 == 99:
        return Page(gone=(Gone(Subject.USER, str(number), Outcome.SUSPENDED, is_stated=True),))
    renamed = {"handle": f"renamed{number}"} if number % 50 == 27 else {}
    opts_out = {"opts_out": True} if number % 200 == 13 else {}
    return Page(users=(_user(number, description=f"Now writes about {number % 89}.", **renamed, **opts_out),))


def _posts(number: int, now: datetime) -> Iterator[Post]:
    for place in range(POSTS_EACH):
        key = number * POSTS_EACH + place
        text = f"Post {key} says something that is as long as posts are at the median, more or less."
        address = f"{_BASE}/users/person{number}/statuses/{key}"
        yield Post(
            id=address,
            key=str(key),
            author=f"{_BASE}/users/person{number}",
            created_at=now - timedelta(hours=13 * place),
            text=text,
            language="en" if key % 3 else "pt",
            url=f"{_BASE}/@person{number}/{key}",
            replies=key % 3,
            likes=key % 7,
            raw=_RAW % text.encode(),
        )


def _followers(number: int, away: int) -> Iterator[Relation]:
    """The followers of an account, all of whom have lower numbers, or hardly any higher; `away`: how many have changed."""
    for place in range(away, FOLLOWERS_EACH + away):
        source = (number * 31 + place * 17) % (number + 2 * FOLLOWERS_EACH)
        yield Relation(RelationKind.FOLLOW, str(source), str(number))
