"""What one post counts for. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from hashlib import blake2b
from urllib.parse import urlsplit

from msgspec import Struct

from bowerbird.model import PostKind, from_micros, to_micros

KINDS = tuple(PostKind)
"""By their places here kinds are counted."""
STORED = -1
"""The key of posts by the hour in which they were stored."""
TOTALS = (
    "posts", "characters", "with_tags", "with_links", "with_mentions", "with_media", "replies", "reposts", "quotes", "gone",
    "without_time",
)  # fmt: skip
"""Sums over all posts, by their places here. All but the last four are of posts in their author's own words."""
HOUR = 3_600_000_000
DAY = 24 * HOUR
_FIRST = to_micros(datetime(1995, 1, 1, tzinfo=UTC))
_AHEAD = 2 * DAY
_LONGEST_CODE = 7

Key = tuple[str, int, int, int]
"""Measure, time, key, other key."""


class Seen(Struct, frozen=True, kw_only=True):
    """One stored post, as far as it is counted."""

    number: int
    author: int
    kind: str
    written: int | None
    found: int
    is_gone: bool
    """Deleted, or its author must not be told of: only that there was a post, and when, is counted."""
    language: str | None = None
    length: int = 0
    links: Sequence[str] = ()
    tags: Sequence[str] = ()
    mentions: Sequence[int] = ()
    media: int = 0
    answered: int | None = None
    """Whose post it answers, where that is stored."""
    reposted: int | None = None


class Tally:
    """How often everything was counted, and one post for each."""

    def __init__(self) -> None:
        self.counts: dict[Key, list[int]] = {}

    def add(self, post: Seen) -> None:
        for key, n in _counted(post):
            known = self.counts.setdefault(key, [0, post.number])
            known[0] += n
            known[1] = post.number

    def rows(self, part: int) -> list[tuple[int, str, int, int, int, int, int]]:
        """In one order, so that two who write never wait for each other."""
        return sorted((part, *key, n, example) for key, (n, example) in self.counts.items())


def _counted(post: Seen) -> Iterator[tuple[Key, int]]:
    written = believed(post.written, post.found)
    kind = PostKind(post.kind)
    yield ("posts", _floor(post.found, HOUR), STORED, 0), 1
    if written is None:
        yield _total("without_time"), 1
    else:
        yield ("posts", _floor(written, HOUR), KINDS.index(kind), 0), 1
        yield ("delay", 0, max(0, (post.found - written) // 1_000_000).bit_length(), 0), 1
    if post.is_gone:
        yield _total("gone"), 1
        return
    month = month_of(post.found if written is None else written)
    yield ("author", month, post.author, 0), 1
    yield from _ties(post, month)
    if kind is PostKind.REPOST:
        yield _total("reposts"), 1
        return
    yield from _own(post, month)
    if post.language and written is not None:
        yield ("language", _floor(written, DAY), packed(post.language), 0), 1


def _ties(post: Seen, month: int) -> Iterator[tuple[Key, int]]:
    if post.reposted is not None and post.reposted != post.author:
        yield ("reposted", month, post.reposted, 0), 1
    if post.answered is not None and post.answered != post.author:
        yield ("answered", month, post.answered, 0), 1
        yield ("reply", 0, post.author, post.answered), 1


def _own(post: Seen, month: int) -> Iterator[tuple[Key, int]]:
    """What the author's own words have in them."""
    yield _total("posts"), 1
    yield _total("characters"), post.length
    kinds = {PostKind.REPLY: "replies", PostKind.COMMENT: "replies", PostKind.QUOTE: "quotes"}
    if name := kinds.get(PostKind(post.kind)):
        yield _total(name), 1
    for name, there in (
        ("with_tags", post.tags),
        ("with_links", post.links),
        ("with_mentions", post.mentions),
        ("with_media", post.media),
    ):
        if there:
            yield _total(name), 1
    yield from ((("tag", month, hashed(tag), 0), 1) for tag in set(post.tags))
    yield from ((("mention", month, user, 0), 1) for user in set(post.mentions) - {post.author})
    yield from ((("link", month, hashed(link), 0), 1) for link in set(post.links))
    yield from ((("domain", month, hashed(name), 0), 1) for name in {domain(link) for link in post.links} if name)


def _total(name: str) -> Key:
    return ("total", 0, TOTALS.index(name), 0)


def believed(written: int | None, found: int) -> int | None:
    """When a post was written, if that can be: no network is older, and nobody writes the day after tomorrow."""
    return written if written is not None and _FIRST <= written <= found + _AHEAD else None


def _floor(micros: int, unit: int) -> int:
    return micros // unit * unit


def month_of(micros: int) -> int:
    return to_micros(from_micros(micros).replace(day=1, hour=0, minute=0, second=0, microsecond=0))


def hashed(text: str) -> int:
    """A number for a text, the same everywhere and always."""
    return int.from_bytes(blake2b(text.encode(errors="replace"), digest_size=8).digest(), "big", signed=True)


def domain(link: str) -> str:
    """The host of a link without `www.`; empty where there is none."""
    try:
        host = (urlsplit(link).hostname or "").rstrip(".")
    except ValueError:
        return ""
    return host.removeprefix("www.")


def packed(code: str) -> int:
    """A language code as a number; of very long ones what stands before the first hyphen."""
    plain = code.lower() if len(code) <= _LONGEST_CODE else code.lower().partition("-")[0][:_LONGEST_CODE]
    return int.from_bytes(plain.encode("ascii", errors="replace"), "big")


def unpacked(number: int) -> str:
    return number.to_bytes(_LONGEST_CODE, "big").lstrip(b"\0").decode("ascii", errors="replace")
