"""Jetstream's first wire: one JSON object per message, counted in microseconds."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Raw, Struct

from bowerbird.model import Heard, NoticeKind, Opening, Outcome, Subscription, from_micros
from bowerbird.providers.bluesky.streams import changes, positions
from bowerbird.providers.bluesky.streams.channels import MAPPED
from bowerbird.providers.bluesky.streams.compression import Unpacker
from bowerbird.providers.bluesky.streams.notices import unread
from bowerbird.providers.bluesky.streams.telling import Telling
from bowerbird.providers.bluesky.syntax import POST, REPOST, AtUri, is_did
from bowerbird.providers.items import UNREADABLE, Reader

_MAPPED = frozenset(MAPPED)
_DATED = frozenset({POST, REPOST})
"""Of other records nobody asks when they were written."""
_LATEST = 10**16
"""Microseconds until the year 2286: no event is later."""


class Commit(Struct):
    """One record's change, as both wires write it."""

    operation: str = ""
    collection: str = ""
    rkey: str = ""
    record: Raw = Raw(b"")


class Identity(Struct, gc=False):
    handle: str | None = None


class Account(Struct, gc=False):
    active: bool
    status: str | None = None


class _Event(Struct):
    did: str
    time_us: int
    commit: Commit | None = None
    identity: Identity | None = None
    account: Account | None = None


_events = Reader(_Event)
_TOLERANCE = 60_000_000
"""Microseconds. A replay may begin with events that happened a little before the cursor, never a minute before it."""


class JetstreamListener:
    """Hears one connection of the first wire; kinds it does not know pass."""

    def __init__(self, opening: Opening, cursor: str | None, now: positions.Now = None) -> None:
        self._now = now
        known = positions.read(cursor)
        # The cursor is a time and inclusive: another event may have happened in that very microsecond.
        self._order = positions.Order(known.number - 1 if known else 0)
        self._unpacker = Unpacker(opening.dictionary)

    def retune(self, wanted: Subscription, rules: Sequence[str]) -> None:
        """Nothing changes: the service itself leaves out what is not wanted."""

    def hear(self, messages: Sequence[bytes]) -> Heard:
        told = Telling()
        self._unpacker.begin()
        before, latest = self._order.newest, positions.latest(self._now)
        for message in messages:
            if message:
                self._hear(told, message, latest)
            if told.closing is not None:
                break
        newest = self._order.newest
        if newest == before:
            return told.heard(None, None)
        return told.heard(str(positions.kept(newest, self._now)), from_micros(newest))

    def _hear(self, told: Telling, message: bytes, latest: int) -> None:
        try:
            event = _events.read(self._unpacker.text(message))
            if not is_did(event.did) or not 0 < event.time_us < _LATEST:
                raise ValueError("an event without account or time")
            if event.time_us > latest:
                raise ValueError("an event of a time that has not come")
        except UNREADABLE as error:
            unread(told, message, error)
            return
        if self._order.is_new(event.time_us, hash(message)):
            told.events += 1
            _tell(told, event)
        elif self._order.newest - event.time_us > _TOLERANCE and self._order.newest == self._order.floor:
            # The service went on from its present, which lies before our cursor: everything would be taken for known.
            told.closing = Outcome.BAD_REQUEST
            told.notice(NoticeKind.FUTURE, "the cursor lies ahead of the service")


def _tell(told: Telling, event: _Event) -> None:
    commit = event.commit
    if commit is not None:
        if commit.collection in _MAPPED:
            at = from_micros(event.time_us) if commit.collection in _DATED else None
            uri = AtUri(event.did, commit.collection, commit.rkey)
            changes.record(told, uri, commit.operation, bytes(commit.record), at)
    elif event.identity is not None:
        changes.named(told, event.did, event.identity.handle)
    elif event.account is not None:
        changes.stands(told, event.did, event.account.active, event.account.status)
