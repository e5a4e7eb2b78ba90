"""A request to forget: tombstones and erasure at once, the sweep behind them, and the record."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from datetime import datetime

from msgspec import Struct

from bowerbird.clock import from_micros, to_micros
from bowerbird.db.postgres.pages_lock import ALONE
from bowerbird.ports import Clock, Database, Transaction
from bowerbird.store.context import SaveContext
from bowerbird.store.forgetting.erasing import KINDS, Erased, EraseStatements, erase, names_of
from bowerbird.store.forgetting.sweeping import RESIDUE, Said, Sweep
from bowerbird.store.forgetting.tombstones import Tombstones, next_version, take_marks

_RECORD = """
insert into forget_requests (version, at, who, why, names, users, posts, relations, media, mentions)
values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) returning request
"""
_MORE = """
update forget_requests set version = ?, names = names + ?, users = users + ?, posts = posts + ?, relations = relations + ?,
    media = media + ?, mentions = mentions + ? where request = ?
"""
_REQUESTS = """
select request, at, who, why, names, users, posts, relations, media, mentions, done_at from forget_requests order by request
"""
AT_ONCE = 200
"""Accounts and posts that are erased in one transaction."""
_WAITING = "select 1 as there from tombstone_state where swept < version"


class Wish(Struct, frozen=True, kw_only=True):
    """Whom and what to forget, by whose wish."""

    who: str
    why: str
    users: frozenset[int] = frozenset()
    posts: frozenset[int] = frozenset()
    names: frozenset[str] = frozenset()
    """Names that nobody bears in this store: they are kept out all the same."""
    lines: tuple[str, ...] = ()
    """Of a list of marks that somebody shares."""


class Request(Struct, frozen=True, kw_only=True):
    """The record of one request: nothing in it says who was forgotten."""

    request: int
    at: datetime
    who: str
    why: str
    names: int
    users: int
    posts: int
    relations: int
    media: int
    mentions: int
    done_at: datetime | None


class Forgetter:
    """Forgets in one store, beside running crawls."""

    def __init__(self, database: Database, clock: Clock, remove: Callable[[str], object] = lambda media: None) -> None:
        """`remove`: takes a picture or film off the disk, by its media id."""
        self._database = database
        self._clock = clock
        self._remove = remove
        self._sql = EraseStatements(database)

    async def forget(self, wish: Wish, said: Said = lambda table, rows: None) -> Erased:
        """Everything at once, then the names in what others wrote. Killed, the sweep goes on with the next request."""
        erased = await self.erase(wish)
        swept = await self.sweep(said)
        erased.add(swept)
        return erased

    async def erase(self, wish: Wish) -> Erased:
        """Keeps them out and erases their rows, some in each transaction: who saves a page waits for it, and sees it then."""
        erased, request = Erased(), 0
        for part in _parts(wish):
            async with self._database.transaction() as tx:
                if self._database.dialect == "postgresql":
                    await tx.execute(f"select pg_advisory_xact_lock({ALONE})")
                done, request = await self._erase(tx, part, request)
            erased.add(done)
        return erased

    async def _erase(self, tx: Transaction, wish: Wish, request: int) -> tuple[Erased, int]:
        s, tombstones = self._context(tx), Tombstones()
        taken = await take_marks(tx, wish.lines)
        names = wish.names | await names_of(s, self._sql, wish.users, wish.posts)
        await tombstones.load(tx)
        news = {name for name in names if not tombstones.holds(name)}
        if not (news or taken or wish.users or wish.posts):
            return Erased(), request
        version = await next_version(tx)
        await tombstones.add(tx, news)
        erased = await erase(s, self._sql, tombstones, wish.users, wish.posts)
        await tx.execute(RESIDUE)
        for media in erased.media:
            # Before the end of the transaction: killed now, the row still says that there is a file.
            self._remove(media)
        counts = (len(news) + taken, erased.users, erased.posts, erased.relations, len(erased.media), erased.mentions)
        if request:
            await tx.execute(_MORE, version, *counts, request)
            return erased, request
        row = await tx.fetch_one(_RECORD, version, to_micros(self._clock.now()), wish.who, wish.why, *counts)
        return erased, int(row["request"]) if row else 0

    async def sweep(self, said: Said = lambda table, rows: None) -> Erased:
        """Looks through the store for all who were ever forgotten, if that was not done yet."""
        return await Sweep(self._database, self._clock, self._remove, said).run()

    def _context(self, tx: Transaction) -> SaveContext:
        at = to_micros(self._clock.now())
        return SaveContext(tx=tx, database=self._database, at=at)


def _parts(wish: Wish) -> Iterator[Wish]:
    """The same wish in parts of bearable size; names that nobody bears come with the first."""
    numbers = [*((number, True) for number in sorted(wish.users)), *((number, False) for number in sorted(wish.posts))]
    for start in range(0, max(len(numbers), 1), AT_ONCE):
        part = numbers[start : start + AT_ONCE]
        users, posts = (frozenset(number for number, is_user in part if is_user is wanted) for wanted in (True, False))
        names, lines = (wish.names, wish.lines) if start == 0 else (frozenset(), ())
        yield Wish(who=wish.who, why=wish.why, users=users, posts=posts, names=names, lines=lines)


async def read_requests(tx: Transaction) -> list[Request]:
    """Every request, the first one first."""
    return [_request(row) for row in await tx.fetch(_REQUESTS)]


async def is_unfinished(tx: Transaction) -> bool:
    """Whether a sweep was broken off."""
    return await tx.fetch_one(_WAITING) is not None


def _request(row: object) -> Request:
    values = {name: row[name] for name in Request.__struct_fields__}  # type: ignore[index]
    times = {name: None if values[name] is None else from_micros(values[name]) for name in ("at", "done_at")}
    return Request(**values | times)


async def count_known(database: Database, tx: Transaction, users: Collection[int], posts: Sequence[int]) -> Erased:
    """What a request would remove at once, without removing it."""
    s = SaveContext(tx=tx, database=database, at=0)
    sql, number = EraseStatements(database), database.any("bigint")
    written = {*posts, *(row["post_no"] for row in await s.fetch_in(sql.posts_of, users))}
    count = f"select count(*) as n from relations where {KINDS} and"
    edges = [row for end in ("source", "target") for row in await s.fetch_in(f"{count} {end} {number}", users)]
    media = tuple(row["id"] for row in await s.fetch_in(sql.media, written))
    mentions = len(await s.fetch_in(sql.mentioning, users))
    return Erased(len(set(users)), len(written), sum(row["n"] for row in edges), mentions, media)
