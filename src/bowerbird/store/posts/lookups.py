"""What the store knows of the posts of one page, read before anything is decided about them: from PostgreSQL in one question.

The numbers of new posts and frames come along, so that these are written together with everything that names them. Nobody else
adds a post that has a number of ours: its name is locked (`locks/`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from msgspec import Struct, structs

from bowerbird.model import Post
from bowerbird.ports import Database, Row
from bowerbird.store.context import SaveContext
from bowerbird.store.payloads.frames import FEWEST, MOST
from bowerbird.store.people.identities import People
from bowerbird.store.people.names import has_local_keys
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
    tombs: Mapping[str, int] | None = None
    """When those of them all were deleted that are not stored; None: not asked yet."""
    waiting: Sequence[Row] | None = None
    """Stored posts that refer to one of the page by its key; None: to be asked when the page is written."""


class LookupStatements:
    """The statements of this file in one database's words."""

    def __init__(self, database: Database, stored: str, tombs: str) -> None:
        self.stored = stored
        self.tombs = tombs
        self.originals = f"select id, author, deleted_at from posts where {with_ids(database)}"
        self.kept = f"select user_no from post_counts where user_no {database.any('bigint')}"
        self.references = ReferenceStatements(database)


async def look_up(s: SaveContext, sql: LookupStatements, posts: Sequence[Post], people: People) -> Lookups:
    if s.database.dialect != "sqlite":
        return await _at_once(s, sql, posts, people)
    by_id = {post.id: post for post in await with_references(s, sql.references, posts)}
    stored = {row["id"]: row for row in await s.fetch_in(sql.stored, by_id)}
    by_id = {known: _remembered(post, stored.get(known)) for known, post in by_id.items()}
    named = () if s.is_live else shown(by_id.values()) - by_id.keys()
    return Lookups(by_id, stored, {row["id"]: row for row in await s.fetch_in(sql.originals, named)})


def shown(posts: Iterable[Post]) -> set[str]:
    """The posts of which these may carry a copy."""
    return {known for post in posts if (known := post.repost_of or post.quote_of)}


def _remembered(post: Post, row: Row | None) -> Post:
    """A post that passes on or quotes what it did when it was stored: services leave that out where the original is gone."""
    if row is None or post.repost_of or post.quote_of or not (row["repost_of"] or row["quote_of"]):
        return post
    return structs.replace(post, repost_of=row["repost_of"], quote_of=row["quote_of"])


async def _at_once(s: SaveContext, sql: LookupStatements, posts: Sequence[Post], people: People) -> Lookups:
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
        asked["tombs"] = (sql.tombs, [both])
    if has_local_keys(s.network):
        here = list(named_here(s, posts))
        asked["keys"] = (sql.references.keys, [s.service, sorted(keys_of(s, posts))])
        asked["waiting"] = (sql.references.waiting, [here, here])
    found = dict(zip(asked, await s.tx.fetch_all(list(asked.values())), strict=True))
    s.reserved.posts.update(zip(new, (row["number"] for row in found["numbers"]), strict=True))
    s.reserved.frames += [row["number"] for row in found["frames"]]
    s.counting.kept.update(row["user_no"] for row in found["kept"])
    s.counting.crawl = found["crawl"][0]["crawl"] if found["crawl"] else 0
    stored = {row["id"]: row for row in found["stored"]}
    tombs = None if s.is_live else {row["id"]: row["at"] for row in found["tombs"] if row["id"] not in stored}
    originals = {known: stored.pop(known) for known in named if known in stored}
    by_id = {post.id: _remembered(post, stored.get(post.id)) for post in referring(s, posts, found.get("keys", ()))}
    forgotten = () if tombs is None else shown(by_id.values()) - by_id.keys() - originals.keys() - named
    originals |= {row["id"]: row for row in await s.fetch_in(sql.originals, forgotten)}
    if tombs is not None:
        tombs |= {row["id"]: row["at"] for row in await s.fetch_in(sql.tombs, forgotten)}
    return Lookups(by_id, stored, originals, tombs, found.get("waiting", ()))
