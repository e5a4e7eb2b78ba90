"""The firehose of a relay or PDS (`subscribeRepos`): two CBOR objects per message, records in CAR blocks."""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import Any

import libipld
import msgspec
from msgspec import Struct, field

from bowerbird.model import Heard, NoticeKind, Subject, Subscription
from bowerbird.providers.bluesky.reading import car
from bowerbird.providers.bluesky.reading.repo import as_json
from bowerbird.providers.bluesky.streams import changes, positions
from bowerbird.providers.bluesky.streams.channels import MAPPED
from bowerbird.providers.bluesky.streams.notices import closed, informed, unread
from bowerbird.providers.bluesky.streams.subscriptions import collections
from bowerbird.providers.bluesky.streams.telling import Telling, listen
from bowerbird.providers.bluesky.syntax import AtUri, is_did
from bowerbird.providers.items import UNREADABLE
from bowerbird.providers.text import iso

_MESSAGE, _ERROR = 1, -1


class _Op(Struct, gc=False):
    action: str
    path: str
    cid: bytes | None = None


class _Event(Struct):
    """A message of any kind that carries a number: a commit, or what happened to an account."""

    seq: int
    repo: str = ""
    did: str = ""
    time: str | None = None
    ops: list[_Op] = []
    blocks: bytes = b""
    is_too_big: bool = field(name="tooBig", default=False)
    handle: str | None = None
    active: bool = False
    status: str | None = None

    @property
    def account(self) -> str:
        return self.did or self.repo


class _Words(Struct):
    """What the service says about the stream: information by name, or an error."""

    name: str = ""
    error: str = ""
    message: str | None = None


_NUMBERED = frozenset({"#commit", "#sync", "#identity", "#account"})


class FirehoseListener:
    """Hears one connection; operations and types it does not know pass, as the protocol asks."""

    def __init__(self, wanted: Subscription, cursor: str | None) -> None:
        known = positions.read(cursor)
        self._is_resumed = known is not None
        self._order = positions.Order(known.number if known else -1, positions.LEAP)
        self.retune(wanted, ())

    def retune(self, wanted: Subscription, rules: Sequence[str]) -> None:
        patterns = collections(wanted)
        self._collections = frozenset(each for each in MAPPED if any(fnmatchcase(each, pattern) for pattern in patterns))
        self._dids = frozenset(wanted.options.get("dids", ()))

    def hear(self, messages: Sequence[bytes]) -> Heard:
        told = Telling()
        before = self._order.newest
        newest = listen(told, messages, self._hear)
        if newest is None or self._order.newest == before:
            return told.heard(None, None)
        # The highest number may have been a lie, which those after it showed.
        return told.heard(str(self._order.newest), iso(newest.time) if newest.seq == self._order.newest else None)

    def _hear(self, told: Telling, message: bytes) -> _Event | None:
        """Tells what the message says; answers the event if it is a new one."""
        try:
            operation, kind, payload = _parted(message)
        except UNREADABLE as error:
            # The protocol would end the connection; but a message is whole by itself, and a replay would bring it again for ever.
            told.broken(Subject.POST, message, error)
            told.notice(NoticeKind.OTHER, "a message that is no CBOR")
            return None
        try:
            if operation == _MESSAGE and kind in _NUMBERED:
                return self._event(told, kind, _numbered(payload))
            if operation == _ERROR or (operation == _MESSAGE and kind == "#info"):
                self._words(told, operation, msgspec.convert(payload, _Words))
        except UNREADABLE as error:
            unread(told, message, error)
        return None

    def _event(self, told: Telling, kind: str, event: _Event) -> _Event | None:
        self._order.check(event.seq)
        if not self._order.is_new(event.seq, event.seq):
            return None
        told.events += 1
        did = event.account
        if self._dids and did not in self._dids:
            return event
        match kind:
            case "#commit":
                self._commit(told, did, event)
            case "#sync":
                told.refetch("repo", did)
            case "#identity":
                changes.named(told, did, event.handle)
            case "#account":
                changes.stands(told, did, event.active, event.status)
        return event

    def _words(self, told: Telling, operation: int, words: _Words) -> None:
        if operation == _ERROR:
            closed(told, words.error, words.message)
        else:
            informed(told, words.name, words.message, self._is_resumed)

    def _commit(self, told: Telling, did: str, event: _Event) -> None:
        if event.is_too_big:
            told.refetch("repo", did)
            return
        wanted = [(op, uri) for op in event.ops if (uri := _uri(did, op.path)).collection in self._collections]
        if not wanted:
            return
        blocks = _blocks(event) if any(op.cid is not None for op, _ in wanted) else {}
        at = iso(event.time)
        for op, uri in wanted:
            raw = b"" if op.action == changes.DELETE else _raw(told, uri, blocks.get(op.cid or b""))
            if raw is not None:
                changes.record(told, uri, op.action, raw, at)


def _raw(told: Telling, uri: AtUri, block: bytes | None) -> bytes | None:
    """The record as JSON; one that the commit announces without carrying it only the repository itself has."""
    if block is None:
        told.refetch("repo", uri.authority)
        return None
    try:
        return as_json(block)
    except UNREADABLE as error:
        told.broken(Subject.POST, str(uri).encode(), error)
        return None


def _parted(message: bytes) -> tuple[int, str, Any]:
    car.count_values(message)
    parts = libipld.decode_dag_cbor_multi(message)
    if len(parts) != 2 or not isinstance(parts[0], dict):
        raise ValueError("not a header and a payload")
    operation, kind = parts[0].get("op"), parts[0].get("t")
    if not isinstance(operation, int):
        raise ValueError("a header without operation")
    return operation, kind if isinstance(kind, str) else "", parts[1]


def _numbered(payload: Any) -> _Event:
    event = msgspec.convert(payload, _Event)
    if not is_did(event.account) or not 0 <= event.seq <= positions.LARGEST:
        raise ValueError("an event without account or number")
    return event


def _uri(did: str, path: str) -> AtUri:
    collection, _, rkey = path.partition("/")
    return AtUri(did, collection, rkey)


def _blocks(event: _Event) -> car.Blocks:
    """The records that the commit carries; a file that cannot be read carries none."""
    try:
        return car.opened(event.blocks)[1]
    except UNREADABLE:
        return {}
