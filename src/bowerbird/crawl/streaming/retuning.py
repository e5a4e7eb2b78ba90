"""What a stream hears is changed while it is heard: asked for in the database by any worker, made by the one that has the stream.

Where the network can change an open connection, that one goes on. Where it has a cursor, another connection goes on from there.
Elsewhere another connection is opened while the old one is still heard, and both are heard for a moment.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta

import msgspec
from msgspec import Struct, structs

from bowerbird.clock import to_micros
from bowerbird.crawl.streaming.connecting import Connector, Line, Refusal
from bowerbird.crawl.streaming.stream import Stream
from bowerbird.crawl.streaming.stream_calls import StreamLog
from bowerbird.errors import UserError
from bowerbird.model import Call, Outcome, Reason, Retuned, StreamState, Subscription
from bowerbird.ports import Clock, Transaction

SAME_LINE, OTHER_LINE, BOTH_LINES = "the same connection", "another connection", "another connection, both heard for a moment"
_AGAIN = timedelta(minutes=1)
"""When a change is tried again that the service could not make just now."""
_LIMITED = frozenset({Outcome.RATE_LIMITED, Outcome.SECOND_LIMIT})
_LATEST = "select coalesce(tuned, options) as options from streams where stream = ?"
_TUNE = "update streams set tuned = ? where stream = ?"
_RECORD = """
insert into changes (at, worker, who, why, kind, stream, before, after) values (?, ?, ?, ?, ?, ?, ?, ?)
"""
_EFFECTIVE = """
update changes set effective_at = ?, manner = ? where stream = ? and kind = 'retuned' and effective_at is null and manner is null
"""
_REFUSED = """
update changes set manner = 'refused' where stream = ? and kind = 'retuned' and effective_at is null and manner is null
"""


class Successor(Struct, frozen=True):
    """A connection that is to take the place of the one that is heard."""

    lease: Call
    line: Line


class Retuner:
    """Changes what one stream hears."""

    def __init__(self, stream: Stream, dialler: Connector, stream_log: StreamLog, clock: Clock) -> None:
        self._stream = stream
        self._dialler = dialler
        self._stream_log = stream_log
        self._clock = clock
        self._written = stream.wanted
        """As the crawl file says."""
        self._tuned: str | None = None
        """What the stream hears by now, as the database has it; None: as it is written."""
        self._not_before = clock.now()

    async def ask(self, wanted: Subscription, reason: Reason) -> bool:
        """Writes down what the stream is to hear, and why; False when that is known already."""
        if wanted.channel != self._stream.wanted.channel:
            raise UserError(
                f"stream {self._stream.name} hears {self._stream.wanted.channel} and cannot change to {wanted.channel} while it "
                "runs",
                "give the crawl file another stream",
                code="unsupported",
            )
        options = self._stream.provider.subscription(wanted.channel, wanted.options).options
        return await self._stream_log.write(lambda tx, now: self._ask(tx, options, reason, now))

    async def _ask(self, tx: Transaction, options: Mapping[str, tuple[str, ...]], reason: Reason, now: datetime) -> bool:
        (row,) = await tx.fetch(_LATEST, self._stream.stream)
        before, after = row["options"], msgspec.json.encode(options).decode()
        if before == after:
            return False
        await tx.execute(_TUNE, after, self._stream.stream)
        await self._record(tx, reason, "retuned", (before, after), now)
        return True

    async def _record(self, tx: Transaction, reason: Reason, kind: str, options: tuple[str, str], now: datetime) -> None:
        me = self._stream.me()
        await tx.execute(_RECORD, to_micros(now), me, reason.who, reason.why[:500], kind, self._stream.stream, *options)

    def wanted(self) -> Subscription | None:
        """What the stream is to hear from now on; None where it hears that already, or a change must wait."""
        if self._stream_log.position.tuned == self._tuned or self._clock.now() < self._not_before:
            return None
        return self._read(self._stream_log.position.tuned)

    def _read(self, tuned: str | None) -> Subscription:
        options = self._written.options if tuned is None else msgspec.json.decode(tuned, type=dict[str, tuple[str, ...]])
        return structs.replace(self._written, options=options)

    async def adopt(self) -> None:
        """Has the next connection hear what the stream is to hear by now."""
        tuned = self._stream_log.position.tuned
        if tuned != self._tuned:
            self._stream.tuning.wanted = self._read(tuned)
            await self.took_effect(tuned, OTHER_LINE)

    async def took_effect(self, tuned: str | None, manner: str) -> None:
        """Writes down since when the stream hears so."""
        self._tuned = tuned
        await self._stream_log.write(lambda tx, now: tx.execute(_EFFECTIVE, to_micros(now), manner, self._stream.stream))

    async def change(self, after: Subscription) -> Retuned | None:
        """Has the service change what the open connection brings; None when it did not."""
        begun = await self._begin(bool(self._stream.changes))
        if isinstance(begun, datetime):
            self._not_before = begun
            return None
        changed, answer = await self._dialler.change(self._stream.wanted, after)
        if begun is not None:
            await self._stream_log.end_second(begun, changed if isinstance(changed, Refusal) else None, answer)
        if isinstance(changed, Refusal):
            await self._refused(changed)
            return None
        return changed

    async def _begin(self, is_asked: bool) -> Call | datetime | None:
        return await self._stream_log.begin_second(self._stream.changes) if is_asked else None

    async def succeed(self, after: Subscription) -> Successor | None:
        """Opens a connection that hears something else beside the one that is open; None when there is none."""
        if len(self._stream.keys.names) > 1:
            # Some services end the older of two connections of one account.
            self._stream.keys.turn()
        begun = await self._stream_log.begin_second(self._stream.charges)
        if isinstance(begun, datetime):
            self._not_before = begun
            return None
        before, self._stream.tuning.wanted = self._stream.wanted, after
        line = await self._dialler.dial(None)
        if isinstance(line, Refusal):
            self._stream.tuning.wanted = before
            await self._stream_log.end_second(begun, line, line.answer)
            await self._refused(line)
            return None
        return Successor(begun, line)

    async def _refused(self, refusal: Refusal) -> None:
        """Tries again later what may go then; else goes on with what the stream heard, and says so."""
        page, now = refusal.page, self._clock.now()
        if page.outcome.is_passing or page.outcome in _LIMITED or page.retry_after is not None:
            self._not_before = now + (page.retry_after or _AGAIN)
            return
        reason = Reason(self._stream.service.name, f"not changed, because the service refuses it: {page.detail}")
        options = [
            msgspec.json.encode(self._read(each).options).decode() for each in (self._stream_log.position.tuned, self._tuned)
        ]

        async def work(tx: Transaction, now: datetime) -> None:
            await tx.execute(_TUNE, self._tuned, self._stream.stream)
            await tx.execute(_REFUSED, self._stream.stream)
            await self._record(tx, reason, "kept", (options[0], options[1]), now)

        await self._stream_log.write(work)
        await self._stream_log.keep(StreamState.LIVE)
