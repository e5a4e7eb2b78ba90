"""What a Jetstream client wants to hear, read from its parameters or from a message."""

from __future__ import annotations

import re
from collections.abc import Sequence

from msgspec import Struct

from bowerbird.simulated.bluesky.streams.events import Event

_MOST_COLLECTIONS, _MOST_DIDS = 100, 10_000
_NSID = re.compile(r"[a-zA-Z][a-zA-Z0-9-]*(\.[a-zA-Z0-9-]+)+(\.[a-zA-Z][a-zA-Z0-9]*)")
_PREFIX = re.compile(r"[a-zA-Z][a-zA-Z0-9-]*(\.[a-zA-Z0-9-]+)*\.\*")
_DID = re.compile(r"did:[a-z]+:[a-zA-Z0-9._:%-]*[a-zA-Z0-9._-]")


class InvalidError(Exception):
    """The client asked for something that no filter can be; the message says what."""


class Filter(Struct, frozen=True):
    """Which events pass: by collection (commits only), by account, by kind and by size."""

    collections: frozenset[str] = frozenset()
    prefixes: tuple[str, ...] = ()
    dids: frozenset[str] = frozenset()
    kinds: frozenset[str] = frozenset()
    largest: int = 0

    def passes(self, event: Event) -> bool:
        if self.dids and event.did not in self.dids:
            return False
        if self.kinds and event.kind not in self.kinds:
            return False
        if event.kind != "commit" or not (self.collections or self.prefixes):
            return True
        return event.collection in self.collections or event.collection.startswith(self.prefixes)

    def fits(self, frame: bytes) -> bool:
        return not self.largest or len(frame) <= self.largest


def read_filter(collections: Sequence[str], dids: Sequence[str], largest: int = 0, kinds: Sequence[str] = ()) -> Filter:
    """The filter of valid wishes; raises `InvalidError` for others."""
    if len(set(collections)) > _MOST_COLLECTIONS:
        raise InvalidError(f"too many wanted collections: {len(set(collections))} > {_MOST_COLLECTIONS}")
    if len(set(dids)) > _MOST_DIDS:
        raise InvalidError(f"too many wanted DIDs: {len(set(dids))} > {_MOST_DIDS}")
    for collection in collections:
        if not (_NSID.fullmatch(collection) or _PREFIX.fullmatch(collection)):
            raise InvalidError(f"invalid collection: {collection}")
    for did in dids:
        if not _DID.fullmatch(did):
            raise InvalidError(f"invalid DID: {did}")
    exact = frozenset(each for each in collections if not each.endswith("*"))
    prefixes = tuple(each[:-1] for each in collections if each.endswith("*"))
    return Filter(exact, prefixes, frozenset(dids), frozenset(kinds), largest)
