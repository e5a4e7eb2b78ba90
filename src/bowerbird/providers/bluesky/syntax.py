"""Names of the AT Protocol: DIDs, handles, at-uris and TIDs, checked and taken apart. Pure."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

from msgspec import Struct

POST = "app.bsky.feed.post"
REPOST = "app.bsky.feed.repost"
FOLLOW = "app.bsky.graph.follow"
LIST = "app.bsky.graph.list"
PROFILE = "app.bsky.actor.profile"

_is_usual_did = re.compile(r"did:plc:[a-z2-7]{24}", re.ASCII).fullmatch
_DID = re.compile(r"did:[a-z]+:[a-zA-Z0-9._:%-]*[a-zA-Z0-9._-]", re.ASCII)
_HANDLE = re.compile(r"([a-zA-Z0-9]([a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?\.)+[a-zA-Z]([a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?", re.ASCII)
_NSID = re.compile(
    r"[a-zA-Z]([a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?(\.[a-zA-Z0-9]([a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?)+\.[a-zA-Z][a-zA-Z0-9]{0,62}",
    re.ASCII,
)
_RECORD_KEY = re.compile(r"[a-zA-Z0-9_~.:-]{1,512}", re.ASCII)
_USUAL_URI = re.compile(r"at://(did:plc:[a-z2-7]{24})/(app\.bsky\.[a-z]{1,30}\.[a-z]{1,30})/([a-zA-Z0-9]{1,40})", re.ASCII)
_TID = re.compile(r"[234567abcdefghij][234567abcdefghijklmnopqrstuvwxyz]{12}", re.ASCII)

_DIGITS = "234567abcdefghijklmnopqrstuvwxyz"
_VALUES = {digit: value for value, digit in enumerate(_DIGITS)}
_CLOCK_BITS = 10
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_LONGEST_DID, _LONGEST_HANDLE, _LONGEST_NSID, _LONGEST_URI, _LONGEST_KEY = 2048, 253, 317, 8192, 512


class AtUri(Struct, frozen=True, gc=False):
    """`at://authority/collection/rkey`; the latter two may be empty."""

    authority: str
    collection: str = ""
    rkey: str = ""

    def __str__(self) -> str:
        if self.collection and self.rkey:
            return f"at://{self.authority}/{self.collection}/{self.rkey}"
        return "at://" + "/".join(filter(None, (self.authority, self.collection, self.rkey)))


def is_did(text: str) -> bool:
    if _is_usual_did(text):
        # Nearly all of them, and a third of the time.
        return True
    return len(text) <= _LONGEST_DID and _DID.fullmatch(text) is not None


def is_handle(text: str) -> bool:
    return len(text) <= _LONGEST_HANDLE and _HANDLE.fullmatch(text) is not None


def is_nsid(text: str) -> bool:
    return len(text) <= _LONGEST_NSID and _NSID.fullmatch(text) is not None


def is_record_key(text: str) -> bool:
    if text.isalnum() and text.isascii():
        # Nearly all of them, and a third of the time.
        return len(text) <= _LONGEST_KEY
    return text not in (".", "..") and _RECORD_KEY.fullmatch(text) is not None


def is_tid(text: str) -> bool:
    return _TID.fullmatch(text) is not None


def at_uri(text: str) -> AtUri | None:
    """The parts of an at-uri; None for anything else."""
    if usual := _USUAL_URI.fullmatch(text):
        return AtUri(*usual.groups())
    if not text.startswith("at://") or len(text) > _LONGEST_URI:
        return None
    parts = text[5:].split("/")
    if len(parts) > 3 or not (is_did(parts[0]) or is_handle(parts[0])):
        return None
    if (len(parts) > 1 and not is_nsid(parts[1])) or (len(parts) > 2 and not is_record_key(parts[2])):
        return None
    return AtUri(*parts)


def record_uri(uri: AtUri) -> str:
    """The uri of a record, whose parts are all there: in half the time of `str`."""
    return f"at://{uri.authority}/{uri.collection}/{uri.rkey}"


def tid_time(text: str) -> datetime | None:
    """When a TID was made, by the clock of who made it; None for other record keys."""
    if not is_tid(text):
        return None
    number = 0
    for digit in text:
        number = number << 5 | _VALUES[digit]
    try:
        return _EPOCH + timedelta(microseconds=number >> _CLOCK_BITS)
    except OverflowError:
        return None
