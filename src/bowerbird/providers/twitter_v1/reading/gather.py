"""One answer of the classic API while it is being read: its users and posts, mapped one by one."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

import msgspec

from bowerbird.model import Outcome, Post, PostKind, Subject, User
from bowerbird.providers.items import UNREADABLE, is_there, without
from bowerbird.providers.page import SNOWFLAKES, PageBuilder
from bowerbird.providers.twitter_v1.reading.shapes import NETWORK_PREFIX, Tweet, accounts, post_of, repost_of, tweets, user_of


class TwitterGathering(PageBuilder):
    """Users and tweets, with what they pass on or quote."""

    id_names = ("id_str", "id")

    def latest_key(self, at: datetime) -> int | None:
        return int(SNOWFLAKES.key_at(at))

    def read_user(self, raw: bytes) -> User:
        known = self.authors.get(raw)
        if known is not None:
            return known
        account = accounts.read(raw)
        user = user_of(account, without(raw, account.status))
        if is_there(account.status) and not user.is_protected:
            user = self._with_newest(user, bytes(account.status))
        self.authors[raw] = user = self.add_user(user)
        return user

    def _with_newest(self, user: User, raw: bytes) -> User:
        """A profile carries its newest post, without the author: one look-up captures it."""
        try:
            newest = self.post(tweets.read(raw), raw, author=user.id)
        except UNREADABLE as error:
            self.quarantine(Subject.POST, raw, error)
            return user
        return msgspec.structs.replace(user, newest_post_at=newest.created_at)

    def read_listed(self, raws: Iterable[bytes]) -> list[str]:
        """Maps what is new to us and answers the ids of everything listed that has one."""
        return self.read_posts(raws, tweets.read, self.tell)

    def tell(self, tweet: Tweet, raw: bytes) -> None:
        """One tweet that stands by itself; raises one of `UNREADABLE` when it cannot be mapped."""
        if not self._is_hidden(tweet):
            self.post(tweet, raw)

    def _is_hidden(self, tweet: Tweet) -> bool:
        """Whether only our token may see the post: such posts are never kept."""
        if not self.read_user(bytes(tweet.user)).is_protected:
            return False
        if self.facet.subject is Subject.POST and tweet.key in self.ask.targets:
            self.mark_gone(Subject.POST, tweet.key, Outcome.PROTECTED)
        return True

    def post(self, tweet: Tweet, raw: bytes, *, author: str | None = None, depth: int = 0) -> Post:
        """The tweet, and what it passes on or quotes as posts of their own."""
        author = author or self.read_user(bytes(tweet.user)).id
        if is_there(tweet.retweeted_status):
            original = self._nested(bytes(tweet.retweeted_status), depth)
            # What the original quotes stands in the original too.
            own = self.own_payload(without(raw, tweet.quoted_status), tweet.retweeted_status, original)
            return self.add_post(repost_of(tweet, author, original, own), is_along=depth > 0)
        post = post_of(tweet, author, raw)
        if is_there(tweet.quoted_status):
            post = self._quoting(post, tweet.quoted_status, depth)
        return self.add_post(post, is_along=depth > 0)

    def _quoting(self, post: Post, quoted: msgspec.Raw, depth: int) -> Post:
        """The post with what it shows as quoted: named as such, where the server does not do that besides."""
        try:
            shown = self._nested(bytes(quoted), depth)
        except UNREADABLE as error:
            self.quarantine(Subject.POST, bytes(quoted), error)
            return msgspec.structs.replace(post, raw=without(post.raw, quoted))
        if post.quote_of is None:
            kind = PostKind.QUOTE if post.kind is PostKind.POST else post.kind
            post = msgspec.structs.replace(post, quote_of=shown, kind=kind)
        named = shown if post.quote_of == shown else None
        return msgspec.structs.replace(post, raw=self.own_payload(post.raw, quoted, named))

    def _nested(self, raw: bytes, depth: int) -> str:
        """The id of a post within a post; within a profile's newest post it comes without an author, and is only named."""
        if depth > 2:
            raise ValueError("posts nested too deep")
        tweet = tweets.read(raw)
        if is_there(tweet.user):
            self.post(tweet, raw, depth=depth + 1)
        return NETWORK_PREFIX + tweet.key
