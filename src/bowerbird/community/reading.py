"""What is stored of people, as a judge wants to see it: profiles, posts, and what stands of them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping
from typing import Any

from msgspec import Struct

from bowerbird.analysis.community.judge import NOTHING, Written, earlier_of
from bowerbird.model import EarlierJudgement, Subject, User, from_micros
from bowerbird.ports import Database, Transaction
from bowerbird.store.judgements.rows import earlier_judgements, read_judgements

_POSTS = 100
_PROFILES = """
select user_no, id, handle, name, location, description, language, time_zone from users
where coalesce(opts_out, 0) = 0 and seen_at is not null and user_no {these}
"""
_WRITTEN = """
select p.author, p.text, p.created_at from posts p
where p.author {these} and p.kind <> 'repost' and p.text is not null and p.deleted_at is null
order by p.author, p.created_at desc
"""


class Person(Struct, frozen=True):
    """One account with all that is known of it."""

    number: int
    user: User
    written: Written = NOTHING
    earlier: EarlierJudgement | None = None


async def read_people(tx: Transaction, database: Database, users: Collection[int], *, with_posts: bool) -> list[Person]:
    """By numbers of accounts; those that opted out, or of whom nothing was seen, are left out."""
    these, members = database.any("bigint"), database.members(sorted(users))
    rows = await tx.fetch(_PROFILES.format(these=these), members) if users else ()
    written = await _written(tx, these, members) if with_posts and users else {}
    said = earlier_judgements(await read_judgements(tx, database, {(Subject.USER, row["id"]) for row in rows}))
    return [
        Person(
            row["user_no"],
            _user(row),
            written.get(row["user_no"], NOTHING),
            earlier_of(said.get((Subject.USER, row["id"]), ())),
        )
        for row in rows
    ]


async def _written(tx: Transaction, these: str, members: Any) -> Mapping[int, Written]:
    found: defaultdict[int, list[tuple[str, Any]]] = defaultdict(list)
    for row in await tx.fetch(_WRITTEN.format(these=these), members):
        if len(own := found[row["author"]]) < _POSTS:
            own.append((row["text"], row["created_at"]))
    return {
        author: Written(tuple(text for text, _ in own), tuple(from_micros(at) for _, at in own if at is not None))
        for author, own in found.items()
    }


def _user(row: Mapping[str, Any]) -> User:
    told = {name: row[name] for name in ("handle", "name", "location", "description", "language", "time_zone")}
    return User(id=row["id"], key=row["id"], **told)
