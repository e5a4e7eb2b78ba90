"""What a batch of messages tells, of each account and post in order, in as few pages as that allows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Protocol, TypeVar

from msgspec import Struct, field
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
from bowerbird.providers.items import shortened
from bowerbird.providers.page import Quarantine


class Numbered(Protocol):
    """An event with its place in the stream."""

    @property
    def seq(self) -> int: ...


E = TypeVar("E", bound=Numbered)
Key = str | tuple[str, str]
"""An account or post; who follows and is followed; whose record it is and its key."""
_MOST_POSTS = 2_000
"""Of a page: whoever else has something to do meanwhile waits until it is saved."""


class _Draft(Struct):
    """A page while it is being filled. The store takes users first, then posts, relations, and at last who and what is gone."""

    users: dict[str, User] = field(default_factory=dict)
    posts: dict[str, Post] = field(default_factory=dict)
    relations: dict[tuple[str, str], Relation] = field(default_factory=dict)
    records: set[tuple[str, str]] = field(default_factory=set)
    ended: dict[tuple[str, str], RelationEnd] = field(default_factory=dict)
    gone: dict[str, Gone] = field(default_factory=dict)
    """By key: a DID is never an at-uri."""
    broken: Quarantine = field(default_factory=Quarantine)

    def page(self) -> Page | None:
        """The page, unless it is empty."""
        results = len(self.users) + len(self.posts) + len(self.relations) + len(self.ended) + len(self.gone) + len(self.broken)
        if not results:
            return None
        return Page(
            users=tuple(self.users.values()),
            posts=tuple(self.posts.values()),
            relations=tuple(self.relations.values()),
            ended=tuple(self.ended.values()),
            gone=tuple(self.gone.values()),
            broken=self.broken.all(),
            results=results,
        )


class Telling:
    """Gathers items into pages. One that contradicts what stands in a page goes into the next, and from then on whatever is told
    of the same account, post or record goes no further ahead than that: of each of them all is told in order. The others need
    not wait for it, so that nearly everything is in the first page."""

    def __init__(self) -> None:
        self.events = 0
        self.closing: Outcome | None = None
        self._pages: list[Page] = []
        self._notices: list[Notice] = []
        self._refetch: dict[tuple[str, str], None] = {}
        self._blank()

    def _blank(self) -> None:
        self._drafts = [_Draft()]
        self._last: dict[Key, int] = {}
        """The last draft that tells of an account, post, pair or record, where that is not the first one."""

    def post(self, post: Post) -> None:
        number = self._begin(post.key, post.author) if self._last else 0
        draft = self._drafts[number]
        known = draft.posts.get(post.key)
        if known is not None and known.raw == post.raw:
            return
        if known is not None or (draft.gone and (post.key in draft.gone or post.author in draft.gone)):
            draft = self._next(number, post.key, post.author)
        draft.posts[post.key] = post
        if len(draft.posts) >= _MOST_POSTS:
            self._turn()

    def post_gone(self, key: str) -> None:
        number = self._begin(key) if self._last else 0
        draft = self._drafts[number]
        if key in draft.posts:
            draft = self._next(number, key)
        draft.gone.setdefault(key, Gone(Subject.POST, key, Outcome.NOT_FOUND))

    def follow(self, source: str, target: str, record: str) -> None:
        pair, named = (source, target), (source, record)
        number = self._begin(pair, named, source, target) if self._last else 0
        draft = self._drafts[number]
        known = draft.relations.get(pair)
        if known is not None and known.record == record:
            return
        # An end of another record may be of this very pair: the store ends relations before it adds any.
        if known is not None or named in draft.ended or source in draft.gone or target in draft.gone:
            draft = self._next(number, pair, named, source, target)
        draft.relations[pair] = Relation(RelationKind.FOLLOW, source, target, record)
        draft.records.add(named)

    def unfollow(self, source: str, record: str) -> None:
        named = (source, record)
        number = self._begin(named) if self._last else 0
        draft = self._drafts[number]
        if named in draft.records:
            draft = self._next(number, named)
        draft.ended[named] = RelationEnd(RelationKind.FOLLOW, source, record)

    def user(self, user: User) -> None:
        """A profile, a handle, or only that the account is there."""
        number = self._begin(user.key) if self._last else 0
        draft = self._drafts[number]
        known = draft.users.get(user.key)
        joined = _joined(known, user) if known is not None else user
        if joined is None or user.key in draft.gone:
            draft, joined = self._next(number, user.key), user
        draft.users[user.key] = joined

    def user_gone(self, key: str, reason: Outcome) -> None:
        number = self._begin(key) if self._last else 0
        draft = self._drafts[number]
        known = draft.gone.get(key)
        if key in draft.users or (known is not None and known.reason is not reason):
            draft = self._next(number, key)
        draft.gone[key] = Gone(Subject.USER, key, reason)

    def broken(self, subject: Subject, raw: bytes, error: Exception) -> None:
        self._drafts[0].broken.add(subject, raw, shortened(f"{type(error).__name__}: {error}"))

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

    def _begin(self, *keys: Key) -> int:
        """The first draft that may tell of all of these: none of them is told of in a later one."""
        if self._last.keys().isdisjoint(keys):
            return 0
        number = max(self._last.get(key, 0) for key in keys)
        self._last.update(dict.fromkeys(keys, number))
        return number

    def _next(self, number: int, *keys: Key) -> _Draft:
        """The draft behind one that contradicts what is to be told of these."""
        number += 1
        if number == len(self._drafts):
            self._drafts.append(_Draft())
        self._last.update(dict.fromkeys(keys, number))
        return self._drafts[number]

    def _turn(self) -> None:
        self._pages += [page for draft in self._drafts if (page := draft.page()) is not None]
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
