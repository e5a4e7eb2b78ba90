"""Payloads of Weibo that a store kept, read again."""

from __future__ import annotations

from bowerbird.model import KeptItem, Post, PostKind, User
from bowerbird.providers.weibo.reading.shapes import (
    NETWORK_PREFIX,
    accounts,
    comment_of,
    comments,
    post_of,
    statuses,
    user_of,
)


def stored_user(kept: KeptItem) -> User:
    return user_of(accounts.read(kept.raw), kept.raw)


def stored_post(kept: KeptItem) -> Post | None:
    author = User(id=kept.author, key=kept.author.removeprefix(NETWORK_PREFIX))
    if kept.kind is PostKind.COMMENT:
        return comment_of(comments.read(kept.raw), author, kept.raw, root="", answered=None)
    status = statuses.read(kept.raw)
    if status.is_deleted or not status.is_open:
        return None
    return post_of(status, author, kept.raw, original=kept.repost_of, has_place=False)
