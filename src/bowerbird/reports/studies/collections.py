"""Read the posts of a store, a crawl, or a source, with day and author, for comparison with others.

Ids are stored as hashes of 64 bits, 20 bytes a post in total: ten million posts take 200 MB. With so many, a count is off by
one with a probability of one in a hundred thousand.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from hashlib import blake2b
from typing import Any

import numpy as np
from msgspec import Struct

from bowerbird.errors import UserError
from bowerbird.ports import Database, Row, Transaction
from bowerbird.reports.figures.written import DAY, WRITTEN

_BATCH = 20_000
UNDATED = -(2**31)
_POSTS = f"""
select p.post_no, p.id, coalesce({WRITTEN} / {DAY}, {UNDATED}) as day, u.id as author,
    case when p.kind = 'repost' then 1 else 0 end as is_repost, case when p.deleted_at is null then 0 else 1 end as is_gone
from posts p join users u on u.user_no = p.author where p.post_no > ? and {{part}} order by p.post_no limit {_BATCH}
"""
_WHOLE = "1 = 1"
_OF_CRAWL = """(
    p.found_by in (select k.call from calls k where k.crawl = ?) or p.seen_by in (select k.call from calls k where k.crawl = ?)
    or p.post_no in (select g.post_no from sightings g join lanes l on l.lane = g.lane where l.crawl = ?)
)"""
_OF_LANE = "p.post_no in (select g.post_no from sightings g where g.lane = ?)"
_SOURCES = """
select l.lane, c.name as crawl, s.name as service, l.facet from lanes l join crawls c on c.crawl = l.crawl
join services s on s.service = l.service where exists (select 1 from sightings g where g.lane = l.lane) order by l.lane
"""


_POST = [("ids", "u8"), ("days", "i4"), ("authors", "u8"), ("reposts", "?"), ("gone", "?")]


class Part(Struct, frozen=True):
    """A selection of posts: all of a store, those of a crawl, or those of one search or stream."""

    condition: str = _WHOLE
    values: tuple[int, ...] = ()


class Collection(Struct, frozen=True):
    """Posts as columns: hash of the id, day since 1970, hash of the author, kind."""

    ids: np.ndarray[Any, np.dtype[np.uint64]]
    days: np.ndarray[Any, np.dtype[np.int32]]
    authors: np.ndarray[Any, np.dtype[np.uint64]]
    reposts: np.ndarray[Any, np.dtype[np.bool_]]
    gone: np.ndarray[Any, np.dtype[np.bool_]]


async def find_part(tx: Transaction, name: str) -> Part:
    """Return the selection of a name: a crawl, or `CRAWL/SOURCE`, with `@SERVICE` if it is not unique."""
    crawls = {str(row["name"]): int(row["crawl"]) for row in await tx.fetch("select crawl, name from crawls order by crawl")}
    if name in crawls:
        return Part(_OF_CRAWL, (crawls[name],) * 3)
    sources = await tx.fetch(_SOURCES)
    meant = {int(row["lane"]) for row in sources if name in _names(row)}
    if len(meant) == 1:
        return Part(_OF_LANE, tuple(meant))
    known = [*crawls, *(_names(row)[0 if _is_alone(row, sources) else -1] for row in sources)]
    raise UserError(f"nothing here is called {name!r}", f"there are: {', '.join(known) or 'no crawls'}", code="unknown_crawl")


def _names(row: Row) -> tuple[str, ...]:
    source = f"{row['crawl']}/{str(row['facet']).removeprefix('stream ')}"
    return source, f"{source}@{row['service']}"


def _is_alone(row: Row, sources: Sequence[Row]) -> bool:
    return sum(_names(other)[0] == _names(row)[0] for other in sources) == 1


async def read_collection(database: Database, part: Part) -> Collection:
    """Return all posts, including deleted ones of which only id and time remain."""
    pieces = [np.empty(0, dtype=_POST)]
    async for rows in posts_of(database, part):
        found = [(hashed(row["id"]), row["day"], hashed(row["author"]), row["is_repost"], row["is_gone"]) for row in rows]
        pieces.append(np.array(found, dtype=_POST))
    whole = np.concatenate(pieces)
    return Collection(*(whole[name] for name in Collection.__struct_fields__))


async def posts_of(database: Database, part: Part) -> AsyncIterator[Sequence[Row]]:
    """Yield the posts in batches: `id`, `day`, `author`, `is_repost`, `is_gone`."""
    after = 0
    while True:
        async with database.reading() as tx:
            rows = await tx.fetch(_POSTS.format(part=part.condition), after, *part.values)
        if not rows:
            return
        yield rows
        after = rows[-1]["post_no"]


def hashed(known_id: str) -> int:
    return int.from_bytes(blake2b(known_id.encode(), digest_size=8).digest(), "big")
