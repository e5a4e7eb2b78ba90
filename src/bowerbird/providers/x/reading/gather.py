"""One answer of the X API while it is being read: its users and posts joined with what came along."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import TypeVar

from bowerbird.model import Answer, Ask, Facet, Outcome, Post, Subject, User
from bowerbird.providers.items import UNREADABLE, Reader
from bowerbird.providers.page import SNOWFLAKES, PageBuilder
from bowerbird.providers.x.ids import PREFIX, is_key, key
from bowerbird.providers.x.reading.envelope import Envelope, opened
from bowerbird.providers.x.reading.mapping import Joined, post_of, user_of
from bowerbird.providers.x.reading.outcomes import Problem, problem
from bowerbird.providers.x.reading.shapes import (
    Attachment,
    Ballot,
    Location,
    Tweet,
    accounts,
    attachments,
    ballots,
    locations,
    tweets,
)

T = TypeVar("T", Attachment, Ballot, Location)

NOBODY = PREFIX + "0"
"""The author of posts in answers that tell no authors at all, as recordings of calls without `author_id` have them."""


class XGathering(PageBuilder):
    """Users and posts; a post's author, media, place and what it refers to come apart from it."""

    def __init__(self, ask: Ask, facet: Facet, answer: Answer) -> None:
        super().__init__(ask, facet, answer)
        self.envelope = Envelope()
        self.problems: list[Problem] = []
        self.joined = Joined()

    def open(self) -> Envelope:
        """Parts the answer and reads what came along; raises one of `UNREADABLE` when it is no such answer."""
        return self.take(opened(self.answer.body))

    def take(self, envelope: Envelope) -> Envelope:
        """What is mapped next is joined with what came along in this envelope."""
        self.envelope = envelope
        self.problems = [problem(raw) for raw in envelope.errors]
        media = {each.media_key: each for each in self._readable(envelope.media, attachments)}
        places = {each.id: each for each in self._readable(envelope.places, locations)}
        polls = {each.id: each for each in self._readable(envelope.polls, ballots)}
        self.joined = Joined(media, places, polls)
        return envelope

    def _readable(self, raws: Iterable[bytes], reader: Reader[T]) -> Iterator[T]:
        for raw in raws:
            try:
                yield reader.read(raw)
            except UNREADABLE as error:
                self.quarantine(Subject.POST, raw, error)

    def latest_key(self, at: datetime) -> int | None:
        return int(SNOWFLAKES.key_at(at))

    def read_user(self, raw: bytes) -> User:
        return self.add_user(user_of(accounts.read(raw), raw))

    def tell(self, tweet: Tweet, raw: bytes) -> None:
        """A post that comes alone, with what came along; raises one of `UNREADABLE` when it cannot be mapped."""
        self._come_along()
        self._post(tweet, raw)

    def read_listed(self, raws: Iterable[bytes]) -> list[str]:
        """Maps what is new to us and answers the ids of everything listed that has one."""
        self._come_along()
        return self.read_posts(raws, tweets.read, self._post)

    def _come_along(self) -> None:
        """Authors first: whether a post may be kept depends on them. What is lost here was not asked for itself."""
        for raw in self.envelope.users:
            try:
                self.read_user(raw)
            except UNREADABLE as error:
                self.quarantine(Subject.USER, raw, error)
        for raw in self.envelope.posts:
            try:
                self._post(tweets.read(raw), raw, is_along=True)
            except UNREADABLE as error:
                self.quarantine(Subject.POST, raw, error)

    def _post(self, tweet: Tweet, raw: bytes, *, is_along: bool = False) -> Post | None:
        """The post, unless only our token may see it: such posts are never kept."""
        author = self._author(tweet)
        known = self.users.get(author)
        if known is not None and known.is_protected:
            if self.facet.subject is Subject.POST and tweet.key in self.ask.targets:
                self.mark_gone(Subject.POST, tweet.key, Outcome.PROTECTED)
            return None
        return self.add_post(post_of(tweet, author, raw, self.joined), is_along=is_along)

    def _author(self, tweet: Tweet) -> str:
        if tweet.author_id is not None:
            return PREFIX + key(tweet.author_id)
        if self.facet.name == "timeline":
            return PREFIX + key(self.ask.targets[0])
        if self.envelope.users:
            raise ValueError("a post without an author")
        return NOBODY

    def note_absences(self) -> None:
        """What the answer says about resources that it could not give, asked for or referred to."""
        handles = {target.removeprefix("@").casefold(): target for target in self.ask.targets if target.startswith("@")}
        for each in self.problems:
            reason, subject = each.reason, each.subject
            if reason is None or subject is None or not reason.is_about_target:
                continue
            named = [handles.get(name, name) for name in sorted(each.names)]
            for name in named:
                if is_key(name) or name.startswith("@"):
                    self.mark_gone(subject, name, reason)
