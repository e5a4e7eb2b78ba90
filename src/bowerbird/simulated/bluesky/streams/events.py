"""What the network tells of the world's happenings: commits, identities, accounts and resets, numbered for ever."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta

from msgspec import Struct

from bowerbird.simulated.bluesky.ids import FOLLOW, LIKED, POST, PROFILE, REPOSTED, tid
from bowerbird.simulated.bluesky.payloads import Payloads
from bowerbird.simulated.bluesky.records import Written, follow_key, like_key, written
from bowerbird.simulated.feeds import Tape
from bowerbird.simulated.world import Happening, Kind
from bowerbird.simulated.world.posts.rows import REPOST, Row
from bowerbird.simulated.world.settings import to_ms

_PER_MS = 4096
"""Numbers kept free for one millisecond: four for each of its happenings."""
_PARTS = 4


class Event(Struct, frozen=True, kw_only=True, gc=False):
    """One message of the network, before a wire spells it. Its numbers are the same on every connection."""

    seq: int
    micros: int
    """When the network saw it, in microseconds: as unique as the number."""
    ms: int
    did: str
    kind: str
    """`commit`, `identity`, `account` or `sync`."""
    rev: str = ""
    operation: str = ""
    collection: str = ""
    rkey: str = ""
    written: Written | None = None
    handle: str = ""
    status: str | None = None
    """Why an account is not active."""


class Commit(Struct, frozen=True, gc=False):
    """One change of one record."""

    operation: str
    collection: str
    rkey: str
    written: Written | None = None


class Events:
    """Spells happenings as events."""

    def __init__(self, payloads: Payloads) -> None:
        self.world = payloads.world
        self._write = payloads
        self._records = payloads.records
        self._ids = payloads.ids

    def of(self, happening: Happening) -> Iterator[Event]:
        """The events of one happening, in order; none for what this network does not know."""
        for part, told in enumerate(self._told(happening)):
            low = min(happening.place * _PARTS + part, _PER_MS - 1)
            yield self._event(happening, low, told)

    def seq_at(self, micros: int) -> int:
        """The first number at or after a time."""
        return max((micros // 1000 - self.world.warm_ms) * _PER_MS + micros % 1000, 0)

    def ms_of(self, seq: int) -> int:
        return seq // _PER_MS + self.world.warm_ms

    def newest(self, now: datetime) -> int:
        """No number above this one has been given out yet."""
        return (to_ms(self.world.settings.moment(now)) + 1 - self.world.warm_ms) * _PER_MS - 1

    def floor(self, now: datetime, window: timedelta) -> int:
        """The first number that a service still has which keeps events for so long, in the world's time."""
        oldest = to_ms(self.world.settings.moment(now) - window)
        return max((oldest - self.world.warm_ms) * _PER_MS, 1)

    def _event(self, happening: Happening, low: int, told: Commit | str | tuple[str | None]) -> Event:
        ms, did = happening.ms, self._ids.did(happening.account)
        seq, micros = (ms - self.world.warm_ms) * _PER_MS + low, ms * 1000 + min(low, 999)
        rev = tid(ms, happening.account)
        if isinstance(told, Commit):
            return Event(
                seq=seq, micros=micros, ms=ms, did=did, kind="commit", rev=rev, operation=told.operation,
                collection=told.collection, rkey=told.rkey, written=told.written,
            )  # fmt: skip
        if isinstance(told, tuple):
            return Event(seq=seq, micros=micros, ms=ms, did=did, kind="account", status=told[0])
        if told == "sync":
            return Event(seq=seq, micros=micros, ms=ms, did=did, kind="sync", rev=rev)
        return Event(seq=seq, micros=micros, ms=ms, did=did, kind="identity", handle=told)

    def _told(self, happening: Happening) -> Iterator[Commit | str | tuple[str | None]]:
        """Commits, handles, states of the account (in a tuple) and `sync`."""
        account, ms = happening.account, happening.ms
        match happening.kind:
            case Kind.WRITTEN | Kind.DELETED:
                yield from self._post(happening)
            case Kind.LIKED:
                like = written(self._records.like(happening.number, ms))
                yield Commit("create", LIKED, like_key(happening.number, ms), like)
            case Kind.FOLLOWED | Kind.UNFOLLOWED:
                yield self._follow(happening)
            case Kind.PROFILE:
                yield self._profile(account, ms, "update")
                if self._ids.handle(account, ms) != self._ids.handle(account, ms - 1):
                    yield self._ids.handle(account, ms)
            case Kind.PROTECTED | Kind.UNPROTECTED:
                yield self._profile(account, ms, "update")
            case Kind.JOINED:
                yield self._ids.handle(account, ms)
                yield (None,)
                yield self._profile(account, ms, "create")
            case Kind.RETURNED:
                yield (None,)
                yield self._ids.handle(account, ms)
                yield "sync"
            case Kind.SUSPENDED | Kind.LEFT:
                yield (self._write.status(account, ms),)

    def _post(self, happening: Happening) -> Iterator[Commit]:
        row = self.world.row(happening.number, happening.ms)
        if row is None:
            return
        collection, rkey = REPOSTED if row.kind == REPOST else POST, self._ids.rkey(row.number)
        is_new = happening.kind is Kind.WRITTEN
        yield Commit("create", collection, rkey, self._record(row)) if is_new else Commit("delete", collection, rkey)

    def _record(self, row: Row) -> Written:
        return written(self._records.repost(row.target, row.ms)) if row.kind == REPOST else self._records.written(row)

    def _follow(self, happening: Happening) -> Commit:
        since = int(self.world.graph.since[happening.number])
        rkey = follow_key(happening.number, since)
        if happening.kind is Kind.UNFOLLOWED:
            return Commit("delete", FOLLOW, rkey)
        return Commit("create", FOLLOW, rkey, written(self._records.follow(happening.other, since)))

    def _profile(self, account: int, ms: int, operation: str) -> Commit:
        return Commit(operation, PROFILE, "self", written(self._records.profile(account, ms)))


class Reel:
    """The events of one connection from a number on; it notices when the reader falls behind."""

    def __init__(self, events: Events, start: int, buffer: int) -> None:
        """`start` is the first number wanted; `buffer` how many happenings a reader may be late by."""
        self._events = events
        self._start = start
        self._tape = Tape(events.world, events.ms_of(start) - 1)
        self._buffer = int(buffer * max(1.0, events.world.settings.pace))
        self._is_live = False
        self.is_behind = False

    def read(self, now: datetime) -> list[Event]:
        happenings = self._tape.read(now, self._buffer + 1 if self._is_live else 1_000)
        # Catching up takes as long as it takes: only a live reader can be too slow.
        self.is_behind = self._is_live and len(happenings) > self._buffer
        self._is_live = self._tape.is_live(now)
        return [event for happening in happenings for event in self._events.of(happening) if event.seq >= self._start]

    def again_at(self, now: datetime) -> datetime:
        return self._tape.again_at(now)
