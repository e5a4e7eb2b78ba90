"""What became of the pictures and films of a post between two sightings: the line that history keeps of it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

from msgspec import to_builtins

from bowerbird.model import Media, Post, PostKind
from bowerbird.ports import Database
from bowerbird.store.context import SaveContext
from bowerbird.store.fields import as_json

_SHOWN = ("id", "kind", "url", "description")


class MediaStatements:
    """The statement of this file in one database's words."""

    def __init__(self, database: Database) -> None:
        several = database.any("bigint")
        self.stored = f"select post_no, {', '.join(_SHOWN)} from media where post_no {several} order by post_no, place"


async def media_changes(
    s: SaveContext, sql: MediaStatements, posts: Mapping[int, Post], rewritten: Mapping[str, Post]
) -> dict[int, tuple[str, str]]:
    """By number the posts whose media are others than those stored, with both as history keeps them."""
    bearing = {n: post for n, post in posts.items() if _has_own(post) and (post.media or post.id in rewritten)}
    stored: defaultdict[int, list[Media]] = defaultdict(list)
    for row in await s.fetch_in(sql.stored, sorted(bearing)):
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
