"""What hangs on a post: its keys on each service, tags, mentions and media, and what history keeps of media that changed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from operator import itemgetter
from typing import Any
from urllib.parse import urlsplit

from msgspec import to_builtins

from bowerbird.db.sqlite.short_addresses import kept_url, written_url
from bowerbird.db.texts import Checked
from bowerbird.model import Media, MediaState, Post, PostKind, tags_by_form
from bowerbird.ports import Database
from bowerbird.store.context import SaveContext
from bowerbird.store.fields import as_json
from bowerbird.store.people.identities import PagePeople

_KEY = "insert into post_keys (service, key, post_no) values (?, ?, ?) on conflict (service, key) do nothing"
TAG = "insert into post_tags (tag, post_no, written) values (?, ?, ?) on conflict (tag, post_no) do nothing"
CASHTAG = "insert into post_cashtags (cashtag, post_no) values (?, ?) on conflict (cashtag, post_no) do nothing"
MENTION = "insert into post_mentions (post_no, user_no) values (?, ?) on conflict (post_no, user_no) do nothing"
_MEDIA = """
insert into media (id, post_no, place, kind, {url}, description) values (?, ?, ?, ?, ?, ?) on conflict (post_no, place) do nothing
"""
# Up to which number files were looked for must not lie above the last row.
_LOOK_AGAIN = """
update media_intake set media_no = (select coalesce(max(media_no), 0) from media)
where media_no > (select coalesce(max(media_no), 0) from media)
"""
_SHOWN = ("id", "kind", "url", "description")


class PartStatements:
    """The statements of this file in one database's words."""

    def __init__(self, database: Database) -> None:
        tables = ("post_tags", "post_cashtags", "post_mentions", "media")
        deletes = (f"delete from {table} where post_no {database.any('bigint')}" for table in tables)
        self.clear = (doubt_media(database), *deletes)
        several = database.any("bigint")
        self.shown = f"select post_no, {', '.join(_SHOWN)} from media where post_no {several} order by post_no, place"


def doubt_media(database: Database) -> str:
    """Marks the files that some posts show, before these no longer do: whoever keeps files looks whether another post does."""
    shown = f"(select id from media where post_no {database.any('bigint')})"
    known = ", ".join(f"'{state}'" for state in (MediaState.WAITING, MediaState.KEPT, MediaState.GIVEN_UP))
    return f"update media_files set state = '{MediaState.DOUBTED}' where state in ({known}) and id in {shown}"


def bears_parts(s: SaveContext, post: Post) -> bool:
    """Whether anything of the post is written under its number."""
    return bool(post.tags or post.mentions or post.media or post.cashtags) or s.origin.has_local_keys


async def save_parts(
    s: SaveContext, posts: Sequence[Post], whole: Sequence[Post], numbers: Mapping[str, int], people: PagePeople
) -> None:
    """Writes the keys of all posts of the page, and the parts of those that are new or rewritten."""
    keyed = posts if s.origin.has_local_keys else ()
    keys = Checked([(s.origin.number, post.key, numbers[post.id]) for post in keyed if post.id in numbers])
    bearing = [(numbers[p.id], p) for p in whole if (p.tags or p.mentions or p.media or p.cashtags) and _has_own(p)]
    await s.tx.execute_all(
        [
            (_KEY, keys),
            (TAG, Checked(sorted(_tags(bearing), key=itemgetter(0, 1)))),
            (CASHTAG, sorted({(cashtag.upper(), n) for n, p in bearing for cashtag in p.cashtags}) or None),
            (MENTION, sorted({(n, people.keys[key]) for n, p in bearing for key in p.mentions})),
            media_writes(s, bearing),
        ]
    )


def media_writes(s: SaveContext, posts: Sequence[tuple[int, Post]]) -> tuple[str, Checked]:
    """What adds the media of posts, by their numbers: the statement and its rows."""
    dialect = s.database.dialect
    media = [(n, place, each) for n, post in posts for place, each in enumerate(post.media, 1)]
    rows = ((m.id, n, place, m.kind, kept_url(dialect, m.id, m.url), m.description) for n, place, m in media)
    return _MEDIA.format(url=written_url(dialect)), Checked(rows)


def _tags(bearing: Sequence[tuple[int, Post]]) -> set[tuple[str, int, str | None]]:
    """Each tag of a post in its normal form, and as it was written where that differs; the first way of writing it counts."""
    return {(form, n, None if tag == form else tag) for n, p in bearing for form, tag in tags_by_form(p.tags).items()}


async def clear_parts(s: SaveContext, sql: PartStatements, posts: Sequence[int]) -> None:
    for statement in sql.clear:
        await s.execute_in(statement, posts)
    if posts:
        await media_deleted(s)


async def media_deleted(s: SaveContext) -> None:
    """To be called when media rows were deleted: on SQLite the next one may get the number of the last, and whoever keeps files
    would take it for one that was looked at. PostgreSQL gives no number twice."""
    if s.database.dialect == "sqlite":
        await s.tx.execute(_LOOK_AGAIN)


async def media_changes(
    s: SaveContext, sql: PartStatements, posts: Mapping[int, Post], rewritten: Mapping[str, Post]
) -> dict[int, tuple[str, str]]:
    """By number the posts whose media are others than those stored, with both as history keeps them."""
    bearing = {n: post for n, post in posts.items() if _has_own(post) and (post.media or post.id in rewritten)}
    stored: defaultdict[int, list[Media]] = defaultdict(list)
    for row in await s.fetch_in(sql.shown, sorted(bearing)):
        stored[row["post_no"]].append(Media(**{name: row[name] for name in _SHOWN}))
    return {
        number: (_told(stored[number]), _told(post.media))
        for number, post in bearing.items()
        if _differs(stored[number], post.media, is_whole=post.id in rewritten)
    }


def _has_own(post: Post) -> bool:
    """A repost has none: those it shows belong to the post it passes on."""
    return post.kind is not PostKind.REPOST or post.repost_of is None


def _differs(before: Sequence[Media], now: Sequence[Media], *, is_whole: bool) -> bool:
    if not is_whole and {media.id for media in now} < {media.id for media in before}:
        # Embedded in another or in a list, a post may be shown with its first picture only.
        return False
    return len(before) != len(now) or any(_is_other(*pair) for pair in zip(before, now, strict=True))


def _is_other(before: Media, now: Media) -> bool:
    """Another signature or host in the address makes no other picture; an untold description is no empty one."""
    is_described = now.description is not None and now.description != before.description
    return (before.id, before.kind) != (now.id, now.kind) or is_described or urlsplit(before.url).path != urlsplit(now.url).path


def _told(media: Sequence[Media]) -> str:
    told: list[dict[str, Any]] = [to_builtins(each) for each in media]
    return as_json({"media": told})
