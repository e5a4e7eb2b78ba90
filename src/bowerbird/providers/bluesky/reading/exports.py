"""What a repository's own host lists: records one page at a time, or the whole repository at once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec
from msgspec import Raw, Struct

from bowerbird.model import Page, Relation, RelationKind, Subject, User
from bowerbird.providers.bluesky.reading.gather import BlueskyGathering
from bowerbird.providers.bluesky.reading.pages import listing
from bowerbird.providers.bluesky.reading.records import follow_records, identity, profile_of
from bowerbird.providers.bluesky.reading.repo import as_json, is_empty, opened
from bowerbird.providers.bluesky.syntax import FOLLOW, POST, PROFILE, REPOST, AtUri, is_did, tid_time
from bowerbird.providers.items import UNREADABLE, Reader
from bowerbird.providers.page import CLOCK_TOLERANCE, REPEATED


class _Record(Struct):
    uri: str
    value: Raw


_records = Reader(_Record)


def records(found: BlueskyGathering) -> Page:
    """A raw timeline: posts or reposts as their author's host holds them, without anybody's counters."""
    items = listing(found.answer.body, "records")
    known = found.ask.progress.newest
    keys: list[str] = []
    for uri, raw in _own(found, items.items):
        keys.append(uri.rkey)
        if known is None or uri.rkey > known:
            _record(found, uri, raw)
    is_reached = known is not None and any(key <= known for key in keys)
    cursor, detail = _next(found, items.cursor, len(items.items))
    return found.page(results=len(items.items), cursor=None if is_reached else cursor, head=_head(found, keys), detail=detail)


def follows(found: BlueskyGathering) -> Page:
    """Whom an account follows, by its own records."""
    items = listing(found.answer.body, "records")
    followed = [each for uri, raw in _own(found, items.items) for each in _followed(found, uri, raw)]
    cursor, detail = _next(found, items.cursor, len(items.items))
    page = found.page(results=len(items.items), cursor=cursor, detail=detail)
    return msgspec.structs.replace(page, relations=_once(followed))


def repo(found: BlueskyGathering) -> Page:
    """A whole repository: profile, posts, reposts and follows of one account."""
    if found.ask.progress.newest and is_empty(found.answer.body):
        found.add_user(User(id=found.ask.targets[0], key=found.ask.targets[0]))
        return found.page(results=0)
    export = opened(found.answer.body)
    if export.did != found.ask.targets[0]:
        raise ValueError("the repository of another account")
    followed: list[Relation] = []
    results = 0
    for path, record in sorted(export.records.items()):
        collection, _, rkey = path.partition("/")
        if collection in (POST, REPOST, FOLLOW, PROFILE):
            results += 1
            followed += _exported(found, AtUri(export.did, collection, rkey), record)
    found.add_user(User(id=export.did, key=export.did))
    made = tid_time(export.rev)
    head = export.rev if made is not None and made <= found.answer.received_at + CLOCK_TOLERANCE else None
    return msgspec.structs.replace(found.page(results=results, head=head), relations=_once(followed))


def _exported(found: BlueskyGathering, uri: AtUri, record: bytes) -> list[Relation]:
    """Maps one record of an export; answers what it says of whom, if it is a follow."""
    raw = b""
    try:
        raw = as_json(record)
        identity(str(uri))
        if uri.collection == FOLLOW:
            return _followed(found, uri, raw)
        if uri.collection == PROFILE and uri.rkey == "self":
            found.add_user(profile_of(uri.authority, raw))
        else:
            found.record(uri, raw)
    except UNREADABLE as error:
        found.quarantine_listed(Subject.USER if uri.collection in (FOLLOW, PROFILE) else Subject.POST, raw, error)
    return []


def _own(found: BlueskyGathering, raws: list[bytes]) -> Iterator[tuple[AtUri, bytes]]:
    """The listed records that belong to the repository asked about."""
    for raw in raws:
        try:
            record = _records.read(raw)
            uri = identity(record.uri)
            if uri.authority != found.ask.targets[0]:
                raise ValueError("a record of another repository")
            yield uri, bytes(record.value)
        except UNREADABLE as error:
            found.quarantine_listed(Subject.POST, raw, error)


def _record(found: BlueskyGathering, uri: AtUri, raw: bytes) -> None:
    try:
        found.record(uri, raw)
    except UNREADABLE as error:
        found.quarantine_listed(Subject.POST, raw, error)


def _followed(found: BlueskyGathering, uri: AtUri, raw: bytes) -> list[Relation]:
    """The follow under the name of its record: a stream tells its end by that name alone."""
    try:
        subject = follow_records.read(raw).subject
        if not is_did(subject):
            raise ValueError("a follow of nobody")
    except UNREADABLE as error:
        found.quarantine_listed(Subject.USER, raw, error)
        return []
    return [Relation(RelationKind.FOLLOW, uri.authority, subject, uri.rkey)]


def _once(followed: Iterable[Relation]) -> tuple[Relation, ...]:
    """Each account once; of several records about it the newest, whose key is the highest."""
    by_age = sorted(followed, key=lambda relation: relation.record or "")
    return tuple({relation.target: relation for relation in by_age}.values())


def _next(found: BlueskyGathering, cursor: str | None, results: int) -> tuple[str | None, str]:
    """A host names a cursor even on the last page: only an empty page, or none, ends the list."""
    if not results or cursor is None:
        return None, ""
    return (None, REPEATED) if cursor == found.ask.progress.cursor else (cursor, "")


def _head(found: BlueskyGathering, keys: list[str]) -> str | None:
    """The newest record of a first page whose key tells a time that has come: authors may choose other keys, and any of them."""
    if found.ask.progress.cursor is not None:
        return None
    latest = found.answer.received_at + CLOCK_TOLERANCE
    return max((key for key in keys if (made := tid_time(key)) is not None and made <= latest), default=None)
