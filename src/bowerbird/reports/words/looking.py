"""Read stored posts and count mentions of words and their authors over time, near spellings, and a random sample."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime
from random import Random

from msgspec import Struct

from bowerbird.analysis.word_search import Spellings, word_pattern
from bowerbird.clock import from_micros, to_micros
from bowerbird.model.subjects.telling import is_hidden
from bowerbird.ports import Database, Row
from bowerbird.reports.counting.by_time import Unit
from bowerbird.reports.figures.written import WRITTEN

SAMPLE = 200
"""Posts in the random sample that people label, as in TwitterEcho."""
PEOPLE = 3
"""Minimum number of authors of a reported spelling, to protect single authors."""
_SPELLINGS = 40
_BATCH = 500
"""Posts per query, which takes some milliseconds."""
_MOST_STRETCHES = 100_000
_TOP = "select coalesce(max(post_no), 0) as top from posts"
_POSTS = f"""
select p.post_no, p.author, p.text, {WRITTEN} as written from posts p join users u on u.user_no = p.author
where p.post_no > ? and p.post_no <= ? and p.deleted_at is null and p.kind <> 'repost' and p.text is not null
    and not {is_hidden("u")}
order by p.post_no
"""


class Wanted(Struct, frozen=True, kw_only=True):
    """The words and the time of a study."""

    words: Sequence[str]
    unit: Unit
    since: datetime | None = None
    until: datetime | None = None


class Found(Struct, kw_only=True):
    """The counts of a study."""

    looked: int = 0
    """Posts with text that were written in the time of the study."""
    posts: int = 0
    people: int = 0
    stretches: dict[str, tuple[int, int]] = {}
    """Posts and authors by the start of each interval (microseconds)."""


class Looked(Struct, frozen=True):
    """The result of a study."""

    found: Found
    spellings: list[tuple[str, int, int]]
    """Spelling, posts, authors."""
    sample: list[int]
    """Numbers of posts, in random order."""


class _Counts:
    """Running counts."""

    def __init__(self, wanted: Wanted, lots: Random) -> None:
        self.wanted = wanted
        self._lots = lots
        self._pattern = word_pattern(wanted.words)
        self._since, self._until = (None if when is None else to_micros(when) for when in (wanted.since, wanted.until))
        self.spellings = Spellings(wanted.words)
        self.posts: dict[int, int] = {}
        self.people: dict[int, set[int]] = {}
        self.sample: list[int] = []
        self.looked = self.mentions = 0

    def look(self, row: Row) -> None:
        at = row["written"]
        if at is None or (self._since is not None and at < self._since) or (self._until is not None and at >= self._until):
            return
        self.looked += 1
        self.spellings.add(row["text"], row["author"])
        if self._pattern.search(row["text"]):
            self._count(row, to_micros(self.wanted.unit.begin(from_micros(at))))

    def _count(self, row: Row, stretch: int) -> None:
        self.mentions += 1
        if stretch in self.posts or len(self.posts) < _MOST_STRETCHES:
            self.posts[stretch] = self.posts.get(stretch, 0) + 1
            self.people.setdefault(stretch, set()).add(row["author"])
        # Reservoir sampling: every mention has the same chance.
        if len(self.sample) < SAMPLE:
            self.sample.append(row["post_no"])
        elif (place := self._lots.randrange(self.mentions)) < SAMPLE:
            self.sample[place] = row["post_no"]

    def end(self) -> Looked:
        stretches = {str(at): (self.posts[at], len(self.people[at])) for at in sorted(self.posts)}
        everybody: set[int] = set().union(*self.people.values())
        self._lots.shuffle(self.sample)
        found = Found(looked=self.looked, posts=self.mentions, people=len(everybody), stretches=stretches)
        return Looked(found, self.spellings.common(PEOPLE, _SPELLINGS), self.sample)


async def look_through(database: Database, wanted: Wanted, lots: Random, said: Callable[[int, int], Awaitable[None]]) -> Looked:
    """Read every stored post once, in batches. After each batch `said` is called with the progress and the total; it may wait."""
    counts = _Counts(wanted, lots)
    async with database.reading() as tx:
        row = await tx.fetch_one(_TOP)
    top, after = int(row["top"]) if row is not None else 0, 0
    while after < top:
        through = min(top, after + _BATCH)
        async with database.reading() as tx:
            rows = await tx.fetch(_POSTS, after, through)
        for row in rows:
            counts.look(row)
        after = through
        await said(after, top)
    return counts.end()
