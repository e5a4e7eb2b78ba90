"""How a post was passed on, as the store knows it; users and posts are the store's numbers."""

from __future__ import annotations

from datetime import datetime

from msgspec import Struct

from bowerbird.model.kinds import PostKind


class Passing(Struct, frozen=True, gc=False, kw_only=True):
    """Somebody passed a post on: a repost, or a quote, which is a post that can be passed on in turn."""

    user: int
    of: int
    """The post that was passed on."""
    kind: PostKind = PostKind.REPOST
    as_post: int | None = None
    """The repost or quote as a post of its own, where it is known as one."""
    at: datetime | None = None
    sweep: int = 0
    place: int | None = None
    """Where a list of accounts showed it, newest first; a later sweep shows newer ones."""
    found_at: datetime
    via: int | None = None
    """The repost through which it came, where the service tells it and the store has it."""
    words: str = ""
    """What the user wrote with it, where that may name from whom it came (Weibo)."""


class Passed(Struct, frozen=True, kw_only=True):
    """Everything the store knows about the passing on of one post."""

    post: int
    author: int
    at: datetime | None
    passings: tuple[Passing, ...] = ()
    follows: dict[int, frozenset[int]] = {}
    """By user: those among the people of this cascade whom the user follows."""
    users: dict[int, tuple[str, str | None]] = {}
    """Id and handle by number."""
    posts: dict[int, str] = {}
    """Ids by number."""
