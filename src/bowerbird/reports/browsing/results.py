"""What a command found, in the order in which it was found, with what is stored of it."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import Struct

from bowerbird.ports import Database, Row
from bowerbird.reports.browsing.items import ItemReader

BATCH = 1_000
# By number: through the index of crawls (hence the plus) all results of the crawl would be read and sorted every time.
NEXT = f"""
select result, service, target, post_no, user_no, owner, told from results where +crawl = ? and result > ?
order by result limit {BATCH}
"""
_COUNT = "select count(*) as found from results where crawl = ?"
_INPUTS = "select written, columns from inputs where crawl = ? and service = ? and target = ? order by number"


class Line(Struct, frozen=True, kw_only=True):
    """One result. What it is about is None where it is no longer to be had, or never was a thing of its own."""

    number: int
    service: int
    target: str
    post: dict[str, Any] | None = None
    user: dict[str, Any] | None = None
    owner: dict[str, Any] | None = None
    told: dict[str, Any] = {}


class ResultReader:
    """Reads the results of one crawl in batches: memory holds one of them."""

    def __init__(self, database: Database, crawl: int, *, with_raw: bool = False) -> None:
        self._database = database
        self._crawl = crawl
        self._with_raw = with_raw
        self._items = ItemReader(database)

    async def after(self, number: int) -> list[Line]:
        """The next results behind this one; none where there are no more."""
        async with self._database.reading() as tx:
            rows = await tx.fetch(NEXT, self._crawl, number)
        if not rows:
            return []
        posts = await self._numbered(self._items.posts_numbered, {row["post_no"] for row in rows})
        users = await self._numbered(self._items.users_numbered, {row[end] for row in rows for end in ("user_no", "owner")})
        return [_line(row, posts, users) for row in rows]

    async def count(self) -> int:
        async with self._database.reading() as tx:
            row = await tx.fetch_one(_COUNT, self._crawl)
        return int(row["found"]) if row else 0

    async def inputs(self, service: int, target: str) -> list[tuple[str, dict[str, str]]]:
        """What was written for a target, as often as it was, with the columns beside it."""
        async with self._database.reading() as tx:
            rows = await tx.fetch(_INPUTS, self._crawl, service, target)
        return [(row["written"], msgspec.json.decode(row["columns"]) if row["columns"] else {}) for row in rows]

    async def _numbered(self, read: Any, numbers: set[int | None]) -> dict[int, dict[str, Any]]:
        wanted = sorted(number for number in numbers if number is not None)
        found: dict[int, dict[str, Any]] = await read(wanted, self._with_raw) if wanted else {}
        return found


def _line(row: Row, posts: dict[int, dict[str, Any]], users: dict[int, dict[str, Any]]) -> Line:
    return Line(
        number=row["result"],
        service=row["service"],
        target=row["target"],
        post=posts.get(row["post_no"]),
        user=users.get(row["user_no"]),
        owner=users.get(row["owner"]),
        told=msgspec.json.decode(row["told"]) if row["told"] else {},
    )
