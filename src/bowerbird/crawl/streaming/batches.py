"""One batch in one transaction: what was heard, what it adds to the frontier, the cursor behind it, and its gaps."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import datetime

from msgspec import Struct, structs

from bowerbird.crawl.life import registry
from bowerbird.crawl.streaming.gaps import Cause, Seam, add_gap, end_gaps, gap_after, note_undelivered
from bowerbird.crawl.streaming.hearing import Hearing
from bowerbird.crawl.streaming.stream import Stream
from bowerbird.crawl.streaming.stream_calls import Batched, StreamLog
from bowerbird.crawl.streaming.stream_rows import Position, step_over
from bowerbird.crawl.work.targets import Saver
from bowerbird.model import Arrival, CallReport, Heard, Notice, NoticeKind, Outcome, Saved
from bowerbird.model.wording import noticed
from bowerbird.ports import Transaction


class Dictation(Struct, frozen=True):
    """A batch of messages, understood and not saved yet."""

    heard: Sequence[Heard]
    size: int
    received_at: datetime


class BatchWriter:
    """Saves what one stream says, in the order it was said."""

    def __init__(self, hearing: Hearing, stream: Stream, logbook: StreamLog) -> None:
        self._store = hearing.store
        self._targets = hearing.targets
        self._saver = Saver(hearing.store, hearing.targets, hearing.books.clock)
        self._stream = stream
        self._logbook = logbook
        self._facet = stream.facet.name
        self._lanes = {lane.facet.name: lane.lane for lane in hearing.lanes_of(stream)}

    async def save(self, said: Dictation) -> None:
        """Saves everything or nothing; raises `Fenced` when the stream or its call is no longer ours."""
        self._logbook.moved(await self._logbook.write(lambda tx, now: self._save(tx, said, now)))

    async def _save(self, tx: Transaction, said: Dictation, now: datetime) -> Batched:
        before, call = self._logbook.position, self._logbook.call
        # First of all: whoever is fenced shall not write a page in vain.
        position = await self._logbook.advance(tx, step_over(self._stream, before, said.heard, said.received_at), now)
        saved = await self._pages(tx, said.heard, call, now)
        await self._refetch(tx, said.heard, saved, now)
        seam = await self._gaps(tx, before, said.heard, now)
        report = _report(self._facet, said.heard, saved)
        held = await self._logbook.brought(tx, report, said.size, now)
        return Batched(position=position, seam=seam, report=report, held=held)

    async def _pages(self, tx: Transaction, heard: Sequence[Heard], call: int, now: datetime) -> list[Saved]:
        kept: list[Saved] = []
        pages = [self._store.clean(page) for each in heard for page in each.pages]
        if len(pages) > 1:
            await self._store.save_alone(tx)
        for page in pages:
            kept.append(await self._saver.hear(tx, self._stream, call, page, now))
            # A batch may take a second: calls, controls and the stream itself go on meanwhile.
            await asyncio.sleep(0)
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
            await self._targets.add(tx, arrivals, self._logbook.call, now)

    async def _gaps(self, tx: Transaction, before: Position, heard: Sequence[Heard], now: datetime) -> Seam:
        """Notes what the service says it left out, and where gaps end; answers what is then known of the connection's seam."""
        seam = self._logbook.seam
        for each in heard:
            for notice in each.notices:
                seam = await self._take_notice(tx, before, notice, seam, now)
            if seam.is_open and each.events:
                await end_gaps(tx, before.stream, each.newest_at, each.head)
                seam = structs.replace(seam, is_open=each.newest_at is None)
        return seam

    async def _take_notice(self, tx: Transaction, before: Position, notice: Notice, seam: Seam, now: datetime) -> Seam:
        call = self._logbook.call
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
        await registry.note_error(tx, self._stream.crawl, part, None, self._logbook.call, words, now)


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
