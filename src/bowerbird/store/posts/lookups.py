"""What the store knows of the posts of one page, read before anything is decided about them: from PostgreSQL in one question; and
which of them must stay empty: deleted ones, those of authors who are gone or opted out, and the copies that others carry.

The numbers of new posts and frames come along, so that these are written together with everything that names them. Nobody else
adds a post that has a number of ours: its name is locked (`locks/`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence, Set
from typing import Any

from msgspec import Struct, structs

from bowerbird.model import Post
from bowerbird.ports import Database, Row
from bowerbird.store.absences.authority import may_change
from bowerbird.store.absences.gone import GoneStatements, hidden_people
from bowerbird.store.context import SaveContext, found_in, ordered
from bowerbird.store.payloads.frames import FEWEST, MOST
from bowerbird.store.people.identities import PagePeople
from bowerbird.store.posts.by_id import with_ids
from bowerbird.store.posts.references import ReferenceStatements, keys_of, named_here, referring, with_references

_POSTS = "select nextval('posts_post_no_seq') as number from generate_series(1, cast(? as int))"
_FRAMES = "select nextval('frames_frame_seq') as number from generate_series(1, cast(? as int))"
_CRAWL = "select crawl from calls where call = ?"


class Lookups(Struct, frozen=True):
    """The posts of a page, referring by id to those that are stored, and what is stored of them."""

    posts: Mapping[str, Post]
    stored: Mapping[str, Row]
    originals: Mapping[str, Row]
    """What is stored of the posts that they only name: passed on or quoted, and not in the page themselves."""
    shown: Set[str]
    """The posts of which they may carry a copy."""
    deletions: Mapping[str, int] | None = None
    """When those of them all were deleted that are not stored; None: not asked yet."""
    waiting: Sequence[Row] | None = None
    """Stored posts that refer to one of the page by its key; None: to be asked when the page is written."""


class LookupStatements:
    """The statements of this file in one database's words."""

    def __init__(self, database: Database, stored: str, deletions: str) -> None:
        self.stored = stored
        self.deletions = deletions
        self.originals = f"select id, author, deleted_at from posts where {with_ids(database)}"
        self.kept = f"select user_no from post_counts where user_no {database.any('bigint')}"
        self.references = ReferenceStatements(database)


async def look_up(s: SaveContext, sql: LookupStatements, posts: Sequence[Post], people: PagePeople) -> Lookups:
    if s.database.dialect != "sqlite":
        return await _at_once(s, sql, posts, people)
    by_id = {post.id: post for post in await with_references(s, sql.references, posts)}
    stored = {row["id"]: row for row in await s.fetch_in(sql.stored, by_id)}
    by_id |= {known: _remembered(by_id[known], row) for known, row in stored.items()}
    copied = shown(by_id.values())
    named = () if s.is_live else copied - by_id.keys()
    return Lookups(by_id, stored, {row["id"]: row for row in await s.fetch_in(sql.originals, named)}, copied)


def shown(posts: Iterable[Post]) -> set[str]:
    """The posts of which these may carry a copy."""
    return {known for post in posts if (known := post.repost_of or post.quote_of)}


def _remembered(post: Post, row: Row) -> Post:
    """A post that passes on or quotes what it did when it was stored: services leave that out where the original is gone."""
    if post.repost_of or post.quote_of or not (row["repost_of"] or row["quote_of"]):
        return post
    return structs.replace(post, repost_of=row["repost_of"], quote_of=row["quote_of"])


