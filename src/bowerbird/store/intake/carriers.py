"""Posts whose payloads show others: where one of those is not stored, nobody would find the copy when it is deleted. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable

import msgspec

from bowerbird.model import Post


def carriers(posts: Collection[Post], shown: Collection[str]) -> set[str]:
    """Those of the posts in whose payloads one of these stands (by id), however deep."""
    held, news = set[str](), set(shown)
    while news:
        news = {post.id for post in posts if post.repost_of in news or post.quote_of in news} - held
        held |= news
    return held


def without_payloads(posts: Iterable[Post], of: Collection[str]) -> tuple[Post, ...]:
    """The posts, some of them (by id) without their payloads."""
    return tuple(msgspec.structs.replace(post, raw=b"") if post.id in of else post for post in posts)
