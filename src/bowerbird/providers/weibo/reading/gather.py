"""One Weibo answer while it is being read: its users, posts and comments, mapped one by one."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

import msgspec

from bowerbird.model import Outcome, Post, Subject, User
from bowerbird.providers.items import UNREADABLE, is_there, without
from bowerbird.providers.page import PageBuilder
from bowerbird.providers.weibo.ids import latest_key
from bowerbird.providers.weibo.reading.shapes import (
    NETWORK_PREFIX,
    Comment,
    Status,
    accounts,
    comment_of,
    comments,
    post_of,
    statuses,
    user_of,
)

_NO_POSTS = b'{"statuses":[],"reposts":[],"comments":[],"trends":{}}'


class WeiboGathering(PageBuilder):
    """Users, posts with what they pass on, and comments."""

    id_names = ("idstr", "id", "uid", "mid")

    def latest_key(self, at: datetime) -> int | None:
        return latest_key(at)

    @property
    def body(self) -> bytes:
        """The answer; the service writes an empty list in place of a page without posts."""
        return _NO_POSTS if self.answer.body.strip() == b"[]" else self.answer.body

    def read_user(self, raw: bytes) -> User:
        known = self.authors.get(raw)
        if known is not None:
            return known
        account = accounts.read(raw)
        user = user_of(account, without(raw, account.status))
        if is_there(account.status):
            user = self._with_newest(user, bytes(account.status))
        self.authors[raw] = user = self.add_user(user)
        return user

    def _with_newest(self, user: User, raw: bytes) -> User:
        """A profile carries its newest post, without the author: one look-up captures it."""
        try:
            newest = self._post(statuses.read(raw), raw, author=user)
        except UNREADABLE as error:
            self.quarantine(Subject.POST, raw, error)
            return user
        return msgspec.structs.replace(user, newest_post_at=newest.created_at) if newest else user

    def read_listed(self, raws: Iterable[bytes]) -> list[str]:
        """Maps what is new to us and answers the ids of everything listed that has one."""
        return self.read_posts(raws, statuses.read, self._post)

    def comments(self, raws: Iterable[bytes]) -> list[str]:
        return self.read_posts(raws, comments.read, self._comment)

    def _post(self, status: Status, raw: bytes, *, author: User | None = None, is_along: bool = False) -> Post | None:
        """The post and the root it passes on; None for what is deleted or not public."""
        if status.is_deleted:
            self.mark_gone(Subject.POST, status.key, Outcome.NOT_FOUND, is_stated=True)
            return None
        if not status.is_open:
            self._hide(status)
            return None
        author = author or self.read_user(bytes(status.user))
        original = self._root(bytes(status.retweeted_status)) if is_there(status.retweeted_status) else None
        has_place = is_there(status.geo) and bool(author.raw) and accounts.read(author.raw).geo_enabled is not False
        own = self.own_payload(raw, status.retweeted_status, original)
        post = post_of(status, author, own, original=original, has_place=has_place)
        return self.add_post(post, is_along=is_along)

    def _hide(self, status: Status) -> None:
        if self.facet.subject is Subject.POST and status.key in self.ask.targets:
            self.mark_gone(Subject.POST, status.key, Outcome.PROTECTED)

    def _root(self, raw: bytes) -> str:
        """The id of the post at the root of a repost chain; the post comes along unless it is deleted, and passes on nothing."""
        status = statuses.read(raw)
        try:
            if is_there(status.user) or status.is_deleted:
                own = without(raw, status.retweeted_status)
                self._post(msgspec.structs.replace(status, retweeted_status=msgspec.Raw(b"")), own, is_along=True)
        except UNREADABLE as error:
            self.quarantine(Subject.POST, raw, error)
        return NETWORK_PREFIX + status.key

    def _comment(self, comment: Comment, raw: bytes) -> Post:
        author = self.read_user(bytes(comment.user))
        root = self._commented(comment)
        answered = None
        if is_there(comment.reply_comment):
            answered = NETWORK_PREFIX + comments.read(bytes(comment.reply_comment)).key
        own = without(raw, comment.status, comment.reply_comment)
        return self.add_post(comment_of(comment, author, own, root=root, answered=answered))

    def _commented(self, comment: Comment) -> str:
        """The id of the post that a comment stands under: it comes along, or is the one asked about."""
        if is_there(comment.status):
            return self._root(bytes(comment.status))
        if self.facet.name == "thread":
            return NETWORK_PREFIX + self.ask.targets[0]
        raise ValueError("a comment without its post")
