"""Posts that must stay empty: deleted ones, those of authors who are gone or opted out, and the copies that others carry."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from msgspec import Struct

from bowerbird.model import Post
from bowerbird.ports import Database, Row
from bowerbird.store.absences.authority import may_change
from bowerbird.store.absences.gone import GoneStatements, hidden_people
from bowerbird.store.context import SaveContext, ordered
from bowerbird.store.people.identities import People
from bowerbird.store.people.names import has_local_keys, id_for
from bowerbird.store.posts.by_id import with_ids
from bowerbird.store.posts.lookups import Lookups, shown


class Emptied(Struct, frozen=True):
    """What the posts of one page may not bring back, by id."""

    bare: Collection[str]
    """Their authors opted out: no more than an id and a time is kept."""
    down: Collection[str]
    """Deleted, and this page does not speak against it: left as they are."""
    returned: Collection[str]
    """Deleted once, but the service shows them again."""
    uncopied: Collection[str]
    """Whoever passes one of these on or quotes it is kept without the copy."""


class EmptiedStatements:
    """The statements of this file in one database's words."""

    def __init__(self, database: Database) -> None:
        text = database.any("text")
        self.tombs = f"select id, at from deletions where subject = 'post' and id {text}"
        # Locked, so that none of them is deleted before the copies of it are stored.
        self.shown = f"select id, deleted_at from posts where {with_ids(database)}{ordered(database, 'post_no', 'share')}"
        self.opted_out = f"select user_no from users where opts_out = 1 and user_no {database.any('bigint')}"
        self.gone = GoneStatements(database)


async def emptied_posts(s: SaveContext, sql: EmptiedStatements, look: Lookups, people: People) -> Emptied:
    posts, stored = look.posts, look.stored
    bare = {post.id for post in posts.values() if people.ids[post.author] in people.opted_out} if people.opted_out else set()
    if s.is_live:
        return await _buried_live(s, sql, posts, stored, bare, people)
    unknown = (posts.keys() | shown(posts.values())) - stored.keys() - look.originals.keys()
    tombs = await _tombs(s, sql, unknown) if look.tombs is None else look.tombs
    dead = _emptied(stored) | {known: at for known, at in tombs.items() if known in posts}
    hidden = (tombs.keys() - posts.keys()) | await _hidden(s, sql, look.originals)
    observed = await s.observed_at() if dead else s.at
    down = {known for known, at in dead.items() if at >= observed or not _may_return(s, stored.get(known))}
    down |= {post.id for post in posts.values() if people.ids[post.author] in people.shut} if people.shut else set()
    return Emptied(bare, down, dead.keys() - down, bare | down | hidden)


async def _hidden(s: SaveContext, sql: EmptiedStatements, originals: Mapping[str, Row]) -> set[str]:
    """Those of which nobody may carry a copy: deleted, or by authors who opted out."""
    rows = await s.fetch_in(sql.opted_out, {row["author"] for row in originals.values()})
    authors = {row["user_no"] for row in rows}
    return {known for known, row in originals.items() if row["deleted_at"] is not None or row["author"] in authors}


async def _tombs(s: SaveContext, sql: EmptiedStatements, posts: Collection[str]) -> dict[str, int]:
    return {row["id"]: row["at"] for row in await s.fetch_in(sql.tombs, posts)}


async def _buried_live(
    s: SaveContext, sql: EmptiedStatements, posts: Mapping[str, Post], stored: Mapping[str, Row], bare: set[str], people: People
) -> Emptied:
    """On a stream a deletion may come first, and after a cut the post comes again: what is deleted stays so."""
    new = [post for known, post in posts.items() if known not in stored]
    named = shown(posts.values()) - posts.keys()
    tombs = {row["id"] for row in await s.fetch_in(sql.tombs, {*_names(s, new), *named})}
    emptied = {row["id"] for row in await s.fetch_in(sql.shown, named) if row["deleted_at"] is not None}
    gone = await hidden_people(s, sql.gone, {people.ids[post.author] for post in posts.values()} - people.new)
    down = set(_emptied(stored))
    if tombs:
        down |= {post.id for post in new if not tombs.isdisjoint(_names(s, [post]))}
    shut = gone | people.shut
    if shut:
        down |= {post.id for post in posts.values() if people.ids[post.author] in shut}
    return Emptied(bare, down, frozenset(), bare | down | tombs | emptied)


def _may_return(s: SaveContext, row: Row | None) -> bool:
    """Whether this service's word counts against the deletion."""
    return row is None or may_change(s, row["id"], row)


def _emptied(stored: Mapping[str, Row]) -> dict[str, int]:
    return {known: row["deleted_at"] for known, row in stored.items() if row["deleted_at"] is not None}


def _names(s: SaveContext, posts: Sequence[Post]) -> set[str]:
    """The ids under which posts may have been buried: one that was not known yet had only its key on this service."""
    ids = {post.id for post in posts}
    return ids | {id_for(s.network, s.service_name, post.key) for post in posts} if has_local_keys(s.network) else ids
