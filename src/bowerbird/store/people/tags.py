"""Words that are neither users nor posts: the tags users gave themselves, and what a service says is popular."""

from __future__ import annotations

from collections.abc import Sequence

from bowerbird.model import Trend, UserTag
from bowerbird.ports import Database
from bowerbird.store.absences.authority import lists_whole
from bowerbird.store.context import SaveContext
from bowerbird.store.people.identities import PagePeople

_TAG = """
insert into user_tags (user_no, tag, name, weight, found_at, found_by, seen_at) values (?, ?, ?, ?, ?, ?, ?)
on conflict (user_no, tag) do update set
    name = excluded.name, weight = excluded.weight, seen_at = excluded.seen_at, gone_at = null
"""
_TREND = "insert into trends (service, place, at, rank, word, volume, call) values (?, ?, ?, ?, ?, ?, ?) on conflict do nothing"


class TagStatements:
    """The statements of this file in one database's words."""

    def __init__(self, database: Database) -> None:
        anyone = database.any("bigint")
        self.known = f"select user_no, tag from user_tags where gone_at is null and user_no {anyone}"
        self.drop = f"update user_tags set gone_at = ? where gone_at is null and seen_at < ? and user_no {anyone}"


async def save_user_tags(
    s: SaveContext, sql: TagStatements, tags: Sequence[UserTag], asked: Sequence[str], people: PagePeople
) -> int:
    """Writes the tags of the users asked about and says how many are new; one that is no longer listed is marked, not removed."""
    rows = {(people.keys[tag.user], tag.tag): tag for tag in tags}
    known = {(row["user_no"], row["tag"]) for row in await s.fetch_in(sql.known, sorted({number for number, _ in rows}))}
    await s.execute_many(
        _TAG, [(n, name, tag.name, tag.weight, s.at, s.call, s.at) for (n, name), tag in sorted(rows.items(), key=lambda r: r[0])]
    )
    numbers = sorted(people.keys[key] for key in asked if key in people.keys)
    own = [number for number in numbers if await lists_whole(s, "users", number)]
    await s.execute_in(sql.drop, own, s.at, s.at)
    return len(rows.keys() - known)


async def save_trends(s: SaveContext, trends: Sequence[Trend]) -> None:
    await s.execute_many(_TREND, [(s.origin.number, t.place, s.at, t.rank, t.word, t.volume, s.call) for t in trends])
