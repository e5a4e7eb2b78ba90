"""Jetstream's second wire: events in an envelope, numbered over history and present alike."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from msgspec import Raw, Struct, field

from bowerbird.model import Heard, Opening, Subscription, to_micros
from bowerbird.providers.bluesky.streams import changes, positions
from bowerbird.providers.bluesky.streams.channels import MAPPED
from bowerbird.providers.bluesky.streams.compression import Unpacker
from bowerbird.providers.bluesky.streams.jetstream import Account, Identity
from bowerbird.providers.bluesky.streams.notices import closed, informed, unread
from bowerbird.providers.bluesky.streams.telling import Telling, listen
from bowerbird.providers.bluesky.syntax import AtUri, is_did
from bowerbird.providers.items import UNREADABLE, Reader
from bowerbird.providers.text import iso

_MAPPED = frozenset(MAPPED)


class _Payload(Struct, rename="camel"):
    """An event of any kind; a commit is flat, the others wrap what the relay said."""

    type: str = field(name="$type")
    seq: int = 0
    did: str = ""
    time: str | None = None
    witnessed_at: str | None = None
    operation: str = ""
    collection: str = ""
    rkey: str = ""
    record: Raw = Raw(b"")
    identity: Identity | None = None
    account: Account | None = None
    name: str = ""
    message: str | None = None

    @property
    def kind(self) -> str:
        return self.type.rpartition("#")[2]

    @property
    def at(self) -> datetime | None:
        """When this host witnessed the event: what a cursor in time is compared with."""
        return iso(self.witnessed_at) or iso(self.time)


class _Frame(Struct):
    type: str = field(name="$type")
    payload: _Payload | None = None
    error: str = ""
    message: str | None = None


_frames = Reader(_Frame)


class JetstreamV2Listener:
    """Hears one connection of the second wire; frames and kinds it does not know pass."""

    def __init__(self, opening: Opening, cursor: str | None, now: positions.Now = None) -> None:
        self._now, self._latest = now, 0
        self._known = positions.read(cursor)
        self._order = positions.Order(self._known.number if self._known else -1)
        self._unpacker = Unpacker(opening.dictionary)

    def retune(self, wanted: Subscription, rules: Sequence[str]) -> None:
        """Nothing changes: the service itself leaves out what is not wanted."""

    def hear(self, messages: Sequence[bytes]) -> Heard:
        told = Telling()
        self._unpacker.begin()
        self._latest = positions.latest(self._now)
        newest = listen(told, messages, self._hear)
        if newest is None or newest.seq != self._order.newest:
            return told.heard(None, None)
        position = positions.Position(newest.seq, positions.kept(to_micros(newest.at), self._now) if newest.at else 0)
        return told.heard(str(position), iso(newest.time))

    def _hear(self, told: Telling, message: bytes) -> _Payload | None:
        """Tells what the message says; answers the event if it is a new one."""
        try:
            frame = _frames.read(self._unpacker.text(message))
            event = frame.payload
            if event is not None and event.kind != "info" and not (is_did(event.did) and 0 <= event.seq < positions.FIRST_TIME):
                raise ValueError("an event without account or number")
            if event is not None and event.at is not None and to_micros(event.at) > self._latest:
                raise ValueError("an event of a time that has not come")
        except UNREADABLE as error:
            unread(told, message, error)
            return None
        if frame.type == "error":
            closed(told, frame.error, frame.message)
        if frame.type != "message" or event is None:
            return None
        if event.kind == "info":
            informed(told, event.name, event.message, self._known is not None)
            return None
        if event.seq <= self._order.floor and self._is_renumbered(event):
            self._order.restart()
        if not self._order.is_new(event.seq, event.seq):
            return None
        told.events += 1
        _tell(told, event)
        return event

    def _is_renumbered(self, event: _Payload) -> bool:
        """Whether a number that should be old belongs to a later event: every host counts for itself, and we asked by time."""
        known, at = self._known, event.at
        return known is not None and known.micros > 0 and at is not None and to_micros(at) > known.micros


def _tell(told: Telling, event: _Payload) -> None:
    match event.kind:
        case "commit" if event.collection in _MAPPED:
            uri = AtUri(event.did, event.collection, event.rkey)
            changes.record(told, uri, event.operation, bytes(event.record), iso(event.time))
        case "identity" if event.identity is not None:
            changes.named(told, event.did, event.identity.handle)
        case "account" if event.account is not None:
            changes.stands(told, event.did, event.account.active, event.account.status)
        case "sync":
            told.refetch("repo", event.did)
