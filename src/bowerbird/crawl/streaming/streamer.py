"""Holds one live connection after the other, and loses nothing between them that the network can give back."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from msgspec import structs

from bowerbird.crawl.streaming.batches import BatchWriter, HeardBatch
from bowerbird.crawl.streaming.buffer import MOST_MESSAGES, SILENT, Buffer, OpenLine
from bowerbird.crawl.streaming.connecting import Connector, Line, Refusal
from bowerbird.crawl.streaming.filling import Filler
from bowerbird.crawl.streaming.gaps import Cause
from bowerbird.crawl.streaming.hearing import Hearing
from bowerbird.crawl.streaming.retuning import BOTH_LINES, SAME_LINE, Retuner
from bowerbird.crawl.streaming.stream import Stream
from bowerbird.crawl.streaming.stream_calls import StreamLog
from bowerbird.crawl.streaming.waits import PAUSED, REFUSED, RETUNED, STOPPED, Pause, Trouble, Waits, parting, trouble_of
from bowerbird.errors import Failure, Fenced
from bowerbird.model import Call, Ended, Heard, NoticeKind, Outcome, Reason, StreamState, Subscription
from bowerbird.model.wording import told
from bowerbird.ports import Part
from bowerbird.providers.base import StreamReader

BEAT = timedelta(seconds=20)
"""How often the hold on the stream is renewed when nothing else is written."""
STEADY = timedelta(minutes=1)
"""A connection that lived so long was a good one, even if nothing was said."""
TOO_BIG = 1009
"""The WebSocket's close code for a message beyond the bound."""
_ABOUT_KEYS = frozenset({Outcome.BAD_TOKEN, Outcome.FORBIDDEN_SCOPE})
"""Refusals of whom it is opened as: another may be let in."""
_ABOUT_US = frozenset({Outcome.BAD_TOKEN, Outcome.FORBIDDEN_SCOPE, Outcome.NOT_OFFERED})
"""Refusals of whoever asks, or of the stream as such: no other wording of the subscription would help."""
OVERLAP = timedelta(seconds=5)
"""How long two connections are heard, and posts of old rules are taken: what was sent before a change is there by then."""
NEVER = datetime.max.replace(tzinfo=UTC)

RESTARTED = "the service has never come as far as our cursor: heard again from the oldest it has"


