"""What a store holds, by what it is and whose it is; and what it should never hold."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from bowerbird.ports import Database

_KEY = "coalesce((select min(k.key) from user_keys k where k.user_no = {u}.user_no), {u}.id)"
_USERS = f"select u.id, {_KEY.format(u='u')} as key from users u where u.seen_at is not null"
_POSTS = f"""
select p.id, a.id as author, {_KEY.format(u="a")} as key
from posts p join users a on a.user_no = p.author where p.deleted_at is null
"""
_RELATIONS = f"""
select s.id as source, t.id as target, {_KEY.format(u="s")} as source_key, {_KEY.format(u="t")} as target_key
from relations r join users s on s.user_no = r.source join users t on t.user_no = r.target where r.removed_at is null
"""
_REACTIONS = """
select r.kind, p.id as post, coalesce(k.key, p.id) as key, u.id as "user" from reactions r join posts p on p.post_no = r.post_no
left join post_keys k on k.post_no = r.post_no join users u on u.user_no = r.user_no
where r.gone_at is null and p.deleted_at is null
"""
_CRASHES = "select message from errors where outcome is null and message like 'crashed with%'"
_ASIDE = "select q.facet, q.raw, c.targets from quarantine q join calls c on c.call = q.call"
_SHORT = "select distinct l.facet, s.target from shortfalls s join lanes l on l.lane = s.lane"
_AWAY = "select u.id from unavailable a join users u on u.user_no = a.user_no where a.until is null"

_LOGIN = b"/xrpc/com.atproto.server."

Task = tuple[str, str]
"""A facet and whom it is asked about."""


class Thing(Struct, frozen=True):
    """What an honest service gives, and how it is come by."""

    names: tuple[str, ...]
    """Ids without which it is not this thing."""
    tasks: tuple[Task, ...]
    """Any of them brings it."""


class Holdings(Struct, frozen=True):
    """Everything worth having, by what it is."""

    things: Mapping[str, Thing]


class Trouble(Struct, frozen=True):
    """What a crawl wrote down about itself."""

    crashes: Sequence[str]
    tasks: frozenset[Task]
    """Of these something is known to be missing or was set aside."""
    raws: bytes
    """What was set aside, word for word."""
    away: frozenset[str]
    """Accounts that are taken to be absent."""

    def accounts_for(self, thing: Thing) -> bool:
        """Whether a row says so that is about this very thing, or about the list or the account that it is part of."""
        is_named = all(_bare(name).encode() in self.raws for name in thing.names)
        return is_named or not self.tasks.isdisjoint(thing.tasks) or not self.away.isdisjoint(thing.names)


async def holdings(database: Database) -> Holdings:
    async with database.reading() as tx:
        users, posts, edges = await tx.fetch(_USERS), await tx.fetch(_POSTS), await tx.fetch(_RELATIONS)
        reactions = await tx.fetch(_REACTIONS)
    things = {f"user {row['id']}": Thing((row["id"],), (("profiles", _bare(row["key"])),)) for row in users}
    things |= {f"post {row['id']}": Thing((row["id"], row["author"]), (("timeline", _bare(row["key"])),)) for row in posts}
    for row in edges:
        lists = (("followers", _bare(row["target_key"])), ("following", _bare(row["source_key"])))
        things[f"relation {row['source']} {row['target']}"] = Thing((row["source"], row["target"]), lists)
    for row in reactions:
        lists = (("reposts", _bare(row["key"])), ("reposters", _bare(row["key"])))
        things[f"{row['kind']} {row['post']} {row['user']}"] = Thing((row["post"], row["user"]), lists)
    return Holdings(things)


def _bare(key: str) -> str:
    """A service's own key, on networks whose ids are that key behind a mark."""
    return re.sub(r"^(x|weibo):", "", key)


async def trouble(database: Database) -> Trouble:
    async with database.reading() as tx:
        crashes = [row["message"] for row in await tx.fetch(_CRASHES)]
        aside, short = await tx.fetch(_ASIDE), await tx.fetch(_SHORT)
        away = frozenset(row["id"] for row in await tx.fetch(_AWAY))
    spoilt = {(row["facet"], target) for row in aside for target in row["targets"].split(",")}
    raws = b"\n".join(bytes(row["raw"]) for row in aside)
    return Trouble(crashes, frozenset(spoilt | {(row["facet"], row["target"]) for row in short}), raws, away)


async def uncharged(database: Database, heads: Sequence[bytes]) -> int:
    """How many requests came to a server, redirects and repetitions included, that are no call in the query log; logins have an
    account of their own."""
    async with database.reading() as tx:
        row = await tx.fetch_one("select count(*) as calls from calls")
    asked = sum(_LOGIN not in head.partition(b"\r\n")[0] for head in heads)
    return max(0, asked - (row["calls"] if row else 0))


async def tokens_in(database: Database, secrets: Iterable[bytes], folder: Path) -> int:
    """How many of the secrets stand in clear in a table or in a file of the crawl."""
    return len(_in_files(folder, set(secrets)) | await _in_tables(database, set(secrets)))


def _in_files(folder: Path, secrets: set[bytes]) -> set[bytes]:
    return {secret for path in folder.rglob("*") if path.is_file() for secret in secrets if secret in path.read_bytes()}


async def _in_tables(database: Database, secrets: set[bytes]) -> set[bytes]:
    """The texts of all tables are looked through; files of SQLite are also looked at byte by byte."""
    catalogue = (
        "select name from sqlite_master where type = 'table'"
        if database.dialect == "sqlite"
        else "select tablename as name from pg_tables where schemaname = current_schema()"
    )
    found: set[bytes] = set()
    async with database.reading() as tx:
        for table in [row["name"] for row in await tx.fetch(catalogue)]:
            for row in await tx.fetch(f"select * from {table}"):
                texts = b"\n".join(str(value).encode(errors="replace") for value in tuple(dict(row).values()))
                found |= {secret for secret in secrets if secret in texts}
    return found
