"""Pages as the tests of the store need them: small, named, one call each."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from bowerbird.flows.consent import USUAL, Consent
from bowerbird.model import Facet, Page, Post, Progress, Relation, RelationKind, Saved, Service, Side, Subject, Task, User
from bowerbird.ports import Database, Row
from bowerbird.store import Store, register_service

START = datetime(2026, 3, 1, 12, tzinfo=UTC)
X = Service(name="bird", provider="twitter_v1", base="https://api.example")
FEDIVERSE = Service(name="mammoth", provider="mastodon", base="https://mammoth.example")
SKY = Service(name="sky", provider="bluesky", base="https://sky.example")
HOME = Service(name="home", provider="mastodon", base="https://home.example")
OTHER = Service(name="elephant", provider="mastodon", base="https://elephant.example")

PROFILES = Facet(
    name="profiles", subject=Subject.USER, yields=frozenset({"users"}), objects_per_call=100, is_lookup=True, is_own_route=True
)
TIMELINE = Facet(name="timeline", subject=Subject.USER, yields=frozenset({"posts", "users"}), is_incremental=True)
POSTS = Facet(name="posts", subject=Subject.POST, yields=frozenset({"posts", "users"}), objects_per_call=100, is_own_route=True)
FOLLOWERS = Facet(name="followers", subject=Subject.USER, yields=frozenset({"relations"}), side=Side.FOLLOWERS)
FIREHOSE = Facet(name="firehose", subject=Subject.WORD, yields=frozenset({"posts", "users", "relations"}))
FOLLOWING = Facet(name="following", subject=Subject.USER, yields=frozenset({"relations"}), side=Side.FOLLOWING)


class Crawled:
    """A store that pages are saved into, each by a call of its own, an hour after the one before."""

    def __init__(self, database: Database, consent: Consent = USUAL) -> None:
        self.database = database
        self.store = Store(database, consent=consent)
        self.call = 0
        self.now = START

    async def register(self) -> Crawled:
        async with self.database.transaction() as tx:
            await register_service(tx, X, "x")
            await register_service(tx, FEDIVERSE, "mastodon")
            await register_service(tx, OTHER, "mastodon")
            await register_service(tx, HOME, "mastodon")
            await register_service(tx, SKY, "bluesky")
        return self

    async def save(
        self,
        page: Page,
        facet: Facet = PROFILES,
        *targets: str,
        service: Service = X,
        cursor: str | None = None,
        after: timedelta = timedelta(hours=1),
    ) -> Saved:
        self.call += 1
        self.now += after
        asked = targets or tuple(gone.key for gone in page.gone)
        tasks = [Task(task=n, lane=1, target=target, token=1, progress=Progress(cursor)) for n, target in enumerate(asked)]
        async with self.database.transaction() as tx:
            return await self.store.save(
                tx, self.store.clean(page), service=service, tasks=tasks, facet=facet, call=self.call, now=self.now
            )

    async def hear(self, *pages: Page, service: Service = SKY) -> Saved:
        """Pages of one batch of a stream, an hour after whatever was before; answers what the last one changed."""
        self.call += 1
        self.now += timedelta(hours=1)
        saved = Saved()
        async with self.database.transaction() as tx:
            for page in pages:
                saved = await self.store.hear(
                    tx, self.store.clean(page), service=service, facet=FIREHOSE, call=self.call, now=self.now
                )
        return saved

    async def leased(self, at: datetime, facet: Facet = TIMELINE, lane: int = 1) -> None:
        """Writes into the query log that the next call was leased at this time."""
        values = (self.call + 1, 1, lane, facet.name, 1, "flying", "[]", 1, "[]")
        async with self.database.transaction() as tx:
            await tx.execute(
                "insert into calls (call, crawl, lane, facet, worker, state, charges, objects, targets, leased_at, expires_at) "
                "values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                *values,
                micros(at),
                micros(at),
            )

    async def rows(self, sql: str, *values: Any) -> Sequence[Row]:
        async with self.database.reading() as tx:
            return await tx.fetch(sql, *values)

    async def row(self, sql: str, *values: Any) -> Row:
        (row,) = await self.rows(sql, *values)
        return row

    async def count(self, table: str, where: str = "1 = 1") -> int:
        return int((await self.row(f"select count(*) as n from {table} where {where}"))["n"])


def micros(when: datetime) -> int:
    return round((when - datetime(1970, 1, 1, tzinfo=UTC)) / timedelta(microseconds=1))


def user(key: str, **fields: Any) -> User:
    return User(id=f"x:{key}", key=key, **{"handle": f"u{key}", "raw": b'{"id":' + key.encode() + b"}"} | fields)


def federated(name: str, key: str, **fields: Any) -> User:
    return User(id=f"https://home.example/users/{name}", key=key, **{"handle": name} | fields)


def post(key: str, author: str = "1", **fields: Any) -> Post:
    ready = {"text": f"text {key}", "created_at": START, "raw": b'{"id":' + key.encode() + b"}"}
    return Post(id=f"x:{key}", key=key, author=f"x:{author}", **ready | fields)


def toot(key: str, name: str, **fields: Any) -> Post:
    author = f"https://home.example/users/{name}"
    return Post(id=f"{author}/statuses/{key}", key=key, **{"text": f"toot {key}", "author": author} | fields)


def skeet(key: str, author: str = "did:a", **fields: Any) -> Post:
    ready = {"text": f"text {key}", "created_at": START, "raw": b'{"raw":"text"}'}
    return Post(id=f"at://{key}", key=f"at://{key}", author=author, **ready | fields)


def following(source: str, *targets: str) -> tuple[Relation, ...]:
    return tuple(Relation(RelationKind.FOLLOW, source, target) for target in targets)


def followers(target: str, *sources: str) -> tuple[Relation, ...]:
    return tuple(Relation(RelationKind.FOLLOW, source, target) for source in sources)
