"""The items of a page, each with its own bytes, so that one malformed item loses only itself."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from functools import cached_property
from typing import Generic, TypeVar, cast

import msgspec
from msgspec import Raw, Struct

from bowerbird.model import Gone, Outcome, Post, Subject, User
from bowerbird.providers.common.reading.amounts import SetAside
from bowerbird.providers.common.reading.parting import parted, spared, tree, written

T = TypeVar("T")

UNREADABLE = (ValueError, RecursionError)
"""What reading a hostile body can raise: msgspec's errors and bad Unicode are ValueErrors, deep nesting is a RecursionError."""

_BACKSLASH = ord("\\")
_NUL = re.compile(rb"(?<!\\)((?:\\\\)*)\\u0000")
_may_have_nul = re.compile(rb"\\u0000").search
"""In half the time of `in`, which is slow to pass over bytes that are like those of what it looks for."""
_NUMBERED = re.compile(rb'"((?:[a-z_]{1,30}_)?id)"(\s{0,3}:\s{0,3})(\d{1,30})(?=[\s,}])')
"""An id that came as a number. Inside of texts quotes are escaped, so that nothing there looks like it."""
UNSENT = Raw(b"")
"""The default of optional nested items."""
_NOTHING = (UNSENT, Raw(b"null"))
_LARGEST = 2**63 - 1
_LONGEST_ID = 300
_raw_list = msgspec.json.Decoder(list[Raw])
_objects = msgspec.json.Decoder(dict[str, Raw])


def decoded(decoder: msgspec.json.Decoder[T], body: bytes) -> T:
    """The body as the decoder's shape; where some text of it is no Unicode, read slowly, so that only its own item is lost."""
    try:
        return decoder.decode(body)
    except msgspec.ValidationError:
        raise
    except msgspec.DecodeError:
        shaped: T = parted(body, decoder.type)
        return shaped


def listed(body: bytes) -> list[bytes]:
    """The elements of a JSON array as they came."""
    return [bytes(item) for item in decoded(_raw_list, body)]


def an_object(body: bytes) -> bytes:
    """A whole JSON object; anything else means that the page, not an item, is broken."""
    decoded(_objects, body)
    return body


class Reader(Generic[T]):
    """Reads one item into a shape: strictly, once more with numbers and strings taken for each other, and at last without what is
    odd in the parts that it can spare."""

    def __init__(self, shape: type[T], *spare: str) -> None:
        self._shape, self._ways = shape, spare
        self._strict = msgspec.json.Decoder(shape)
        self._lenient = msgspec.json.Decoder(shape, strict=False)

    def read(self, raw: bytes) -> T:
        # PostgreSQL cannot keep U+0000 in text, and no network needs it.
        # A single byte is found five times as fast, and most items have no backslash. As a number: of bytes Python first asks
        # whether they are one, and makes an error to throw away.
        source = _NUL.sub(rb"\1", raw) if _BACKSLASH in raw and _may_have_nul(raw) else raw
        try:
            return self._strict.decode(source)
        except ValueError:
            return self._slowly(source)

    def read_all(self, raws: Sequence[bytes]) -> list[T] | None:
        """All of them at once; None where one needs a closer look, and each must be read by itself."""
        whole = b"[%b]" % b",".join(raws)
        if _may_have_nul(whole):
            return None
        try:
            found = self._all.decode(whole)
        except UNREADABLE:
            return None
        return found if len(found) == len(raws) else None

    @cached_property
    def _all(self) -> msgspec.json.Decoder[list[T]]:
        # Made on first use: most shapes are read one by one.
        return msgspec.json.Decoder(list[self._shape])  # type: ignore[name-defined]

    def _slowly(self, source: bytes) -> T:
        try:
            return decoded(self._strict, source)
        except ValueError as error:
            if not self._ways and not isinstance(error, msgspec.ValidationError):
                raise
            return self._leniently(_NUMBERED.sub(rb'"\1"\2"\3"', source))

    def _leniently(self, source: bytes) -> T:
        try:
            return decoded(self._lenient, source)
        except ValueError:
            if not self._ways:
                raise
            item = spared(tree(source), cast("type[Struct]", self._shape), self._ways)
            return decoded(self._lenient, written(item))


