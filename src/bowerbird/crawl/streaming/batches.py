"""One batch in one transaction: what was heard, what it adds to the frontier, the cursor behind it, and its gaps."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Sequence
from datetime import datetime, timedelta

from msgspec import structs

from bowerbird.crawl.life import registry
from bowerbird.crawl.streaming.buffer import Batch
from bowerbird.crawl.streaming.gaps import Cause, Seam, add_gap, end_gaps, gap_after, note_undelivered
from bowerbird.crawl.streaming.hearing import Hearing
from bowerbird.crawl.streaming.stream import Stream
from bowerbird.crawl.streaming.stream_calls import Batched, StreamLog
from bowerbird.crawl.streaming.stream_rows import Position, Step, step_over
from bowerbird.crawl.work.targets import Saver
from bowerbird.model import Arrival, CallReport, Heard, Notice, NoticeKind, Outcome, Saved, StreamState
from bowerbird.model.wording import noticed
from bowerbird.ports import Transaction
from bowerbird.providers.base import StreamReader

FEWEST_AT_ONCE, MOST_AT_ONCE = 20_000, 60_000
"""Messages in one transaction: as many as wait, so that a backlog is written in larger and cheaper pieces."""
_LONGEST = timedelta(seconds=5)
"""What a transaction of more than the fewest may take: whoever else wants to write waits meanwhile."""

_PIECE = 2_500
"""Messages that are understood in one go: about a page of the store."""


class HeardBatch:
    """A batch of messages. It is understood piece by piece while it is saved: a large one would take more processor time and
    memory if it were understood as a whole first."""

    def __init__(self, stream: Stream, listener: StreamReader, batch: Batch) -> None:
        self.messages, self.size, self.received_at = len(batch.messages), batch.size, batch.received_at
        self.heard: list[Heard] = []
        """What has been understood so far; whoever tries again to save it begins with this."""
        self._stream = stream
        self._listener = listener
        self._left = deque(batch.messages)
        self._is_closed = False

    @property
    def is_one_page(self) -> bool:
        """Whether there is no more of it than one page."""
        return self._is_understood and sum(len(each.pages) for each in self.heard) <= 1

    @property
    def _is_understood(self) -> bool:
        return self._is_closed or not self._left

    def begin(self) -> bool:
        """Whether it has an event. The first one of a connection is heard alone, so that the end of a gap is known exactly."""
        while self._left:
            if self._hear(1).events:
                return True
        return False

    def is_one_piece(self) -> bool:
        """Whether all of it is understood with its first piece, as what is heard live usually is."""
        self.piece(0)
        return self._is_understood

    def piece(self, number: int) -> Heard | None:
        """A piece by its number, understood now if it was not before; None behind the last one."""
        if number == len(self.heard) and not self._is_understood:
            # The service takes its leave. What it says after that comes again where there is a cursor, and nowhere else.
            self._is_closed = self._hear(_PIECE).closing is not None and self._stream.channel.has_cursor
        return self.heard[number] if number < len(self.heard) else None

    def _hear(self, most: int) -> Heard:
        heard = self._listener.hear([self._left.popleft() for _ in range(min(most, len(self._left)))])
        self._stream.pace.heard(heard.events, self.received_at)
        self.heard.append(heard)
        return heard


class BatchWriter:
    """Saves what one stream says, in the order it was said."""

    def __init__(self, hearing: Hearing, stream: Stream, stream_log: StreamLog) -> None:
        self._store = hearing.store
        self._targets = hearing.targets
        self._saver = Saver(hearing.store, hearing.targets, hearing.books.clock)
        self._stream = stream
        self._stream_log = stream_log
        self._facet = stream.facet.name
        self._lanes = {lane.facet.name: lane.lane for lane in hearing.lanes_of(stream)}
        self._clock = hearing.books.clock
        # Elsewhere other workers write meanwhile, and a larger piece saves nothing.
        self._grows = hearing.books.database.dialect == "sqlite"
        self.at_once = FEWEST_AT_ONCE
        """Messages that the next batch may have."""

    async def save(self, said: HeardBatch) -> None:
        """Saves everything or nothing; raises `Fenced` when the stream or its call is no longer ours."""
        began_at = self._clock.now()
        self._stream_log.moved(await self._stream_log.write(lambda tx, now: self._save(tx, said, now)))
        if self._grows:
            self.at_once = fitting(said.messages, self._clock.now() - began_at)

    async def _save(self, tx: Transaction, said: HeardBatch, now: datetime) -> Batched:
        before, call = self._stream_log.position, self._stream_log.call
        is_whole = said.is_one_piece()
        # First of all: whoever is fenced shall not write a page in vain.
        position = await self._stream_log.advance(tx, self._step(before, said) if is_whole else Step(state=StreamState.LIVE), now)
        saved = await self._pages(tx, said, call, now)
        if not is_whole:
            position = await self._stream_log.advance(tx, self._step(before, said), now)
        await self._refetch(tx, said.heard, saved, now)
        seam = await self._gaps(tx, before, said.heard, now)
        report = _report(self._facet, said.heard, saved)
        held = await self._stream_log.brought(tx, report, said.size, now)
        return Batched(position=position, seam=seam, report=report, held=held)

    def _step(self, before: Position, said: HeardBatch) -> Step:
        return step_over(self._stream, before, said.heard, said.received_at)

    async def _pages(self, tx: Transaction, said: HeardBatch, call: int, now: datetime) -> list[Saved]:
        kept: list[Saved] = []
        number = 0
        while (heard := said.piece(number)) is not None:
            if number == 0 and not said.is_one_page:
                await self._store.save_alone(tx)
            for page in heard.pages:
                kept.append(await self._saver.hear(tx, self._stream, call, self._store.clean(page), now))
                # A batch may take seconds: calls, controls and the stream itself go on meanwhile.
                await asyncio.sleep(0)
            number += 1
        return kept

    async def _refetch(self, tx: Transaction, heard: Sequence[Heard], saved: Sequence[Saved], now: datetime) -> None:
        """Wakes the tasks of what the stream only announced and of accounts that are back, where the crawl can fetch it."""
        announced = [each for one in heard for each in one.refetch]
        announced += [(self._stream.channel.announces, user.key) for one in saved for user in one.users if user.is_back]
        wanted = dict.fromkeys(each for each in announced if each[0] in self._lanes)
        lost = dict.fromkeys(target for one in heard for facet, target in one.refetch if facet not in self._lanes)
        if lost:
            await self._note(tx, Notice(NoticeKind.OTHER, _unfetched(list(lost))), now)
        # From the first item on, whatever was known before: it may have been reset, or taken out of the store meanwhile.
        arrivals = [Arrival(lane=self._lanes[facet], target=target, newest="") for facet, target in wanted]
        if arrivals:
            await self._targets.add(tx, arrivals, self._stream_log.call, now)

    async def _gaps(self, tx: Transaction, before: Position, heard: Sequence[Heard], now: datetime) -> Seam:
        """Notes what the service says it left out, and where gaps end; answers what is then known of the connection's seam."""
        seam = self._stream_log.seam
        for each in heard:
            for notice in each.notices:
                seam = await self._take_notice(tx, before, notice, seam, now)
            if seam.is_open and each.events:
                await end_gaps(tx, before.stream, each.newest_at, each.head)
                seam = structs.replace(seam, is_open=each.newest_at is None)
        return seam

    async def _take_notice(self, tx: Transaction, before: Position, notice: Notice, seam: Seam, now: datetime) -> Seam:
        call = self._stream_log.call
        if notice.kind is NoticeKind.UNDELIVERED:
            await note_undelivered(tx, before, call, notice.detail, notice.missing or 0, now)
            return seam
        await self._note(tx, notice, now)
        if notice.kind is not NoticeKind.OUTDATED or seam.has_gap:
            return seam
        await add_gap(tx, before.stream, gap_after(before, Cause.OUTDATED, notice.detail, before.connected_at or now), call)
        return structs.replace(seam, has_gap=True)

    async def _note(self, tx: Transaction, notice: Notice, now: datetime) -> None:
        part = f"{self._stream.service.name}/{self._stream.name}"
        words = f"the service says: {noticed(notice)}"
        await registry.note_error(tx, self._stream.crawl, part, None, self._stream_log.call, words, now)


def fitting(messages: int, took: timedelta) -> int:
    """How many messages may be one transaction, after one of so many took so long."""
    in_time = int(messages * (_LONGEST / took)) if took else MOST_AT_ONCE
    return min(max(in_time, FEWEST_AT_ONCE), MOST_AT_ONCE)


def _unfetched(targets: Sequence[str]) -> str:
    """Words for what the stream announced and this crawl has nobody to ask for."""
    named = ", ".join(targets[:3]) + (f" and {len(targets) - 3} more" if len(targets) > 3 else "")
    return f"announced without its content, and this service cannot fetch it: {named}; name the stream's own host as the service"


def _report(facet: str, heard: Sequence[Heard], saved: Sequence[Saved]) -> CallReport:
    counts = [each.counts_new for each in saved]
    return CallReport(
        facet=facet,
        outcome=Outcome.OK,
        results=sum(each.events for each in heard),
        new_items=sum(items for items, _, _ in counts),
        new_users=sum(users for _, users, _ in counts),
        new_posts=sum(posts for _, _, posts in counts),
    )
