"""The streams of the AT Protocol that can be listened to: data.

None of their hosts publishes how often a connection may be opened; the limit here is ours, so that a connection that cannot
be held never becomes a nuisance.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta

from bowerbird.model import Backoff, Channel, Facet, Limit, Subject, WindowKind, Wire
from bowerbird.providers.bluesky.syntax import FOLLOW, POST, PROFILE, REPOST

JETSTREAM, JETSTREAM_V2, FIREHOSE = "jetstream", "jetstream_v2", "firehose"

MAPPED = (POST, REPOST, FOLLOW, PROFILE)
"""Collections that become items; records of others are heard and passed over."""

_CONNECTIONS = Limit(bucket="{service}/connections", allowance=100, window=timedelta(minutes=5), kind=WindowKind.FIRST_CALL)
_LOST = Backoff(first=timedelta(seconds=1), most=timedelta(minutes=1))
_REFUSED = Backoff(first=timedelta(seconds=5), most=timedelta(minutes=5))
_LIMITED = Backoff(first=timedelta(minutes=1), most=timedelta(minutes=15))

_COLLECTIONS = "record collections to hear, each an NSID or `prefix.*`; posts, reposts, follows and profiles if nothing is said"
_DIDS = "accounts to hear, by DID; all if nothing is said"
_LARGEST = "leave out messages of more bytes than this"
_COMPRESS = "`true`: messages come compressed"
_START = "where the first connection starts: `now`, `oldest`"
_TIMED_START = f"{_START} or a time such as `2026-11-15T00:00:00Z`"
_JETSTREAM_OPTIONS = {"collections": _COLLECTIONS, "dids": _DIDS, "max_message_size": _LARGEST, "start": _TIMED_START}
_DICTIONARY = "the zstd dictionary of compressed messages in base64, where the host does not give it away"
_KINDS = "kinds of event to hear, of `commit`, `identity`, `account`, `sync`; all if nothing is said"

_OPTIONS: Mapping[str, Mapping[str, str]] = {
    JETSTREAM: {**_JETSTREAM_OPTIONS, "compress": _COMPRESS, "dictionary": _DICTIONARY},
    JETSTREAM_V2: {**_JETSTREAM_OPTIONS, "compress": _COMPRESS, "kinds": _KINDS},
    FIREHOSE: {"collections": _COLLECTIONS, "dids": _DIDS, "start": _START},
}
_REACH = {JETSTREAM: timedelta(hours=36), JETSTREAM_V2: timedelta(hours=36), FIREHOSE: timedelta(hours=24)}


def _channel(name: str) -> Channel:
    yields = frozenset({"users", "posts", "relations"})
    return Channel(
        facet=Facet(name=name, subject=Subject.WORD, yields=yields, limits=(_CONNECTIONS,)),
        wire=Wire.WEBSOCKET,
        options=_OPTIONS[name],
        has_cursor=True,
        reach=_REACH[name],
        # Jetstream is asked by time, which all hosts share; every relay and PDS counts for itself.
        is_bound=name == FIREHOSE,
        restart="0" if name == FIREHOSE else "",
        announces="repo",
        lost=_LOST,
        refused=_REFUSED,
        limited=_LIMITED,
    )


CHANNELS: Mapping[str, Channel] = {name: _channel(name) for name in (JETSTREAM, JETSTREAM_V2, FIREHOSE)}