async def _at_once(s: SaveContext, sql: LookupStatements, posts: Sequence[Post], people: PagePeople) -> Lookups:
    # In one order, so that numbers do not depend on chance.
    ids = sorted({post.id for post in posts})
    new = [known for known in ids if known in s.reserved.names]
    named = frozenset[str]() if s.is_live else shown(posts).difference(ids)
    # Locked together, so that none of them is deleted before the copies of it are stored.
    both = sorted({*ids, *named}) if named else ids
    authors = {people.ids[post.author] for post in posts}
    asked: dict[str, tuple[str, Sequence[Any]]] = {
        "stored": (sql.stored, [both]),
        "numbers": (_POSTS, [len(new)]),
        "frames": (_FRAMES, [-(-len(new) // MOST) if len(new) >= FEWEST else 0]),
        "kept": (sql.kept, [list(authors)]),
        "crawl": (_CRAWL, [s.call]),
    }
    if not s.is_live:
        asked["deletions"] = (sql.deletions, [both])
    if s.origin.has_local_keys:
        here = list(named_here(s, posts))
        asked["keys"] = (sql.references.keys, [s.origin.number, sorted(keys_of(s, posts))])
        asked["waiting"] = (sql.references.waiting, [here, here])
    found = dict(zip(asked, await s.tx.fetch_all(list(asked.values())), strict=True))
    s.reserved.posts.update(zip(new, (row["number"] for row in found["numbers"]), strict=True))
    s.reserved.frames += [row["number"] for row in found["frames"]]
    s.counting.kept.update(row["user_no"] for row in found["kept"])
    s.counting.crawl = found["crawl"][0]["crawl"] if found["crawl"] else 0
    stored = {row["id"]: row for row in found["stored"]}
    deletions = None if s.is_live else {row["id"]: row["at"] for row in found["deletions"] if row["id"] not in stored}
    originals = {known: stored.pop(known) for known in named if known in stored}
    by_id = {post.id: post for post in referring(s, posts, found.get("keys", ()))}
    by_id |= {known: _remembered(by_id[known], row) for known, row in stored.items()}
    copied = shown(by_id.values())
    forgotten = () if deletions is None else copied - by_id.keys() - originals.keys() - named
    originals |= {row["id"]: row for row in await s.fetch_in(sql.originals, forgotten)}
    if deletions is not None:
        deletions |= {row["id"]: row["at"] for row in await s.fetch_in(sql.deletions, forgotten)}
    return Lookups(by_id, stored, originals, copied, deletions, found.get("waiting", ()))


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
        found = found_in(database, "deletions", "id", "text")
        self.deletions = f"select deletions.id, deletions.at from {found} and deletions.subject = 'post'"
        # Locked, so that none of them is deleted before the copies of it are stored.
        self.shown = f"select id, deleted_at from posts where {with_ids(database)}{ordered(database, 'post_no', 'share')}"
        self.opted_out = f"select user_no from users where opts_out = 1 and user_no {database.any('bigint')}"
        self.gone = GoneStatements(database)


async def emptied_posts(s: SaveContext, sql: EmptiedStatements, look: Lookups, people: PagePeople) -> Emptied:
    posts, stored = look.posts, look.stored
    bare = {post.id for post in posts.values() if people.ids[post.author] in people.opted_out} if people.opted_out else set()
    if s.is_live:
        return await _buried_live(s, sql, look, bare, people)
    deletions = look.deletions
    if deletions is None:
        deletions = await _deletions(s, sql, {*posts, *look.shown} - stored.keys() - look.originals.keys())
    dead = _emptied(stored) | {known: at for known, at in deletions.items() if known in posts}
    hidden = (deletions.keys() - posts.keys()) | (await _hidden(s, sql, look.originals) if look.originals else set())
    observed = await s.observed_at() if dead else s.at
    down = {known for known, at in dead.items() if at >= observed or not _may_return(s, stored.get(known))}
    down |= {post.id for post in posts.values() if people.ids[post.author] in people.shut} if people.shut else set()
    return Emptied(bare, down, dead.keys() - down, bare | down | hidden)


async def _hidden(s: SaveContext, sql: EmptiedStatements, originals: Mapping[str, Row]) -> set[str]:
    """Those of which nobody may carry a copy: deleted, or by authors who opted out."""
    rows = await s.fetch_in(sql.opted_out, {row["author"] for row in originals.values()})
    authors = {row["user_no"] for row in rows}
    return {known for known, row in originals.items() if row["deleted_at"] is not None or row["author"] in authors}


async def _deletions(s: SaveContext, sql: EmptiedStatements, posts: Collection[str]) -> dict[str, int]:
    return {row["id"]: row["at"] for row in await s.fetch_in(sql.deletions, posts)}


async def _buried_live(s: SaveContext, sql: EmptiedStatements, look: Lookups, bare: set[str], people: PagePeople) -> Emptied:
    """On a stream a deletion may come first, and after a cut the post comes again: what is deleted stays so."""
    posts, stored = look.posts, look.stored
    new = [post for known, post in posts.items() if known not in stored]
    named = look.shown - posts.keys()
    deletions = {row["id"] for row in await s.fetch_in(sql.deletions, {*_names(s, new), *named})}
    emptied = {row["id"] for row in await s.fetch_in(sql.shown, named) if row["deleted_at"] is not None}
    gone = await hidden_people(s, sql.gone, {people.ids[post.author] for post in posts.values()} - people.new)
    down = set(_emptied(stored))
    if deletions:
        down |= {post.id for post in new if not deletions.isdisjoint(_names(s, [post]))}
    shut = gone | people.shut
    if shut:
        down |= {post.id for post in posts.values() if people.ids[post.author] in shut}
    return Emptied(bare, down, frozenset(), bare | down | deletions | emptied)


def _may_return(s: SaveContext, row: Row | None) -> bool:
    """Whether this service's word counts against the deletion."""
    return row is None or may_change(s, row["id"], row)


def _emptied(stored: Mapping[str, Row]) -> dict[str, int]:
    return {known: row["deleted_at"] for known, row in stored.items() if row["deleted_at"] is not None}


def _names(s: SaveContext, posts: Sequence[Post]) -> set[str]:
    """The ids under which posts may have been deleted: one that was not known yet had only its key on this service."""
    ids = {post.id for post in posts}
    return ids | {s.origin.id_of(post.key) for post in posts} if s.origin.has_local_keys else ids
