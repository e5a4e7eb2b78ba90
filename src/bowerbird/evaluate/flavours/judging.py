"""What a crawl left in its store, held against what there was: lost, taken for gone, accounted for."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from itertools import product

from msgspec import Struct

from bowerbird.clock import from_micros
from bowerbird.evaluate.flavours.listing import Listing
from bowerbird.ports import Database
from bowerbird.ports import Row as StoredRow
from bowerbird.reports.completeness import Cause, read_entries
from bowerbird.simulated.service import SimulatedService
from bowerbird.simulated.world.posts.rows import REPLY, REPOST, Row
from bowerbird.simulated.world.posts.tags import NO_TAG
from bowerbird.simulated.world.settings import to_ms

_LATE = timedelta(minutes=2)
"""What was written so shortly before the last look need not have been there then."""
_MANY = 1 << 30
_NO_EXCUSE = frozenset({Cause.PROTECTED, Cause.DELETED})
"""What everybody may read is neither: an account of what is missing that says so does not account for it."""

_TASKS = """select l.facet, t.target, t.visited_at from tasks t join lanes l on l.lane = t.lane
where t.state <> 'failed' and t.visits > 0 and t.visited_at is not null"""
_POSTS = """select p.post_no as no, p.id, p.deleted_at, k.key,
case when p.text like '%(edited)%' then p.edited_at end as edited_at
from posts p left join post_keys k on k.post_no = p.post_no"""
_USERS = "select u.user_no as no, u.id, u.seen_at, k.key from users u left join user_keys k on k.user_no = u.user_no"
_FOLLOWS = "select source, target from relations where kind = 'follow' and removed_at is null"
_REPOSTERS = "select post_no, user_no from reposts"
_AWAY = "select user_no from unavailable where until is null and reason <> 'protected'"
_ACCOUNTS, _LISTS, _RELATED = frozenset({"profile", "profiles"}), frozenset({"followers", "following"}), frozenset({"reposts"})


class Held(Struct, frozen=True, kw_only=True):
    """What the store has, in the server's keys."""

    posts: frozenset[str]
    first_versions: frozenset[str] = frozenset()
    """Posts as they were before any edit."""
    gone: frozenset[str]
    """Posts taken for deleted."""
    users: frozenset[str]
    away: frozenset[str]
    """Accounts taken for gone."""
    follows: frozenset[tuple[str, str]]
    reposters: frozenset[tuple[str, str]]
    finished: tuple[tuple[str, str, datetime], ...]
    """Facet, target and time of every listing that was read to its end."""
    accounted: dict[str, int]
    """By the key of an account or a query how much is said to be missing, for reasons that may be."""


async def read_held(database: Database) -> Held:
    """Everything that is compared, read at once."""
    async with database.reading() as tx:
        posts, users = await tx.fetch(_POSTS), await tx.fetch(_USERS)
        follows, reposters = await tx.fetch(_FOLLOWS), await tx.fetch(_REPOSTERS)
        tasks, away = await tx.fetch(_TASKS), await tx.fetch(_AWAY)
    people, written = _by_number(users), _by_number(posts)
    return Held(
        posts=frozenset(key for keys in written.values() for key in keys),
        first_versions=frozenset(key for row in posts if row["edited_at"] is None for key in _keys(row)),
        gone=frozenset(key for row in posts if row["deleted_at"] is not None for key in _keys(row)),
        users=frozenset(key for row in users if row["seen_at"] is not None for key in _keys(row)),
        away=frozenset(key for row in away for key in people[row["user_no"]]),
        follows=frozenset(pair for row in follows for pair in product(people[row["source"]], people[row["target"]])),
        reposters=frozenset(pair for row in reposters for pair in product(written[row["post_no"]], people[row["user_no"]])),
        finished=tuple((row["facet"], row["target"], from_micros(row["visited_at"])) for row in tasks),
        accounted=await _accounted(database, {row["id"]: key for row in users for key in _keys(row)}),
    )


def _by_number(rows: Sequence[StoredRow]) -> dict[int, set[str]]:
    found: dict[int, set[str]] = defaultdict(set)
    for row in rows:
        found[row["no"]] |= _keys(row)
    return found


def _keys(row: StoredRow) -> set[str]:
    """What the server may call it: its own key, or on the central networks the global id, which is the key behind a prefix."""
    return {row["id"], row["id"].partition(":")[2]} if row["key"] is None else {row["key"]}


async def _accounted(database: Database, keys: Mapping[str, str]) -> dict[str, int]:
    told: dict[str, int] = defaultdict(int)
    async for _, entry in read_entries(database, ("user", "query")):
        parts = [part for part in entry.missing if part.cause not in _NO_EXCUSE]
        told[keys.get(entry.subject, entry.subject)] += sum(_MANY if part.high is None else part.high for part in parts)
    async with database.reading() as tx:
        for row in await tx.fetch("select distinct target from shortfalls"):
            told[row["target"]] += _MANY
    return dict(told)


