"""One Bluesky answer while it is being read: its profiles and posts, mapped one by one."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta

from msgspec import Raw
from msgspec.structs import replace

from bowerbird.model import Answer, Ask, Facet, Post, Subject, User
from bowerbird.providers.bluesky.reading.records import post_of, post_records, written_repost
from bowerbird.providers.bluesky.reading.shapes import (
    feed_items,
    is_note,
    post_views,
    profiles,
    quoted_post,
    quoted_views,
    reposted,
    shown_replies,
    user_of,
    viewed_post,
)
from bowerbird.providers.bluesky.syntax import POST, REPOST, AtUri, at_uri, is_did
from bowerbird.providers.items import UNREADABLE, is_there, without
from bowerbird.providers.page import PageBuilder
from bowerbird.providers.text import iso

_DEEPEST = 4
"""Posts within posts, counted with the steps between them; the service shows two."""
OVERLAP = timedelta(minutes=1)
"""A revisit looks this much below the newest known item again: posts may be listed a little late and out of order."""


class BlueskyGathering(PageBuilder):
    """Profiles, posts and records, with what posts quote."""

    id_names = ("did", "uri")

    def __init__(self, ask: Ask, facet: Facet, answer: Answer) -> None:
        super().__init__(ask, facet, answer)
        self._shown: set[bytes] = set()
        """Posts that came with their replies: a thread's first one comes with each of them."""

    def check_size(self) -> None:
        # A repository is no JSON, and is taken apart block by block.
        if self.facet.name != "repo":
            super().check_size()

    def quarantine_listed(self, subject: Subject, raw: bytes, error: Exception) -> None:
        super().quarantine_listed(subject, raw, error)
        unfit = {key for key in self.lost_keys if not is_did(key) and at_uri(key) is None}
        if unfit:
            # Something stands where the id should be: the item may be any of those asked about.
            self.lost_keys -= unfit
            self.is_sure = False

    def read_user(self, raw: bytes) -> User:
        known = self.authors.get(raw)
        if known is None:
            known = self.authors[raw] = self.add_user(user_of(profiles.read(raw), raw))
        return known

    def feed(self, raws: Iterable[bytes]) -> list[datetime]:
        """Maps an author's feed; answers when each item was listed, pinned ones left out because they stand out of order."""
        times: list[datetime] = []
        for raw in raws:
            part = raw
            try:
                item = feed_items.read(raw)
                part = bytes(item.post)
                view = post_views.read(part)
                if item.reason is not None and not item.reason.is_repost:
                    continue
                when = item.reason.sort_time if item.reason is not None else view.sort_time
                if when is not None:
                    times.append(when)
                if self.is_old(when):
                    continue
                is_passed_on = item.reason is not None
                post = self._quoting(viewed_post(view, part), view.quoted)
                original = self._post(post, bytes(view.author), is_along=is_passed_on)
                self._answered(item.reply)
                if item.reason is not None:
                    by = self.read_user(bytes(item.reason.by))
                    own = without(raw, item.reply).replace(part, post.raw)
                    self.add_post(reposted(item.reason, by, original, own))
            except UNREADABLE as error:
                self.quarantine_listed(Subject.POST, part, error)
        return times

    def _answered(self, reply: Raw) -> None:
        """The post that a reply answers, and the one that opened the thread: a feed shows both whole, unless they are hidden."""
        if not is_there(reply):
            return
        try:
            shown = shown_replies.read(bytes(reply))
        except UNREADABLE as error:
            self.quarantine(Subject.POST, bytes(reply), error)
            return
        for raw in map(bytes, (shown.root, shown.parent)):
            if raw not in self._shown and is_there(Raw(raw)):
                self._shown.add(raw)
                self._come_along(raw)

    def _come_along(self, raw: bytes) -> None:
        try:
            view = post_views.read(raw)
            self._post(self._quoting(viewed_post(view, raw), view.quoted), bytes(view.author), is_along=True)
        except UNREADABLE as error:
            if not is_note(raw):
                self.quarantine(Subject.POST, raw, error)

    def read_listed(self, raws: Iterable[bytes]) -> dict[str, datetime | None]:
        """Maps post views; answers the at-uris listed, each with its time."""
        listed: dict[str, datetime | None] = {}
        for raw in raws:
            try:
                view = post_views.read(raw)
                when = view.sort_time
                if not self.is_old(when):
                    self._post(self._quoting(viewed_post(view, raw), view.quoted), bytes(view.author))
                listed[view.uri] = when
            except UNREADABLE as error:
                self.quarantine_listed(Subject.POST, raw, error)
        return listed

    def is_old(self, when: datetime | None) -> bool:
        """Whether an incremental listing has come down to what an earlier visit listed."""
        newest = iso(self.ask.progress.newest) if self.facet.is_incremental else None
        return newest is not None and when is not None and when < newest - OVERLAP

    def record(self, uri: AtUri, raw: bytes) -> Post | None:
        """A post or repost as a repository holds it."""
        if uri.collection == POST:
            return self.add_post(post_of(uri, post_records.read(raw), raw))
        if uri.collection == REPOST:
            return self.add_post(written_repost(uri, raw))
        return None

    def _post(self, post: Post, author: bytes, *, is_along: bool = False) -> Post:
        if self.read_user(author).id != post.author:
            raise ValueError("a post under another author's name")
        return self.add_post(post, is_along=is_along)

    def _quoting(self, post: Post, quoted: bytes, depth: int = 0) -> Post:
        """The post, and what it shows of another one as a post of its own."""
        shown = self._shown_post(quoted, depth) if quoted else None
        if shown is None:
            return post
        own = self.own_payload(post.raw, Raw(quoted), shown if shown == post.quote_of else None)
        return post if own == post.raw else replace(post, raw=own)

    def _shown_post(self, raw: bytes, depth: int) -> str | None:
        """The id of a post that another one shows; None where it shows something else, nothing where it cannot be read."""
        try:
            view = quoted_views.read(raw)
            if is_there(view.record) and not view.uri:
                return self._shown_post(bytes(view.record), depth + 1) if depth < _DEEPEST else ""
            if not (view.uri and f"/{POST}/" in view.uri and is_there(view.author) and is_there(view.value)):
                return None
            if depth >= _DEEPEST:
                return ""
            post = self._quoting(quoted_post(view, raw), view.quoted, depth + 1)
            self._post(post, bytes(view.author), is_along=True)
        except UNREADABLE as error:
            self.quarantine(Subject.POST, raw, error)
            return ""
        return post.id
