"""An answer's parts, each item with its own bytes: what was asked for, what came along, what could not be had."""

from __future__ import annotations

import msgspec
from msgspec import Raw, Struct

from bowerbird.providers.headers import usable
from bowerbird.providers.items import an_object, decoded, is_there, listed


class _Includes(Struct):
    users: list[Raw] | None = None
    tweets: list[Raw] | None = None
    posts: list[Raw] | None = None
    media: list[Raw] | None = None
    places: list[Raw] | None = None
    polls: list[Raw] | None = None


class _Meta(Struct, gc=False):
    next_token: str | None = None


class _Body(Struct):
    data: Raw = Raw(b"")
    includes: _Includes | None = None
    errors: list[Raw] | None = None
    meta: _Meta | None = None


class Envelope(Struct, frozen=True):
    """`data` is a list of items for both forms; `is_list` tells them apart, and `has_data` an empty page from none."""

    data: tuple[bytes, ...] = ()
    is_list: bool = False
    has_data: bool = False
    has_meta: bool = False
    users: tuple[bytes, ...] = ()
    posts: tuple[bytes, ...] = ()
    media: tuple[bytes, ...] = ()
    places: tuple[bytes, ...] = ()
    polls: tuple[bytes, ...] = ()
    errors: tuple[bytes, ...] = ()
    next_token: str | None = None


_bodies = msgspec.json.Decoder(_Body)


def opened(body: bytes) -> Envelope:
    """The parts of an answer; raises one of `UNREADABLE` when it is not of the expected form."""
    return _envelope(decoded(_bodies, body))


def _envelope(body: _Body) -> Envelope:
    data = bytes(body.data) if is_there(body.data) else b""
    along = body.includes or _Includes()
    meta = body.meta or _Meta()
    return Envelope(
        data=_items(data),
        is_list=data.startswith(b"["),
        has_data=bool(data),
        has_meta=body.meta is not None,
        users=_copied(along.users),
        posts=_copied(along.tweets) + _copied(along.posts),
        media=_copied(along.media),
        places=_copied(along.places),
        polls=_copied(along.polls),
        errors=_copied(body.errors),
        next_token=_token(meta.next_token),
    )


def _items(data: bytes) -> tuple[bytes, ...]:
    if not data:
        return ()
    return tuple(listed(data)) if data.startswith(b"[") else (an_object(data),)


def _copied(raws: list[Raw] | None) -> tuple[bytes, ...]:
    return tuple(bytes(raw) for raw in raws or ())


def _token(text: str | None) -> str | None:
    return usable(text) if text else None
