"""What a store holds, by what it is and whose it is; and what it should never hold."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from msgspec import Struct

from bowerbird.ports import Database

_USERS = "select u.id from users u where u.seen_at is not null"
_POSTS = "select id from posts where deleted_at is null"
_RELATIONS = """
select s.id as source, t.id as target from relations r join users s on s.user_no = r.source join users t on t.user_no = r.target
where r.removed_at is null
"""
_CRASHES = "select message from errors where outcome is null and message like 'crashed with%'"
_ASIDE = "select distinct facet from quarantine"
_SHORT = "select distinct l.facet from shortfalls s join lanes l on l.lane = s.lane"


class Holdings(Struct, frozen=True):
    """Everything worth having, by what it is."""

    things: frozenset[str]


class Trouble(Struct, frozen=True):
    """What a crawl wrote down about itself."""

    crashes: Sequence[str]
    accounted: frozenset[str]
    """Facets of which something was set aside or is known to be missing."""


async def holdings(database: Database) -> Holdings:
    async with database.reading() as tx:
        users = {f"user {row['id']}" for row in await tx.fetch(_USERS)}
        posts = {f"post {row['id']}" for row in await tx.fetch(_POSTS)}
        edges = {f"relation {row['source']} {row['target']}" for row in await tx.fetch(_RELATIONS)}
    return Holdings(frozenset(users | posts | edges))


async def trouble(database: Database) -> Trouble:
    async with database.reading() as tx:
        crashes = [row["message"] for row in await tx.fetch(_CRASHES)]
        facets = {row["facet"] for sql in (_ASIDE, _SHORT) for row in await tx.fetch(sql)}
    return Trouble(crashes, frozenset(facets))


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