class Judge:
    """Holds a store against what its server lists and against the truth."""

    def __init__(self, held: Held, listing: Listing, service: SimulatedService, now: datetime) -> None:
        self._held, self._listing, self._service, self._now = held, listing, service, now
        self._rows = all_posts(service, now)
        self._tells_edits = service.dialect.name == "mastodon"

    def lost(self) -> list[str]:
        """What finished listings should have brought and the store does not have, and nothing says so."""
        found = []
        for facet, target, visited_at in self._held.finished:
            missing = self._missing(facet, target, visited_at)
            spared = self._held.accounted.get(target, 0)
            found += missing[min(spared, len(missing)) :]
        return found

    def broken(self, seeds: Sequence[str], promises: Sequence[str]) -> list[str]:
        """What the server lists of the seeds in ways the flow is made of, and the store does not have, finished or not.

        Accounts that ask to be left alone are not asked about any further.
        """
        found = []
        for seed in seeds:
            target = self._target(seed)
            for facet in promises if target is not None else ():
                found += self._missing(facet, str(target), self._now)
        return found

    def _target(self, seed: str) -> str | None:
        """The server's own key of a seed; None of one who is not collected."""
        if not seed.startswith("@"):
            return seed if self._is_asked_about(seed) else None
        key = next(iter(self._listing.of("profile", seed) or ()), None)
        return key if key is not None and self._is_asked_about(key) else None

    def _is_asked_about(self, key: str) -> bool:
        account = None if key.startswith("#") else self._service.dialect.account_number(key)
        author = self._rows[key].author if key in self._rows else account
        return author is None or self._service.truth.is_collectable(author, self._now)

    def _missing(self, facet: str, target: str, by: datetime) -> list[str]:
        there = self._listing.of(facet, target)
        lacking = sorted(key for key in there or () if not _has(self._held, facet, target, key) and self._counts(facet, key, by))
        return [f"{facet} {target}: {key}" for key in lacking]

    def _counts(self, facet: str, key: str, visited_at: datetime) -> bool:
        """Whether an item had to be found: posts of those who may be collected that were there when the list was last read."""
        service, until = self._service, self._service.world.settings.until
        if facet in _ACCOUNTS or facet in _LISTS:
            return True
        if facet in _RELATED:
            account = service.dialect.account_number(key)
            return account is not None and service.truth.is_collectable(account, visited_at)
        row, last = self._rows.get(key), visited_at - _LATE if until is None else until
        return row is not None and row.ms <= to_ms(last) and service.truth.is_collectable(row.author, visited_at)

    def erased(self) -> list[str]:
        """Posts that live and everybody may read, and open accounts, that the store takes for gone."""
        dialect, world, now = self._service.dialect, self._service.world, to_ms(self._now)
        posts = [key for key in self._held.gone if key in self._rows and self._is_alive(self._rows[key], now)]
        numbers = {key: dialect.account_number(key) for key in self._held.away}
        people = [key for key, account in numbers.items() if account is not None and world.is_open(account, now)]
        return sorted([*(f"post {key}" for key in posts), *(f"account {key}" for key in people)])

    def _is_alive(self, row: Row, now: int) -> bool:
        return row.ms <= now < row.gone_at and self._service.is_shown(row, now) and self._service.world.is_open(row.author, now)

    def unheard(self, since: datetime, about: int = NO_TAG) -> list[str]:
        """Posts that a stream of everything, or of one hashtag, told and the store does not have, or only as they were before an
        edit that it told too."""
        first, last = to_ms(since), to_ms(self._now - _LATE)
        told = {key: row for key, row in self._rows.items() if first < row.ms <= last and self._is_streamed(row)}
        told = {key: row for key, row in told.items() if about == NO_TAG or row.is_about(about)}
        stale = [key for key, row in told.items() if self._is_edited(row, last) and key in self._held.first_versions]
        return sorted([*(f"stream: {key}" for key in told if key not in self._held.posts), *(f"edit: {key}" for key in stale)])

    def _is_edited(self, row: Row, last: int) -> bool:
        return 0 < self._service.world.contents.of(row).edited_ms <= last and self._tells_edits

    def _is_streamed(self, row: Row) -> bool:
        now, vantage = to_ms(self._now), getattr(self._service.dialect, "vantage", None)
        if row.kind == REPOST or (row.kind == REPLY and vantage is not None) or not self._is_alive(row, now):
            return False
        if not self._service.truth.is_collectable(row.author, self._now):
            return False
        return vantage is None or (vantage.holds(row, now) and self._service.world.contents.visibility(row.number) == "public")


def all_posts(service: SimulatedService, now: datetime) -> dict[str, Row]:
    """Every post that was ever written, by the server's key."""
    world = service.world
    rows = (row for account in range(len(world)) for row in world.all_rows(account, 0, to_ms(now) + 1))
    return {service.dialect.post_key(row.number): row for row in rows}


def _has(held: Held, facet: str, target: str, key: str) -> bool:
    if facet in _ACCOUNTS:
        return key in held.users
    if facet == "followers":
        return (key, target) in held.follows
    if facet == "following":
        return (target, key) in held.follows
    if facet in _RELATED:
        return (target, key) in held.reposters
    return key in held.posts
