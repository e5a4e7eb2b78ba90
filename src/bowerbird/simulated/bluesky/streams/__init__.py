"""Bluesky's streams: who may connect to which, and from where it begins."""

from __future__ import annotations

from datetime import datetime

from bowerbird.model import Request
from bowerbird.simulated.bluesky.call import Call, error, invalid, refuse
from bowerbird.simulated.bluesky.payloads import Payloads
from bowerbird.simulated.bluesky.streams.compression import Packing
from bowerbird.simulated.bluesky.streams.events import Events
from bowerbird.simulated.bluesky.streams.filters import Filter, InvalidError, read_filter
from bowerbird.simulated.bluesky.streams.firehose import WINDOW as FIREHOSE_WINDOW
from bowerbird.simulated.bluesky.streams.firehose import ClosingFeed, FirehoseFeed
from bowerbird.simulated.bluesky.streams.jetstream import FIRST_TIME, WINDOW, JetstreamFeed, JetstreamV2Feed
from bowerbird.simulated.bluesky.streams.spelling import error as error_frame
from bowerbird.simulated.bluesky.streams.spelling import notice, notice_v2
from bowerbird.simulated.feeds import Feed
from bowerbird.simulated.wire import Params, RefusedError, Reply

_V1, _V2 = "/subscribe", "/xrpc/network.bsky.jetstream.subscribeEvents"
_FIREHOSE = "/xrpc/com.atproto.sync.subscribeRepos"
_KINDS = ("commit", "identity", "account", "sync")
_OUTDATED = "Requested cursor exceeded limit. Possibly missing events"


class Streams:
    """Opens connections; `oversized` is the share of commits that the firehose only announces."""

    def __init__(self, payloads: Payloads, oversized: float = 0.0) -> None:
        self._events = Events(payloads)
        self._packing = Packing(self._events)
        self._oversized = oversized

    def open(self, request: Request, now: datetime) -> Feed | Reply | None:
        """A connection, the refusal, or None when this is no address of a stream."""
        doors = {_V1: self._jetstream, _V2: self._jetstream_v2, _FIREHOSE: self._firehose}
        door = doors.get(request.path)
        if door is None:
            return None
        if request.method != "GET":
            return error(405, "InvalidRequest", f"Incorrect HTTP method ({request.method}) expected GET")
        if request.headers.get("upgrade", "").lower() != "websocket":
            return error(426, "InvalidRequest", "Upgrade Required")
        try:
            return door(request, now)
        except RefusedError as refused:
            return refused.reply
        except InvalidError as problem:
            return _plain(str(problem)) if request.path == _V1 else error(400, "InvalidRequest", str(problem))

    def dictionary(self, call: Call) -> Reply:
        """The handler of `network.bsky.jetstream.getZstdDictionary`."""
        wanted = call.params.get("id")
        if wanted and wanted != str(self._packing.id):
            raise refuse(400, "UnknownZstdDictionary", f"unknown dictionary; the current id is {self._packing.id}")
        headers = {"content-type": "application/octet-stream", "x-zstd-dictionary-id": str(self._packing.id)}
        return Reply(200, self._packing.dictionary, {**headers, "cache-control": "public, immutable"})

    def _jetstream(self, request: Request, now: datetime) -> Feed:
        params = Params(request)
        is_packed = params.get("compress") == "true" or "zstd" in request.headers.get("socket-encoding", "")
        if is_packed and "permessage-deflate" in request.headers.get("sec-websocket-extensions", ""):
            raise InvalidError("zstd and permessage-deflate cannot be used together")
        largest = max(params.integer("maxMessageSizeBytes", 0), 0)
        wanted = read_filter(params.all("wantedCollections"), params.all("wantedDids"), largest)
        cursor = _cursor(params)
        newest, start = self._events.newest(now), None if cursor is None else self._number(cursor)
        start = newest + 1 if start is None or start > newest else max(start, self._events.floor(now, WINDOW))
        feed = JetstreamFeed(self._events, wanted, start, self._packing if is_packed else None)
        feed.waits = params.get("requireHello") == "true"
        return feed

    def _jetstream_v2(self, request: Request, now: datetime) -> Feed:
        params = Params(request)
        wanted = self._wishes_v2(params)
        packing = self._chosen_packing(params)
        cursor = _cursor(params)
        newest, floor = self._events.newest(now), self._events.floor(now, WINDOW)
        start, said = newest + 1, b""
        if cursor is not None and cursor >= FIRST_TIME:
            start = self._number(cursor)
            if start < floor:
                start, said = floor, notice_v2("OutdatedCursor", f"cursor is below the floor; resumed from seq {floor}")
        elif cursor is not None and cursor > newest + 1:
            said = notice_v2("FutureCursor", "cursor is beyond the live tip")
        elif cursor is not None:
            if cursor < floor:
                raise refuse(400, "CursorTooOld", f"cursor {cursor} is below the retention floor {floor}")
            start = cursor
        return JetstreamV2Feed(self._events, wanted, min(start, newest + 1), packing, said)

    def _wishes_v2(self, params: Params) -> Filter:
        for name in ("wantedCollections", "wantedDids"):
            if params.has(name):
                raise invalid(f"unknown parameter {name}")
        kinds, collections = params.all("kinds"), params.all("collections")
        for kind in kinds:
            if kind not in _KINDS:
                raise invalid(f"unknown kind {kind}")
        if collections and kinds and "commit" not in kinds:
            raise invalid("collections cannot be used without the kind commit")
        return read_filter(collections, params.all("dids"), max(params.integer("maxMessageSizeBytes", 0), 0), kinds)

    def _chosen_packing(self, params: Params) -> Packing | None:
        wanted = params.get("zstdDictionary")
        if wanted and wanted != str(self._packing.id):
            raise refuse(400, "UnknownZstdDictionary", f"unknown dictionary; the current id is {self._packing.id}")
        return self._packing if wanted else None

    def _firehose(self, request: Request, now: datetime) -> Feed:
        cursor = _cursor(Params(request))
        newest, floor = self._events.newest(now), self._events.floor(now, FIREHOSE_WINDOW)
        if cursor is None:
            return FirehoseFeed(self._events, newest + 1, self._oversized)
        if cursor > newest:
            return ClosingFeed(error_frame("FutureCursor", "Cursor in the future."), "FutureCursor")
        # Like the reference server: what comes after the cursor, where the specification has it included.
        if cursor + 1 >= floor or cursor == 0 or not self._is_missed(cursor, floor):
            return FirehoseFeed(self._events, max(cursor + 1, floor), self._oversized)
        return FirehoseFeed(self._events, floor, self._oversized, notice("OutdatedCursor", _OUTDATED))

    def _is_missed(self, cursor: int, floor: int) -> bool:
        """Something happened between the cursor and what is still there."""
        after, until = self._events.ms_of(cursor), self._events.ms_of(floor) - 1
        return self._events.world.next_happening(after, until) is not None

    def _number(self, cursor: int) -> int:
        return self._events.seq_at(cursor) if cursor >= FIRST_TIME else cursor


def _cursor(params: Params) -> int | None:
    text = params.get("cursor")
    if not text:
        return None
    if not text.isdecimal() or int(text) > 1 << 63:
        raise InvalidError(f"invalid cursor: {text[:40]}")
    return int(text)


def _plain(text: str) -> Reply:
    return Reply(400, text.encode(), {"content-type": "text/plain; charset=utf-8"})
