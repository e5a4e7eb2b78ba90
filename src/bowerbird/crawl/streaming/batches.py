"""One batch in one transaction: what was heard, what it adds to the frontier, the cursor behind it, and its gaps."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import datetime, timedelta

from msgspec import Struct, structs

from bowerbird.crawl.life import registry
from bowerbird.crawl.streaming.gaps import Cause, Seam, add_gap, end_gaps, gap_after, note_undelivered
from bowerbird.crawl.streaming.hearing import Hearing
from bowerbird.crawl.streaming.stream import Stream
from bowerbird.crawl.streaming.stream_calls import StreamLog
from bowerbird.crawl.streaming.stream_rows import Position, Step
from bowerbird.errors import Fenced
from bowerbird.flows.flow import STREAM
from bowerbird.model import Arrival, CallReport, Charge, Heard, Notice, NoticeKind, Outcome, Saved, StreamState
from bowerbird.model.wording import noticed
from bowerbird.ports import Transaction

_SKEW = timedelta(days=1)
"""How far our own clock may be wrong."""


class Dictation(Struct, frozen=True):
    """A batch of messages, understood and not saved yet."""

    heard: Sequence[Heard]
    size: int
    received_at: datetime


class _Written(Struct, frozen=True, kw_only=True):
    """What one transaction did; it counts only once it is committed."""

    position: Position
    seam: Seam
    report: CallReport
    held: Sequence[Charge]


class BatchWriter:
    """Saves what one stream says, in the order it was said."""

    def __init__(self, hearing: Hearing, stream: Stream, logbook: StreamLog) -> None:
        self._books = hearing.books
        self._store = hearing.store
        self._targets = hearing.targets
        self._tally = hearing.tally
        self._stream = stream
        self._logbook = logbook
        self._lanes = {lane.facet.name: lane.lane for lane in hearing.lanes_of(stream)}

    async def save(self, said: Dictation) -> None:
        """Saves everything or nothing; raises `Fenced` when the stream or its call is no longer ours."""
        written = await self._logbook.write(lambda tx, now: self._save(tx, said, now))
        self._logbook.moved(written.position, written.seam, written.held)
        self._tally.heard(written.report, self._books.clock.now())

    async def _save(self, tx: Transaction, said: Dictation, now: datetime) -> _Written:
        before = self._logbook.position
        # First of all: whoever is fenced shall not write a page in vain.
        position = await self._logbook.advance(tx, self._step(before, said), now)
        saved = await self._pages(tx, said.heard, now)
        await self._refetch(tx, said.heard, saved, now)
        seam = await self._gaps(tx, before, said.heard, now)
        report = _report(self._stream.channel.facet.name, said.heard, saved)
        await registry.count(tx, self._stream.crawl, report.new_items, report.new_users, report.new_posts, calls=0)
        held: Sequence[Charge] = self._logbook.held
        if report.results and held:
            held = await self._books.ledgers.delivered(tx, held, report.results, now, self._stream.charges)
        if not await self._books.log.brought(tx, self._logbook.call, held, report.results, report.new_items, said.size):
            raise Fenced(f"call {self._logbook.call} was declared lost; what its connection still brings is dropped")
        return _Written(position=position, seam=seam, report=report, held=held)

    def _step(self, before: Position, said: Dictation) -> Step:
        times = [each.newest_at for each in said.heard if each.newest_at is not None]
        # What is said to have happened after it was received did not: it would stand for everything that is still to come.
        times = [at for at in times if at <= said.received_at + _SKEW]
        newest = max((*times, before.event_at) if before.event_at else times, default=None)
        return Step(
            state=StreamState.LIVE,
            cursor=self._stream.kept_cursor(_last([each.cursor for each in said.heard])),
            head=_last([each.head for each in said.heard if not self._is_ahead(each.head, said.received_at)]),
            event_at=newest,
            heard_at=said.received_at,
            events=sum(each.events for each in said.heard),
            busiest=self._stream.pace.busiest,
        )

    def _is_ahead(self, key: str | None, now: datetime) -> bool:
        """Whether a post's key tells a time that has not come: a gap filled from there would stay empty."""
        key_time = self._stream.channel.key_time
        return key is not None and key_time is not None and key_time.is_ahead(key, now + _SKEW)

    async def _pages(self, tx: Transaction, heard: Sequence[Heard], now: datetime) -> list[Saved]:
        stream, call = self._stream, self._logbook.call
        kept: list[Saved] = []
        pages = [self._store.clean(page) for each in heard for page in each.pages]
        if len(pages) > 1:
            await self._store.save_alone(tx)
        for heard_page in pages:
            page = await self._store.allowed(tx, heard_page, stream.service)
            if stream.sieve is not None:
                page = await stream.sieve.sift(tx, (), page, stream.service, now)
            saved = await self._store.hear(
                tx, page, service=stream.service, facet=stream.channel.facet, call=call, now=now
            )  # fmt: skip
            if stream.sieve is not None:
                await stream.sieve.note(tx, (), page, saved, now)
            arrivals = stream.seeder.seed(STREAM, (), page, saved)
            if arrivals:
                await self._targets.add(tx, arrivals, call, now)
            kept.append(saved)
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


def _last(values: Sequence[str | None]) -> str | None:
    return next((value for value in reversed(values) if value is not None), None)


def _report(facet: str, heard: Sequence[Heard], saved: Sequence[Saved]) -> CallReport:
    return CallReport(
        facet=facet,
        outcome=Outcome.OK,
        results=sum(each.events for each in heard),
        new_items=sum(each.items_new for each in saved),
        new_users=sum(each.users_new for each in saved),
        new_posts=sum(each.posts_new for each in saved),
    )
