"""Names of accounts by number, of those alone who may be told of."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from msgspec import Struct

from bowerbird.model.subjects.telling import is_hidden
from bowerbird.ports import Database, Transaction

_NAMED = (
    "select u.user_no, u.id, u.handle, u.name, u.followers, u.following from users u where u.user_no {number} and not {hidden}"
)


class Person(Struct, frozen=True, kw_only=True):
    """An account as it is shown in a list."""

    number: int
    id: str
    handle: str | None
    name: str | None
    followers: int | None
    following: int | None

    @property
    def label(self) -> str:
        return f"@{self.handle}" if self.handle else self.name or self.id


async def read_people(tx: Transaction, database: Database, numbers: Collection[int]) -> Mapping[int, Person]:
    if not numbers:
        return {}
    sql = _NAMED.format(number=database.any("bigint"), hidden=is_hidden("u"))
    rows = await tx.fetch(sql, database.members(sorted(set(numbers))))
    return {
        row["user_no"]: Person(
            number=row["user_no"],
            id=row["id"],
            handle=row["handle"],
            name=row["name"],
            followers=row["followers"],
            following=row["following"],
        )
        for row in rows
    }
