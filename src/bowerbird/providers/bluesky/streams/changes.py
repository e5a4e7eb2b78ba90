"""What happened to records and accounts, told as items; every stream shares it."""

from __future__ import annotations

from datetime import datetime

from msgspec.structs import replace

from bowerbird.model import NoticeKind, Subject, User
from bowerbird.providers.bluesky.reading.outcomes import STATUSES
from bowerbird.providers.bluesky.reading.records import (
    UNSEEN,
    Seen,
    follow_records,
    post_of,
    post_records,
    profile_of,
    written_repost,
)
from bowerbird.providers.bluesky.streams.telling import Telling
from bowerbird.providers.bluesky.syntax import FOLLOW, POST, PROFILE, REPOST, AtUri, is_did, is_handle, is_record_key
from bowerbird.providers.items import UNREADABLE

_NO_HANDLE = "handle.invalid"
_NO_RECORD = (b"", b"null")
CREATE, UPDATE, DELETE = "create", "update", "delete"


def record(told: Telling, uri: AtUri, operation: str, raw: bytes, at: datetime | None) -> None:
    """One record of an account with a sound name was created, rewritten or deleted; what cannot be read is quarantined alone."""
    try:
        if not is_record_key(uri.rkey):
            raise ValueError("not the name of a record")
        if operation == DELETE:
            _deleted(told, uri)
        elif operation in (CREATE, UPDATE):
            if raw in _NO_RECORD:
                raise ValueError("a record without content")
            _written(told, uri, raw, at, operation == UPDATE)
    except UNREADABLE as error:
        told.broken(Subject.USER if uri.collection in (FOLLOW, PROFILE) else Subject.POST, raw or str(uri).encode(), error)


def named(told: Telling, did: str, handle: str | None) -> None:
    """An identity changed; without a handle that leads back to the account there is nothing to tell."""
    if handle and handle != _NO_HANDLE and is_handle(handle):
        told.user(User(id=did, key=did, handle=handle))


def stands(told: Telling, did: str, is_active: bool, status: str | None) -> None:
    """An account went, or is there again; a host that only lags behind says nothing about the account."""
    reason = STATUSES.get(status or "")
    if is_active:
        told.user(User(id=did, key=did, is_there=True))
    elif reason is not None:
        told.user_gone(did, reason)
    else:
        told.notice(NoticeKind.OTHER, f"{did} is {status or 'inactive'}")


def _deleted(told: Telling, uri: AtUri) -> None:
    if uri.collection in (POST, REPOST):
        told.post_gone(str(uri))
    elif uri.collection == FOLLOW:
        told.unfollow(uri.authority, uri.rkey)


def _written(told: Telling, uri: AtUri, raw: bytes, at: datetime | None, is_rewritten: bool) -> None:
    if uri.collection == POST:
        post = post_of(uri, post_records.read(raw), raw, UNSEEN if is_rewritten else Seen(listed_at=at))
        told.post(replace(post, edited_at=at) if is_rewritten else post)
    elif uri.collection == REPOST:
        told.post(written_repost(uri, raw, None if is_rewritten else at))
    elif uri.collection == FOLLOW:
        _followed(told, uri, raw, is_rewritten)
    elif uri.collection == PROFILE and uri.rkey == "self":
        told.user(profile_of(uri.authority, raw))


def _followed(told: Telling, uri: AtUri, raw: bytes, is_rewritten: bool) -> None:
    subject = follow_records.read(raw).subject
    if not is_did(subject):
        raise ValueError("a follow of nobody")
    if is_rewritten:
        # The record may have named somebody else before.
        told.unfollow(uri.authority, uri.rkey)
    told.follow(uri.authority, subject, uri.rkey)
