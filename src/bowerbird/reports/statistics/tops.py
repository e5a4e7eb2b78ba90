"""Who and what occurs most: of all times, and of each month."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from enum import StrEnum

import msgspec
from msgspec import Struct

from bowerbird.clock import from_micros, to_micros
from bowerbird.modules.statistics.tally import domain, hashed
from bowerbird.ports import Database, Transaction
from bowerbird.reports.statistics.documents import read_document
from bowerbird.reports.statistics.people import Person, read_people

_TAGS = "select t.tag as value from post_tags t where t.post_no {number}"
_LINKS = (
    "select p.post_no, p.links as value from posts p where p.links is not null and p.deleted_at is null and p.post_no {number}"
)


class Ranked(StrEnum):
    """What there are lists of, as they are counted."""

    AUTHORS = "author"
    ANSWERED = "answered"
    REPOSTED = "reposted"
    MENTIONED = "mention"
    TAGS = "tag"
    LINKS = "link"
    DOMAINS = "domain"

    @property
    def is_of_people(self) -> bool:
        return self in (Ranked.AUTHORS, Ranked.ANSWERED, Ranked.REPOSTED, Ranked.MENTIONED)


class Entry(Struct, frozen=True, kw_only=True):
    """One of a list: an account, or a text."""

    text: str
    posts: int
    person: Person | None = None


class TopList(Struct, frozen=True, kw_only=True):
    """The most frequent ones, and of which months there are lists."""

    as_of: datetime
    months: tuple[datetime, ...]
    """The latest first."""
    entries: tuple[Entry, ...]
    hidden: int
    """So many more are gone since they were counted."""


class Influence(Struct, frozen=True, kw_only=True):
    """How often others passed on, named and answered an account, in stored posts."""

    person: Person
    reposted: int
    mentioned: int
    answered: int

    @property
    def per_follower(self) -> float | None:
        """Reposts and mentions for each thousand followers: who moves more than his audience would explain."""
        followers = self.person.followers
        return None if not followers else 1_000 * (self.reposted + self.mentioned) / followers


Rows = list[tuple[int, int, int]]


async def read_top(tx: Transaction, database: Database, what: Ranked, month: datetime | None = None) -> TopList | None:
    """The list of all times or of one month; None where nothing was counted yet."""
    found = await read_document(tx, f"top {what}", dict[str, Rows])
    if found is None:
        return None
    lists, at = found
    rows = lists.get("0" if month is None else str(to_micros(month)), [])
    months = tuple(from_micros(each) for each in sorted(map(int, lists), reverse=True) if each)
    entries = await (_people if what.is_of_people else _texts)(tx, database, what, rows)
    return TopList(as_of=at, months=months, entries=tuple(entries), hidden=len(rows) - len(entries))


async def _people(tx: Transaction, database: Database, _: Ranked, rows: Rows) -> Sequence[Entry]:
    people = await read_people(tx, database, [key for key, _, _ in rows])
    return [Entry(text=people[key].label, posts=n, person=people[key]) for key, n, _ in rows if key in people]


async def _texts(tx: Transaction, database: Database, what: Ranked, rows: Rows) -> Sequence[Entry]:
    """Read from the posts that were noted as examples, as far as these still say it."""
    posts = {example for _, _, example in rows}
    texts = await (_tags if what is Ranked.TAGS else _links)(tx, database, posts)
    if what is Ranked.DOMAINS:
        texts = {hashed(name): name for name in map(domain, texts.values())}
    return [Entry(text=texts[key], posts=n) for key, n, _ in rows if key in texts]


async def _tags(tx: Transaction, database: Database, posts: Collection[int]) -> Mapping[int, str]:
    rows = await _of(tx, database, _TAGS, posts)
    return {hashed(value): value for value in rows}


async def _links(tx: Transaction, database: Database, posts: Collection[int]) -> Mapping[int, str]:
    rows = await _of(tx, database, _LINKS, posts)
    links = {link for value in rows for link in msgspec.json.decode(value, type=list[str])}
    return {hashed(link): link for link in links}


async def _of(tx: Transaction, database: Database, sql: str, posts: Collection[int]) -> Sequence[str]:
    if not posts:
        return []
    rows = await tx.fetch(sql.format(number=database.any("bigint")), database.members(sorted(posts)))
    return [row["value"] for row in rows]


async def read_influence(tx: Transaction, database: Database) -> tuple[Sequence[Influence], datetime] | None:
    found = await read_document(tx, "influence", dict[str, list[tuple[int, int, int, int]]])
    if found is None:
        return None
    rows, at = found[0]["users"], found[1]
    people = await read_people(tx, database, [row[0] for row in rows])
    return [
        Influence(person=people[key], reposted=reposted, mentioned=mentioned, answered=answered)
        for key, reposted, mentioned, answered in rows
        if key in people
    ], at