class Streamer:
    """Listens to one stream until it is ended. All state is in the database: any worker may go on where this one stops."""

    def __init__(self, hearing: Hearing, stream: Stream) -> None:
        books = hearing.books
        fills = next((lane for lane in hearing.lanes_of(stream) if lane.facet.name == stream.channel.fills), None)
        filler = Filler(books.database, hearing.targets, stream, fills)
        self._ledgers = books.ledgers
        self._signer = hearing.signer
        self._clock = books.clock
        self._stream = stream
        self._tally = hearing.tally
        self._dialler = Connector(hearing.transport, hearing.signer, books.clock, stream)
        self._stream_log = StreamLog(books, stream, filler, hearing.tally)
        self._writer = BatchWriter(hearing, stream, self._stream_log)
        self._waits = Waits(stream.channel)
        self._retuner = Retuner(stream, self._dialler, self._stream_log, books.clock)
        self._successor: tuple[Call, Line, OpenLine] | None = None
        self._turns_at = NEVER
        """When a change that is under way ends: nothing of what was heard before can come any more."""
        self._rules: Sequence[str] = ()
        self._is_asked = False
        """A change was asked for, here."""
        self._buffer: Buffer | None = None
        self._ending = asyncio.Event()
        self._resumed = asyncio.Event()
        self._resumed.set()
        self._alive_at = books.clock.now()
        self._has_connected = False
        self._refusal = ""
        self._is_refused = False

    def part(self) -> Part:
        return Part(
            name=f"{self._stream.service.name}/{self._stream.name}",
            run=self.run,
            end=self.end,
            pause=self.pause,
            is_alive_since=self.is_alive_since,
            failure=self.failure,
            listens=self.listens,
            is_refused=self.is_refused,
        )

    def failure(self) -> Failure | None:
        """Why no connection ever was open, if one was tried."""
        if self._has_connected or not self._refusal:
            return None
        return Failure("stream_refused", f"{self._stream.name} never connected: {self._refusal}")

    def is_refused(self) -> bool:
        """Whether the service refuses to open it in a way that only a human can change, and never opened it."""
        return self._is_refused and not self._has_connected

    def listens(self) -> bool:
        """Whether it may still bring anything."""
        return not self.is_refused()

    def end(self) -> None:
        """Asks for an orderly end: what was received is saved first."""
        self._ending.set()
        self._resumed.set()
        if self._buffer is not None:
            self._buffer.end(STOPPED)

    def pause(self, is_paused: bool) -> None:
        """Ends the connection in order and opens no other, or goes on; what a pause misses is a gap like any other."""
        if not is_paused:
            self._resumed.set()
        elif self._resumed.is_set():
            self._resumed.clear()
            if self._buffer is not None:
                self._buffer.end(PAUSED)

    def is_alive_since(self) -> datetime:
        """When the streamer last did anything, if only to renew its hold."""
        return self._alive_at

    async def run(self) -> None:
        """Listens until ended. A stream that another worker holds is waited for; one that is taken from us is let go."""
        while not self._ending.is_set():
            try:
                await self._stream_log.abandon("the streamer broke down and began again")
                if await self._take():
                    await self._listen()
            except Fenced as fenced:
                self._tally.fenced += 1
                self._tally.blocked(str(fenced), self._clock.now())
                await self._stream_log.abandon(str(fenced))

    async def _take(self) -> bool:
        """Whether the stream is ours; if not, the time to try again has been waited for."""
        held_until = await self._stream_log.take()
        if held_until is None:
            return True
        now = self._alive_at = self._clock.now()
        # Not only then: its worker may die or let go before.
        await self._clock.wait(self._ending, min(max(held_until, now + timedelta(seconds=1)), now + BEAT))
        return False

    async def _listen(self) -> None:
        """One connection after the other, each with its call, as long as the stream is ours."""
        cause = Cause.START
        while await self._begin_call():
            await self._retuner.adopt()
            line = await self._dialler.dial(self._stream_log.position.cursor)
            if isinstance(line, Refusal):
                trouble = await self._refused(line)
                cause = cause if cause is Cause.START else Cause.OUTAGE
            else:
                trouble, cause = await self._converse(line, cause)
            if not self._ending.is_set() and not trouble.is_wanted:
                pause = await self._pause(trouble)
                self._is_refused = pause.state == REFUSED and trouble.outcome in _ABOUT_US
                await self._rest(pause)
        await self._stream_log.release()

    async def _begin_call(self) -> bool:
        """Whether a call was begun; if its limits say later, that is waited for. False when the end has come."""
        while not self._ending.is_set():
            await self._while_paused()
            if self._ending.is_set():
                break
            allowed_at = await self._stream_log.begin_call()
            if allowed_at is None:
                return True
            await self._rest(Pause(allowed_at - self._clock.now(), StreamState.WAITING, self._held_back()))
        return False

    def _held_back(self) -> str:
        now, money = self._clock.now(), [charge for charge in self._stream.charges if charge.limit.is_money]
        return "the limit on connections" if self._ledgers.available_at(money, now) <= now else "the dollars allowed are spent"

    async def _while_paused(self) -> None:
        while not self._resumed.is_set():
            now = self._alive_at = self._clock.now()
            await self._stream_log.keep(StreamState.PAUSED)
            await self._clock.wait(self._resumed, now + BEAT)

    async def _rest(self, pause: Pause) -> None:
        """Waits, and keeps the hold on the stream meanwhile."""
        until = self._clock.now() + pause.wait
        while (now := self._clock.now()) < until and not self._ending.is_set():
            self._alive_at = now
            await self._stream_log.keep(pause.state, pause.words)
            await self._clock.wait(self._ending, min(until, now + BEAT))

    async def _refused(self, refusal: Refusal) -> Trouble:
        await self._stream_log.refused(refusal)
        page = refusal.page
        self._refusal = told(page.outcome, page.detail)
        return Trouble(outcome=page.outcome, words=self._refusal, retry_after=page.retry_after)

    async def _pause(self, trouble: Trouble) -> Pause:
        credential = self._stream.credential
        if credential is None or trouble.outcome not in _ABOUT_KEYS:
            return self._waits.after(trouble)
        if trouble.outcome is Outcome.BAD_TOKEN and self._signer.may_have_expired(credential, self._stream.provider):
            self._signer.renew(credential)
            return Pause(timedelta(0), StreamState.WAITING, trouble.words)
        # Where only this stream is refused to it, the rest of the service may take it well.
        if trouble.outcome is Outcome.BAD_TOKEN:
            await self._stream_log.refuse(credential, trouble.words)
        return Pause(timedelta(0), StreamState.WAITING, trouble.words) if self._stream.keys.turn() else self._waits.after(trouble)

    async def _converse(self, line: Line, cause: Cause) -> tuple[Trouble, Cause]:
        """Saves what a connection says, and those that follow it without a break, until the last ends; answers why, and what the
        gap is called that this leaves."""
        listener = self._listener(line)
        opened = self._opened(line)
        try:
            trouble, cause = await self._hear_out(opened, line, listener, cause)
            while (after := self._successor) is not None:
                (_, line, opened), self._successor = after, None
                self._stream_log.take_over(after[0])
                joins = trouble.words == RETUNED.reason
                trouble, cause = await self._hear_out(opened, line, listener, None if joins else Cause.RETUNE)
        finally:
            if self._successor is not None:
                await self._successor[2].close()
                self._successor = None
        return trouble, cause

    def _opened(self, line: Line) -> OpenLine:
        buffer = Buffer(self._clock, self._most_unsaved())
        return OpenLine(line.connection, buffer, self._stream.channel.silence, self._clock)

    async def _hear_out(self, opened: OpenLine, line: Line, listener: StreamReader, cause: Cause | None) -> tuple[Trouble, Cause]:
        began_at, began_from = self._clock.now(), self._stream_log.position.cursor
        self._has_connected, self._turns_at, self._rules = True, NEVER, line.opening.rules
        buffer = self._buffer = opened.buffer
        try:
            if self._ending.is_set():
                buffer.end(STOPPED)
            elif not self._resumed.is_set():
                buffer.end(PAUSED)
            await self._stream_log.connected(line.answer, cause)
            trouble = await self._write_down(opened, listener)
            opened.check()
        finally:
            self._buffer = None
            await opened.close()
        if self._clock.now() - began_at >= STEADY:
            self._waits.succeeded()
        if self._is_blocked(buffer, began_from):
            trouble = Trouble(outcome=Outcome.BAD_REQUEST, words=self._overlong(), was_open=True, is_final=True)
        await self._stream_log.hung_up(trouble, buffer.alive_at)
        if trouble.words == RESTARTED:
            await self._stream_log.restart()
        causes = {SILENT: Cause.SILENCE, PAUSED: Cause.PAUSE, RETUNED: Cause.RETUNE}
        return trouble, causes.get(buffer.ended, Cause.CUT) if buffer.ended is not None else Cause.CUT

    def _is_blocked(self, buffer: Buffer, began_from: str | None) -> bool:
        """Whether a message too large to be taken stands right behind the cursor: every further try would end there again."""
        is_overlong = buffer.ended is not None and buffer.ended.status == TOO_BIG
        return is_overlong and began_from is not None and self._stream_log.position.cursor == began_from

    def _overlong(self) -> str:
        left_out = (
            "leave such messages out with max_message_size, or " if "max_message_size" in self._stream.channel.options else ""
        )
        return (
            "the next message is larger than a stream may send. The cursor is kept; to hear on, "
            f"{left_out}give the stream another name in the crawl file, which starts it anew"
        )

    def _listener(self, line: Line) -> StreamReader:
        stream = self._stream
        return stream.provider.listener(stream.wanted, line.opening, stream.service, self._stream_log.position.cursor)

    async def _write_down(self, opened: OpenLine, listener: StreamReader) -> Trouble:
        """Saves batch after batch until the connection has ended and nothing is left of it."""
        trouble: Trouble | None = None
        buffer, has_begun, beat_at = opened.buffer, False, self._clock.now() + BEAT
        while True:
            batch = await buffer.take(self._writer.at_once, self._clock.now() if self._is_asked else min(beat_at, self._turns_at))
            if buffer.ended is not None and self._stream_log.held:
                # Before anything is saved: what still comes meanwhile would cost.
                await opened.hang_up()
            if batch is not None:
                said = HeardBatch(self._stream, listener, batch)
                has_begun = has_begun or said.begin()
                # Its messages are let go of as they are understood.
                batch = None
                await self._writer.save(said)
                trouble = trouble or self._judged(said.heard, buffer)
            elif buffer.ended is not None and not len(buffer):
                # Who opened another connection expects that the service may end this one.
                ended = trouble or trouble_of(buffer.ended)
                return ended if self._successor is None else structs.replace(ended, is_wanted=True)
            now = self._alive_at = self._clock.now()
            if now >= beat_at or self._is_asked:
                beat_at, self._is_asked = now + BEAT, False
                await self._stream_log.keep(StreamState.LIVE, alive_at=None if len(buffer) else buffer.alive_at)
            if buffer.ended is None:
                await self._retuned(opened, listener, now)

    @property
    def wanted(self) -> Subscription:
        """What the stream hears now."""
        return self._stream.wanted

    async def retune(self, wanted: Subscription, reason: Reason) -> bool:
        """Implements `ports.Retunable`; another worker that has the stream learns of it with what it writes next."""
        is_new = await self._retuner.ask(wanted, reason)
        self._is_asked = self._is_asked or is_new
        if is_new and self._buffer is not None:
            self._buffer.stir()
        return is_new

    async def _retuned(self, opened: OpenLine, listener: StreamReader, now: datetime) -> None:
        """Makes a change that is asked for, and ends one that is under way."""
        if now >= self._turns_at:
            self._turns_at = NEVER
            if self._successor is not None:
                opened.buffer.end(RETUNED)
                return
            listener.retune(self._stream.wanted, self._rules)
        if self._turns_at != NEVER or (after := self._retuner.wanted()) is None:
            return
        tuned = self._stream_log.position.tuned
        if self._stream.provider.retune(self._stream.wanted, after, ()) is not None:
            await self._change(opened, listener, after, tuned)
        elif self._stream.channel.has_cursor:
            # The next connection goes on where this one ends.
            opened.buffer.end(RETUNED)
        elif (successor := await self._retuner.succeed(after)) is not None:
            self._successor = (successor.lease, successor.line, self._opened(successor.line))
            self._turns_at = self._clock.now() + OVERLAP
            listener.retune(after, successor.line.opening.rules)
            await self._retuner.took_effect(tuned, BOTH_LINES)

    async def _change(self, opened: OpenLine, listener: StreamReader, after: Subscription, tuned: str | None) -> None:
        """Over the open connection. What the old rules matched may still be on its way."""
        changed = await self._retuner.change(after)
        if changed is None:
            return
        for message in changed.messages:
            await opened.send(message)
        self._stream.tuning.wanted = after
        listener.retune(after, (*self._rules, *changed.rules))
        self._rules = changed.rules
        if changed.rules:
            self._turns_at = self._clock.now() + OVERLAP
        await self._retuner.took_effect(tuned, SAME_LINE)

    def _judged(self, heard: list[Heard], buffer: Buffer) -> Trouble | None:
        """Whether the service takes its leave; what it still says after that is saved too."""
        trouble = self._restarting(heard) or parting(heard) or self._spent()
        if trouble is not None:
            buffer.end(Ended(trouble.words))
        elif any(each.events for each in heard):
            self._waits.succeeded()
        return trouble

    def _restarting(self, heard: list[Heard]) -> Trouble | None:
        """Whether our cursor lies ahead of a service that can give its oldest instead: all it has is then heard again."""
        is_ahead = any(notice.kind is NoticeKind.FUTURE for each in heard for notice in each.notices)
        if not is_ahead or not self._stream.channel.restart or self._stream_log.position.cursor == self._stream.channel.restart:
            return None
        return Trouble(outcome=Outcome.OK, words=RESTARTED, was_open=True)

    def _spent(self) -> Trouble | None:
        """Whether the reserve is half used and cannot be filled up: the other half is for what is on its way already."""
        full = {charge.bucket: charge.amount for charge in self._stream.charges}
        if all(charge.amount * 2 > full[charge.bucket] for charge in self._stream_log.held):
            return None
        return Trouble(outcome=Outcome.OK, words="what the stream may cost is used up", was_open=True)

    def _most_unsaved(self) -> int:
        """How many messages may be received before they are booked: where each costs, a part of what is reserved for them."""
        reserves = [charge.amount // charge.limit.per_result for charge in self._stream_log.held if charge.limit.per_result]
        return min([MOST_MESSAGES, *(max(1, reserve // 4) for reserve in reserves)])
