"""Build a `Page` from one response: users and posts once each, deletions, quarantined items, and
bounds on all of them.

A server may send anything. What it sends is bounded by what was requested before it becomes
objects.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable
from datetime import datetime, timedelta
from itertools import islice
from typing import Any, Protocol, Self, TypeVar

import msgspec
from msgspec import Raw

from bowerbird.model import (
    Answer,
    Ask,
    Broken,
    Facet,
    Gone,
    KeyTime,
    Outcome,
    Page,
    Post,
    Reaction,
    ReactionKind,
    Reading,
    Relation,
    RelationKind,
    Request,
    Side,
    Subject,
    User,
    from_micros,
)
from bowerbird.providers import headers
from bowerbird.providers.base import page_size
from bowerbird.providers.items import UNREADABLE, identified, shortened, without

MAX_BYTES = 16 * 1024 * 1024
"""Of a JSON response, whatever was requested."""
MAX_VALUES = 1_500_000
"""JSON values of a response: one may take one byte on the wire and sixty in memory."""
MAX_MESSAGE_VALUES = 200_000
MAX_QUARANTINED = 100
"""Items of a page that are quarantined; further ones are only counted."""
MAX_MALFORMED = 1_000
"""Malformed items after which the page as a whole is unreadable."""
_MAX_RAW, _MAX_RAW_TOTAL = 256 * 1024, 4 * 1024 * 1024
"""Bytes kept of one quarantined item, and of all of a page."""
_STREAM_ITEMS = 100_000

REPEATED = "the server answered the same position again; the listing is taken as ended"
OVERFULL = (
    "the server listed far more than was asked for; "
    "the rest was left out and the listing is taken as ended"
)
EMPTY_BATCHES_BELIEVED = 3
"""One empty response to a batch may be a silent failure of the server."""
CLOCK_TOLERANCE = timedelta(days=1)
"""How far the time in a key may lie ahead of our own clock."""
SNOWFLAKES = KeyTime(from_micros(1_288_834_974_657_000), bits=22)
"""The ids of X. No compatible scheme has more bits below the time."""


class Keyed(Protocol):
    @property
    def key(self) -> str: ...


B = TypeVar("B", bound="PageBuilder")
K = TypeVar("K", bound=Keyed)


# Ids whose order is the order of posting


def key_order(key: str) -> tuple[int, str]:
    """Sort key for ids of one service, old to new: by length, then alphabetically."""
    return len(key), key


def newest_key(keys: Iterable[str]) -> str | None:
    return max(keys, key=key_order, default=None)


def oldest_key(keys: Iterable[str]) -> str | None:
    return min(keys, key=key_order, default=None)


def is_number(key: str) -> bool:
    return key.isascii() and key.isdigit() and len(key) <= 20


def key_before(key: str) -> str:
    """Return the id just before a numeric one; other ids are returned unchanged."""
    return str(int(key) - 1) if is_number(key) and int(key) > 0 else key


# Bounds


def bounded(request: Request, ask: Ask, facet: Facet, max_bytes: int = 0) -> Request:
    """Return the request with the largest response that is accepted."""
    most = max_bytes or min(1024 * 1024 + page_size(ask, facet) * 64 * 1024, MAX_BYTES)
    return msgspec.structs.replace(request, most=most)


def check_values(body: bytes, most: int = MAX_MESSAGE_VALUES) -> None:
    """Raise ValueError for JSON with too many values (commas inside texts count too, which the
    bound allows for)."""
    if len(body) > most and body.count(b",") + body.count(b"[") + body.count(b"{") > most:
        raise ValueError(f"more than {most:,} values")


def max_results(ask: Ask, facet: Facet) -> int:
    """Items of a list: servers round the requested number up, and some send all they have."""
    return 4 * max(page_size(ask, facet), len(ask.targets)) + 100


class Quarantine:
    """Malformed items of a page: the first ones in full, then only their number."""

    def __init__(self) -> None:
        self._items: list[Broken] = []
        self._room = _MAX_RAW_TOTAL
        self._others = 0

    def add(self, subject: Subject, raw: bytes, why: str) -> None:
        if len(self._items) >= MAX_QUARANTINED or not self._room:
            self._others += 1
            return
        raw = raw[: min(_MAX_RAW, self._room)]
        self._room -= len(raw)
        self._items.append(Broken(subject, raw, why))

    def all(self) -> tuple[Broken, ...]:
        rest = (
            (Broken(self._items[0].subject, b"", f"and {self._others:,} more like these"),)
            if self._others
            else ()
        )
        return (*self._items, *rest)

    def __len__(self) -> int:
        return len(self._items) + self._others


class PageBuilder(ABC):
    """Collects the items of one response. Each network subclasses it with the mapping of its users
    and posts."""

    id_names: tuple[str, ...] = ("id",)
    """Fields that identify an item that could not be mapped."""

    def __init__(self, ask: Ask, facet: Facet, answer: Answer) -> None:
        self.ask, self.facet, self.answer = ask, facet, answer
        self.users: dict[str, User] = {}
        self.posts: dict[str, Post] = {}
        self.ids: dict[str, str] = {}
        """Global ids of the posts by their keys on the service; only for streams."""
        self.embedded: set[str] = set()
        """Ids of posts that were only embedded in others."""
        self.gone: dict[tuple[Subject, str], Gone] = {}
        self.broken = Quarantine()
        self.authors: dict[bytes, User] = {}
        """Users by their JSON: a timeline repeats the same one in every post."""
        self.lost_keys: set[str] = set()
        """Keys of listed items that could not be mapped: they exist, so they are not deleted."""
        self.is_sure = True
        """False once a malformed item could not be identified."""
        self.about: str | None = None
        """Key of the account, if one was looked up."""
        self.is_doubtful = False
        """True if an empty response is not believed yet."""
        self.is_full = False
        self.max_results = max_results(ask, facet)
        self._max_items = 5 * self.max_results
        self._max_malformed = MAX_MALFORMED
        self._is_stream = False

    def for_stream(self) -> Self:
        """Accept messages of a stream: there is no page size, and the latest profile of a user
        counts."""
        self._is_stream = True
        self.max_results = self._max_items = self._max_malformed = _STREAM_ITEMS
        return self

    @abstractmethod
    def read_user(self, raw: bytes) -> User:
        """Map and add one account. Raises one of `UNREADABLE`."""

    def latest_key(self, at: datetime) -> int | None:
        """Return the highest numeric key that a post can have at that time, if keys contain the
        time."""
        return None

    def check_size(self) -> None:
        """Raise ValueError for a response with far more JSON values than were requested."""
        check_values(
            self.answer.body, min(20_000 + page_size(self.ask, self.facet) * 5_000, MAX_VALUES)
        )

    # Adding items

    def add_user(self, user: User) -> User:
        """Add a user once; a later profile replaces it only if it also has the time of the newest
        post."""
        if self._is_stream:
            self.users[user.id] = user
            return user
        if not self._has_room(self.users, user.id):
            return user
        known = self.users.setdefault(user.id, user)
        if known.newest_post_at is None and user.newest_post_at is not None:
            known = self.users[user.id] = user
        return known

    def add_post(self, post: Post, *, is_along: bool = False) -> Post:
        """Add a post once. `is_along`: it is embedded in another one."""
        if self._is_stream:
            self.ids[post.key] = post.id
        known = self.posts.get(post.id)
        if known is not None:
            if not is_along:
                self.embedded.discard(post.id)
            return known
        if self._has_room(self.posts, post.id):
            self.posts[post.id] = post
            if is_along:
                self.embedded.add(post.id)
        return post

    def mark_gone(
        self,
        subject: Subject,
        key: str,
        reason: Outcome,
        *,
        is_vague: bool = False,
        is_stated: bool = False,
    ) -> None:
        if self._has_room(self.gone, (subject, key)):
            self.gone.setdefault((subject, key), Gone(subject, key, reason, is_vague, is_stated))

    def quarantine(self, subject: Subject, raw: bytes, error: Exception) -> None:
        """Set aside a malformed item. Raises ValueError after too many."""
        if len(self.broken) >= self._max_malformed:
            raise ValueError(f"more than {self._max_malformed:,} items cannot be read")
        self.broken.add(
            subject, raw, f"{type(error).__name__}: {error}"[:200].encode(errors="replace").decode()
        )

    def quarantine_listed(self, subject: Subject, raw: bytes, error: Exception) -> None:
        """Set aside a malformed item of the requested list, and remember that it exists."""
        self.quarantine(subject, raw, error)
        key = identified(raw, *self.id_names)
        if key is None:
            self.is_sure = False
        else:
            self.lost_keys.add(key)

    def own_payload(self, raw: bytes, embedded: Raw, named: str | None) -> bytes:
        """Return a payload with the embedded post if that is stored under its own id; otherwise
        without it, because a copy would survive the deletion of that post."""
        return raw if named in self.posts else without(raw, embedded)

    def _has_room(self, held: Collection[object], key: object) -> bool:
        has_room = len(held) < self._max_items or key in held
        self.is_full = self.is_full or not has_room
        return has_room

    # Reading lists

    def read_users(self, raws: Iterable[bytes]) -> list[User]:
        users: list[User] = []
        for raw in raws:
            try:
                users.append(self.read_user(raw))
            except UNREADABLE as error:
                self.quarantine_listed(Subject.USER, raw, error)
        if len(users) == len(self.ask.targets) == 1 and self.facet.is_lookup:
            self.about = users[0].key
        return users

    def read_posts(
        self, raws: Iterable[bytes], read: Callable[[bytes], K], add: Callable[[K, bytes], object]
    ) -> list[str]:
        """Add the posts that are new to us; return the keys of all that were listed."""
        keys: list[str] = []
        for raw in raws:
            try:
                post = read(raw)
                if not self.is_known(post.key):
                    add(post, raw)
                keys.append(post.key)
            except UNREADABLE as error:
                self.quarantine_listed(Subject.POST, raw, error)
        return keys

    def read_ids(self, raws: Iterable[bytes | Raw]) -> list[str]:
        """Return the ids of a bare list of numbers or strings."""
        keys: list[str] = []
        for raw in map(bytes, raws):
            key = raw.strip(b'"').decode("ascii", "replace")
            if is_number(key):
                keys.append(key)
            else:
                self.quarantine(Subject.USER, raw, ValueError("an id is not a number"))
        return keys

    def is_known(self, key: str) -> bool:
        """Whether an incremental listing has reached what an earlier visit listed."""
        known = self.ask.progress.newest
        return (
            self.facet.is_incremental and known is not None and key_order(key) <= key_order(known)
        )

    def newest(self, keys: Iterable[str]) -> str | None:
        """Return the newest plausible key; one from the future would hide everything after it."""
        latest = self.latest_key(self.answer.received_at + CLOCK_TOLERANCE)

        def is_plausible(key: str) -> bool:
            if not key.isascii() or not key.isdigit():
                return len(key) <= 30
            return is_number(key) and (latest is None or int(key) <= latest)

        return newest_key(filter(is_plausible, keys))

    def mark_missing(self, keys: Collection[str]) -> None:
        """Mark the targets that a batch did not return as deleted, unless a malformed item may be
        one of them.

        An empty response to a batch is believed after several attempts; one about other accounts
        than requested, never.
        """
        targets = self.ask.targets
        missing = [
            key
            for key in targets
            if key not in keys and key.casefold() not in keys and key not in self.lost_keys
        ]
        if (
            keys
            and len(missing) == len(targets)
            and not any(key.startswith("@") for key in targets)
        ):
            raise ValueError("an answer about others than those asked for")
        is_empty = len(targets) > 1 and len(missing) == len(targets) and not self.lost_keys
        if is_empty and self.ask.looks + 1 < EMPTY_BATCHES_BELIEVED:
            self.is_doubtful = True
        elif self.is_sure and self.lost_keys <= set(targets):
            for key in missing:
                self.mark_gone(self.facet.subject, key, Outcome.NOT_FOUND, is_vague=True)

    def relations(self, keys: Iterable[str]) -> tuple[Relation, ...]:
        """Return the follow relations between the requested account and the listed ones."""
        target, listed = self.ask.targets[0], islice(keys, self.max_results)
        if self.facet.side is Side.FOLLOWERS:
            return tuple(Relation(RelationKind.FOLLOW, key, target) for key in listed)
        return tuple(Relation(RelationKind.FOLLOW, target, key) for key in listed)

    def reactions(self, kind: ReactionKind, keys: Iterable[str]) -> tuple[Reaction, ...]:
        """Return the reactions of the listed accounts to the requested post."""
        return tuple(
            Reaction(kind, self.ask.targets[0], key)
            for key in dict.fromkeys(islice(keys, self.max_results))
        )

    # The result

    def page(
        self,
        *,
        results: int,
        cursor: str | None = None,
        head: str | None = None,
        detail: str = "",
        **fields: Any,
    ) -> Page:
        """Return the page; `fields` are further fields of `Page`, such as `relations`."""
        if results > self.max_results or self.is_full:
            results, cursor, detail = min(results, self.max_results), None, OVERFULL
        return Page(
            users=tuple(self.users.values()),
            posts=tuple(self.posts.values()),
            along=frozenset(self.embedded),
            gone=tuple(self.gone.values()),
            broken=self.broken.all(),
            results=results,
            about=self.about,
            cursor=cursor,
            is_whole=detail not in (REPEATED, OVERFULL) and self.is_sure,
            is_doubtful=self.is_doubtful,
            head=head,
            detail=f"none of {len(self.ask.targets)} was listed; they are asked for again"
            if self.is_doubtful
            else detail,
            **fields,
        )


def read_page(builder: B, read: Callable[[B], Page], limit: Reading | None) -> Page:
    """Return the page of a successful response. Never raises."""
    answer = builder.answer
    wait = headers.retry_after(answer)
    try:
        builder.check_size()
        page = read(builder)
    except UNREADABLE as error:
        start = answer.body[:80].decode(errors="replace")
        detail = shortened(f"cannot read {len(answer.body)} bytes ({error}): {start}")
        return Page(outcome=Outcome.UNREADABLE, reading=limit, retry_after=wait, detail=detail)
    lists: dict[str, Any] = {
        name: getattr(page, name) for name in ("relations", "reactions", "members")
    }
    if any(len(each) > builder.max_results for each in lists.values()):
        cut = {name: each[: builder.max_results] for name, each in lists.items()}
        page = msgspec.structs.replace(page, **cut, cursor=None, is_whole=False, detail=OVERFULL)
    return msgspec.structs.replace(page, reading=limit, retry_after=wait)