def identified(raw: bytes, *names: str) -> str | None:
    """The id of an item that could not be mapped, if at least that can be read."""
    try:
        item = tree(raw)
    except UNREADABLE:
        return None
    values = [item.get(name) for name in names] if isinstance(item, dict) else []
    found = next((str(value) for value in values if value and isinstance(value, str | int)), "")
    return found if found.isprintable() and 0 < len(found) <= _LONGEST_ID else None


def count(number: int | None) -> int | None:
    """A counter that fits the database; servers send -1 for hidden ones."""
    return number if number is not None and 0 <= number <= _LARGEST else None


def is_there(raw: Raw) -> bool:
    """Whether an optional nested item was sent at all."""
    return raw not in _NOTHING


def without(raw: bytes, *nested: Raw) -> bytes:
    """The payload with null for items that are embedded in it: those are kept as items of their own, or must not be kept, and
    a copy would outlive them. Nothing where one cannot be taken out because it was read otherwise than it stands there."""
    for each in filter(lambda each: bytes(each).startswith(b"{"), nested):
        if bytes(each) not in raw:
            return b""
        raw = raw.replace(bytes(each), b"null")
    return raw


class Harvest:
    """What a page has yielded so far: every user and post once, and what could not be mapped."""

    def __init__(self, most: int = 100_000, most_results: int = 100_000, most_broken: int = 100_000) -> None:
        """`most`: users, and as many posts; what comes beyond is passed over and `is_full` says so. `most_results`: listed.
        `most_broken`: a page with more that cannot be mapped is not read at all."""
        self._most = most
        self._most_broken = most_broken
        self.most_results = most_results
        self.is_full = False
        self.users: dict[str, User] = {}
        self.posts: dict[str, Post] = {}
        self.along: set[str] = set()
        """Ids of posts that only came with others."""
        self.gone: dict[tuple[Subject, str], Gone] = {}
        self.broken = SetAside()
        self.authors: dict[bytes, User] = {}
        """Embedded users by their bytes: a timeline repeats the same one in every post."""

    def add_user(self, user: User) -> User:
        """The user as the page shows them: at first sight, unless a later one also tells their newest post."""
        if not self._has_room(self.users, user.id):
            return user
        known = self.users.setdefault(user.id, user)
        if known.newest_post_at is None and user.newest_post_at is not None:
            known = self.users[user.id] = user
        return known

    def add_post(self, post: Post, *, is_along: bool = False) -> Post:
        """The post as the page shows it first; listed once, it no longer counts as come along."""
        known = self.posts.get(post.id)
        if known is not None:
            if not is_along:
                self.along.discard(post.id)
            return known
        if self._has_room(self.posts, post.id):
            self.posts[post.id] = post
            if is_along:
                self.along.add(post.id)
        return post

    def carrying(self, raw: bytes, embedded: Raw, named: str | None) -> bytes:
        """A payload with the post inside it, if that is a post of its own by the id under which its carrier names it; else
        without: nobody would find the copy when that post is deleted."""
        return raw if named in self.posts else without(raw, embedded)

    def _has_room(self, held: Collection[object], key: object) -> bool:
        has_room = len(held) < self._most or key in held
        self.is_full = self.is_full or not has_room
        return has_room

    def lose(self, subject: Subject, key: str, reason: Outcome, *, is_vague: bool = False, is_stated: bool = False) -> None:
        if self._has_room(self.gone, (subject, key)):
            self.gone.setdefault((subject, key), Gone(subject, key, reason, is_vague, is_stated))

    def quarantine(self, subject: Subject, raw: bytes, error: Exception) -> None:
        """Sets one item aside; raises ValueError when that is one too many."""
        if len(self.broken) >= self._most_broken:
            raise ValueError(f"more than {self._most_broken:,} items cannot be read")
        self.broken.add(subject, raw, f"{type(error).__name__}: {error}"[:200].encode(errors="replace").decode())


def shortened(text: str) -> str:
    """The service's own words on one line, at most 200 characters, safe to store."""
    words = " ".join(text[:1000].replace("\x00", " ").split())
    return words[:200].encode(errors="replace").decode()
