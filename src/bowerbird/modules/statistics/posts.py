"""Reads stored posts as they are counted."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

import msgspec

from bowerbird.db.sqlite.ends_of_ids import is_same
from bowerbird.model.subjects.telling import is_hidden
from bowerbird.modules.statistics.tally import Seen
from bowerbird.ports import Row, Transaction

# The author of a post that is stored.
_AUTHOR = f"(select a.author from posts a where {is_same('a.id', '{id}')})"
_POSTS = f"""
select p.post_no, p.author, p.kind, p.created_at, p.listed_at, p.is_time_doubtful, p.found_at, p.language, p.links,
    length(p.text) as length,
    case when p.deleted_at is not null or {is_hidden("u")} then 1 else 0 end as is_gone,
    case when p.reply_to is not null then {_AUTHOR.format(id="p.reply_to")} end as answered,
    case when p.repost_of is not null then {_AUTHOR.format(id="p.repost_of")} end as reposted,
    (select count(*) from media m where m.post_no = p.post_no) as media
from posts p left join users u on u.user_no = p.author where p.post_no > ? and p.post_no <= ?
"""
_TAGS = "select post_no, tag as value from post_tags where post_no > ? and post_no <= ?"
_MENTIONS = "select post_no, user_no as value from post_mentions where post_no > ? and post_no <= ?"


async def read_posts(tx: Transaction, after: int, through: int) -> Sequence[Seen]:
    """The posts with these numbers."""
    tags, mentions = _by_post(await tx.fetch(_TAGS, after, through)), _by_post(await tx.fetch(_MENTIONS, after, through))
    return [_seen(row, tags, mentions) for row in await tx.fetch(_POSTS, after, through)]


def _by_post(rows: Sequence[Row]) -> Mapping[int, list]:  # type: ignore[type-arg]
    found = defaultdict(list)
    for row in rows:
        found[row["post_no"]].append(row["value"])
    return found


def _seen(row: Row, tags: Mapping[int, list[str]], mentions: Mapping[int, list[int]]) -> Seen:
    is_gone = bool(row["is_gone"])
    return Seen(
        number=row["post_no"],
        author=row["author"],
        kind=row["kind"],
        written=_written(row),
        found=row["found_at"],
        is_gone=is_gone,
        language=row["language"],
        length=row["length"] or 0,
        links=() if is_gone or not row["links"] else msgspec.json.decode(row["links"], type=list[str]),
        tags=tags.get(row["post_no"], ()),
        mentions=mentions.get(row["post_no"], ()),
        media=row["media"],
        answered=row["answered"],
        reposted=row["reposted"],
    )


def _written(row: Row) -> int | None:
    # Some software claims times that cannot be: the service's own then stands for them.
    if row["is_time_doubtful"] and row["listed_at"] is not None:
        return int(row["listed_at"])
    return None if row["created_at"] is None else int(row["created_at"])
