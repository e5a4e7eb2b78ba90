"""What a batch of messages tells, in order, as few pages as that order allows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Protocol, TypeVar

from msgspec.structs import replace

from bowerbird.model import (
    Gone,
    Heard,
    Notice,
    NoticeKind,
    Outcome,
    Page,
    Post,
    Relation,
    RelationEnd,
    RelationKind,
    Subject,
    User,
)
from bowerbird.providers.common.reading.amounts import SetAside
from bowerbird.providers.common.reading.items import shortened


class Numbered(Protocol):
    """An event with its place in the stream."""

    @property
    def seq(self) -> int: ...


E = TypeVar("E", bound=Numbered)


class Telling:
    """Gathers items into a page and turns it when an item contradicts what already stands there."""

    def __init__(self) -> None:
        self.events = 0
        self.closing: Outcome | None = None
        self._pages: list[Page] = []
        self._notices: list[Notice] = []
        self._refetch: dict[tuple[str, str], None] = {}
        self._blank()

    def _blank(self) -> None:
        self._users: dict[str, User] = {}
        self._posts: dict[str, Post] = {}
        self._relations: dict[tuple[str, str], Relation] = {}
        self._records: set[tuple[str, str]] = set()
        self._ended: dict[tuple[str, str], RelationEnd] = {}
        self._gone: dict[str, Gone] = {}
        """By key: a DID is never an at-uri."""
        self._broken = SetAside()

    def post(self, post: Post) -> None:
        known = self._posts.get(post.key)
        if known is not None:
            if known.raw == post.raw:
                return
            self._turn()
        elif self._gone and (post.key in self._gone or post.author in self._gone):
            self._turn()
        self._posts[post.key] = post

    def post_gone(self, key: str) -> None:
        if key in self._posts:
            self._turn()
        self._gone.setdefault(key, Gone(Subject.POST, key, Outcome.NOT_FOUND))

    def follow(self, source: str, target: str, record: str) -> None:
        known = self._relations.get((source, target))
        if known is not None and known.record == record:
            return
        # An end of another record may be of this very pair: the store ends relations before it adds any.
        if known is not None or (source, record) in self._ended or source in self._gone or target in self._gone:
            self._turn()
        self._relations[source, target] = Relation(RelationKind.FOLLOW, source, target, record)
        self._records.add((source, record))

    def unfollow(self, source: str, record: str) -> None:
        if (source, record) in self._records:
            self._turn()
        self._ended[source, record] = RelationEnd(RelationKind.FOLLOW, source, record)

    def user(self, user: User) -> None:
        """A profile, a handle, or only that the account is there."""
        if user.key in self._gone:
            self._turn()
        known = self._users.get(user.key)
        joined = _joined(known, user) if known is not None else user
        if joined is None:
            self._turn()
        self._users[user.key] = joined or user

    def user_gone(self, key: str, reason: Outcome) -> None:
        known = self._gone.get(key)
        if key in self._users or (known is not None and known.reason is not reason):
            self._turn()
        self._gone[key] = Gone(Subject.USER, key, reason)

    def broken(self, subject: Subject, raw: bytes, error: Exception) -> None:
        self._broken.add(subject, raw, shortened(f"{type(error).__name__}: {error}"))

    def refetch(self, facet: str, target: str) -> None:
        self._refetch[facet, target] = None

    def notice(self, kind: NoticeKind, name: str, message: str | None = None) -> None:
        self._notices.append(Notice(kind, shortened(f"{name}: {message}" if message else name)))

    def heard(self, cursor: str | None, newest_at: datetime | None) -> Heard:
        self._turn()
        return Heard(
            pages=tuple(self._pages),
            events=self.events,
            cursor=cursor,
            newest_at=newest_at,
            notices=tuple(self._notices),
            refetch=tuple(self._refetch),
            closing=self.closing,
        )

    def _turn(self) -> None:
        results = len(self._users) + len(self._posts) + len(self._relations) + len(self._ended) + len(self._gone)
        if not results and not len(self._broken):
            return
        page = Page(
            users=tuple(self._users.values()),
            posts=tuple(self._posts.values()),
            relations=tuple(self._relations.values()),
            ended=tuple(self._ended.values()),
            gone=tuple(self._gone.values()),
            broken=self._broken.all(),
            results=results + len(self._broken),
        )
        self._pages.append(page)
        self._blank()


def _joined(known: User, later: User) -> User | None:
    """Both in one, where they speak of different things: only a profile has raw bytes, and no profile has a handle."""
    if later.raw and known.raw:
        return known if later.raw == known.raw else None
    if later.handle and known.handle and later.handle != known.handle:
        return None
    is_there = known.is_there or later.is_there
    return replace(later if later.raw else known, handle=later.handle or known.handle, is_there=is_there)


def listen(told: Telling, messages: Sequence[bytes], hear: Callable[[Telling, bytes], E | None]) -> E | None:
    """Hears message after message until the connection is closing; answers the new event with the highest number."""
    newest: E | None = None
    for message in messages:
        event = hear(told, message) if message else None
        if event is not None and (newest is None or event.seq > newest.seq):
            newest = event
        if told.closing is not None:
            break
    return newest
