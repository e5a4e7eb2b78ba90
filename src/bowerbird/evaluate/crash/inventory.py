"""Everything a crawl has stored, in terms that do not depend on its order, to be compared with another crawl of the same.

Two questions are asked of a store. Against an uninterrupted run: is anything missing, there twice, there without reason, or
different? And by itself: do its books agree, the crawl's totals with the query log and the query log with the rows?
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from typing import Any

from msgspec import Struct, field

from bowerbird.ports import Database, Row, Transaction
from bowerbird.store.fields import POST_FIELDS, USER_FIELDS

_EXAMPLES = 5


class Kind(Struct, frozen=True):
    """One sort of thing: a query whose first columns name the thing and whose others describe it."""

    sql: str
    names: int = 1


def _columns(alias: str, fields: tuple[str, ...]) -> str:
    return ", ".join(f"{alias}.{name}" for name in fields)


def _claim(column: str) -> str:
    return f"case when {column} is null then 0 else 1 end as has_{column.partition('.')[2]}"


_AUTHORED = "join users u on u.user_no = p.author"
_ENDS = "join users s on s.user_no = r.source join users t on t.user_no = r.target"
_OF_USER = "join users u on u.user_no = x.user_no"
_OF_POST = "join posts p on p.post_no = x.post_no"
_SETTLED = "state = 'settled' and outcome = 'ok'"
# Whether the copy of a quote is kept depends on which of its sightings came first, where the quoted author has opted out.
_HAS_RAW = "case when p.raw is null and p.frame is null and p.quote_of is null then 0 else 1 end as has_raw"
# The end of the address, which on Mastodon is also the id: every simulated server shows its files where it listens itself.
_FILE = "substr(x.url, length(x.url) - 24) as file"
KINDS: Mapping[str, Kind] = {
    "users": Kind(
        f"select u.id, {_columns('u', USER_FIELDS)}, u.checked_posts, {_claim('u.seen_at')}, {_claim('u.raw')} from users u"
    ),
    "posts": Kind(
        f"select p.id, u.id as author, {_columns('p', POST_FIELDS)}, {_claim('p.deleted_at')}, {_HAS_RAW} "
        f"from posts p {_AUTHORED}"
    ),
    "relations": Kind(
        f"select r.kind, s.id as source, t.id as target, {_claim('r.removed_at')} from relations r {_ENDS}", names=3
    ),
    "tags": Kind(f"select p.id, x.tag from post_tags x {_OF_POST}", names=2),
    "mentions": Kind(f"select p.id, u.id as mentioned from post_mentions x {_OF_POST} {_OF_USER}", names=2),
    "media": Kind(f"select x.place, p.id as post, x.kind, {_FILE}, x.description from media x {_OF_POST}", names=2),
    "keys of users": Kind(f"select x.key, u.id from user_keys x {_OF_USER}", names=2),
    "keys of posts": Kind(f"select x.key, p.id from post_keys x {_OF_POST}", names=2),
    "unavailable": Kind(f"select u.id, x.reason from unavailable x {_OF_USER} where x.until is null", names=2),
    "deletions": Kind("select subject, id, reason from deletions", names=2),
    "listings": Kind(f"select u.id, x.kind, x.side, x.listed, {_claim('x.ended_at')} from listings x {_OF_USER}", names=3),
    "quarantine": Kind("select facet, why, items from quarantine_sources", names=2),
    "tasks": Kind("select l.facet, t.target, t.state, t.visits, t.newest from tasks t join lanes l on l.lane = t.lane", names=2),
    # The same page settled twice would be one more line of the same facet and target. What a server is may be asked again.
    "pages": Kind(f"select facet, targets, results from calls where {_SETTLED} and facet not in ('profiles', 'survey')", names=3),
    "changes of users": Kind(f"select u.id, x.before, x.after from user_history x {_OF_USER}", names=3),
    "changes of posts": Kind(f"select p.id, x.before, x.after from post_history x {_OF_POST}", names=3),
    "changes of relations": Kind(
        f"select r.kind, s.id as source, t.id as target, r.change from relation_history r {_ENDS}", names=4
    ),
}

_BOOKS: Mapping[str, tuple[str, str]] = {
    "calls of the crawl": ("select sum(calls) from crawls", "select count(*) from calls where state = 'settled'"),
    "items of the crawl": ("select sum(items) from crawls", "select sum(new_items) from calls where state = 'settled'"),
    "users of the crawl": ("select sum(users) from crawls", "select count(*) from users where seen_at is not null"),
    "posts of the crawl": ("select sum(posts) from crawls", "select count(*) from posts"),
    "relations of the crawl": ("select sum(items - users - posts) from crawls", "select count(*) from relations"),
    "profiles looked up": (
        f"select sum(objects) from calls where {_SETTLED} and facet = 'profiles'",
        "select count(*) from tasks join lanes on lanes.lane = tasks.lane where facet = 'profiles'",
    ),
    "changes of users that change nothing": ("select count(*) from user_history where before = after", "select 0"),
    "changes of posts that change nothing": ("select count(*) from post_history where before = after", "select 0"),
}
"""Two ways to count the same."""

_LOOSE: Mapping[str, str] = {
    "calls still flying": "select count(*) from calls where state = 'flying'",
    "tasks still leased": "select count(*) from tasks where token is not null or state = 'leased'",
    "tasks given up": "select count(*) from tasks where state = 'failed'",
    "charges still open": "select coalesce(sum(in_flight), 0) from ledgers",
    "credentials refused": "select count(*) from credentials where state = 'refused'",
    "refusals heard": "select coalesce(sum(refused), 0) from ledgers",
}
"""What must be 0 when a crawl has ended."""


class Inventory(Struct, frozen=True, kw_only=True):
    """One store, read completely."""

    things: dict[str, Counter[tuple[Any, ...]]]
    described: dict[str, dict[tuple[Any, ...], dict[str, Any]]]
    """What a thing is like, by column."""
    books: dict[str, tuple[int, int]]
    loose: dict[str, int]
    logged: int
    """Calls in the query log, lost ones too."""
    lost_calls: int
    items: int


class Differences(Struct, kw_only=True):
    """What a store has less, twice, more, or otherwise than an uninterrupted run."""

    lost: int = 0
    doubled: int = 0
    extra: int = 0
    differing: int = 0
    loose: int = 0
    examples: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))

    @property
    def total(self) -> int:
        return self.lost + self.doubled + self.extra + self.differing + self.loose

    def note(self, what: str, example: object) -> None:
        if len(self.examples[what]) < _EXAMPLES:
            self.examples[what].append(str(example)[:600])


async def take_inventory(database: Database) -> Inventory:
    things: dict[str, Counter[tuple[Any, ...]]] = {}
    described: dict[str, dict[tuple[Any, ...], dict[str, Any]]] = {}
    async with database.reading() as tx:
        for name, kind in KINDS.items():
            rows = [_parted(row, kind.names) for row in await tx.fetch(kind.sql)]
            things[name] = Counter(thing for thing, _ in rows)
            described[name] = dict(rows)
        return Inventory(
            things=things,
            described=described,
            books={name: (await _number(tx, one), await _number(tx, other)) for name, (one, other) in _BOOKS.items()},
            loose={name: await _number(tx, sql) for name, sql in _LOOSE.items()},
            logged=await _number(tx, "select count(*) from calls"),
            lost_calls=await _number(tx, "select count(*) from calls where state = 'lost'"),
            items=await _number(tx, "select sum(items) from crawls"),
        )


def _parted(row: Row, names: int) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """What names a thing, and what describes it."""
    columns = list(row.keys())
    return tuple(row[column] for column in columns[:names]), {column: row[column] for column in columns[names:]}


async def _number(tx: Transaction, sql: str) -> int:
    rows = await tx.fetch(sql)
    return int(rows[0][0] or 0)  # type: ignore[index]


def compare(found: Inventory, wanted: Inventory) -> Differences:
    """How the store of a killed crawl differs from that of an uninterrupted one."""
    differences = Differences()
    for name in KINDS:
        _compare_things(differences, name, found, wanted)
    check_books(differences, found)
    return differences


def check_books(differences: Differences, found: Inventory) -> None:
    """What must hold in any store of a finished crawl."""
    for name, (one, other) in found.books.items():
        if one != other:
            differences.doubled += abs(one - other)
            differences.note(f"doubled: {name}", f"{one} against {other}")
    for name, count in found.loose.items():
        if count:
            differences.loose += count
            differences.note(f"loose: {name}", count)


def _compare_things(differences: Differences, name: str, found: Inventory, wanted: Inventory) -> None:
    here, there = found.things[name], wanted.things[name]
    for thing, count in (there - here).items():
        differences.lost += count
        differences.note(f"lost: {name}", thing)
    for thing, count in (here - there).items():
        if thing in there:
            differences.doubled += count
        else:
            differences.extra += count
        differences.note(f"{'doubled' if thing in there else 'extra'}: {name}", thing)
    for thing in here.keys() & there.keys():
        mine, theirs = found.described[name][thing], wanted.described[name][thing]
        if mine != theirs:
            differences.differing += 1
            differing = {column: (value, theirs[column]) for column, value in mine.items() if value != theirs[column]}
            differences.note(f"differing: {name}", f"{thing}: {differing}")
