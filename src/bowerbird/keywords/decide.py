"""The loop that decides frames, and what a decision writes.

One worker decides each frame. It takes the claim, reads the frame, and runs the methods outside of the event
loop. Then it writes in one transaction that renews the claim first:

- the state of each method, its entries and exits with reasons, and the terms it considered,
- the frame as decided, and the next version of the keywords,
- probes as used, and samples that are no longer needed as deleted,
- searches and probes to add and to retire.

A worker that lost the claim raises `Fenced` and writes nothing. If the keywords changed since the frame was read
(a user pinned a term), the frame is read and decided again.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from datetime import datetime, timedelta

from msgspec import Struct

from bowerbird.clock import to_micros
from bowerbird.crawl.process.keeping import Keeping
from bowerbird.crawl.process.patience import patiently
from bowerbird.errors import Fenced
from bowerbird.keywords import rows
from bowerbird.keywords.counting import count_posts, find_slot
from bowerbird.keywords.frames import OLDEST_SAMPLE, FrameRows
from bowerbird.keywords.rows import MethodRow, to_json
from bowerbird.keywords.setup import EventCrawl
from bowerbird.keywords.steering import Steering
from bowerbird.keywords.values import HISTORY, Candidate, Change, Decision, Frame, Post, Settings, State
from bowerbird.model import Claim
from bowerbird.ports import Part, Transaction

HOLD = timedelta(minutes=2)
"""How long the claim to a decision lasts."""
GLANCE = timedelta(seconds=20)
"""How often a worker looks for changes by another worker or a user."""
MOST_CANDIDATES = 200
"""Candidates that are stored per method and frame, besides its keywords."""
_MOST_TOGETHER = 20
_SOON = timedelta(seconds=1)
_SAVE_FRAME = """
insert into keyword_frames (crawl, frame, ends, heard, visits, rate, collected, sampled, volume, cap, lost, decided_at, worker)
values (?, ?, ?, ?, 0, 0, ?, ?, ?, ?, ?, ?, ?) on conflict (crawl, frame) do update set collected = excluded.collected,
    sampled = excluded.sampled, volume = excluded.volume, cap = excluded.cap, lost = excluded.lost,
    decided_at = excluded.decided_at, worker = excluded.worker
"""
_ADD_DECISION = """
insert into keyword_decisions (method, frame, posts, background, keywords, precision, numbers) values (?, ?, ?, ?, ?, ?, ?)
on conflict (method, frame) do nothing
"""
_ADD_CANDIDATES = """
insert into keyword_candidates (method, frame, term, counts, verdict, numbers, together) values (?, ?, ?, ?, ?, ?, ?)
on conflict (method, frame, term) do nothing
"""
_USE_PROBES = "update keyword_probes set used_at = ?, found = null where probe = ?"
_DELETE_SAMPLES = "delete from keyword_samples where crawl = ? and (at < ? or draw >= ?)"


class Verdict(Struct, frozen=True):
    """The decision of one method about a frame."""

    row: MethodRow
    decision: Decision
    candidates: Sequence[Candidate]
    """Every keyword before the frame, and the candidates with the most posts."""
    posts: Sequence[int]
    """Collected posts in each slot."""
    background: Sequence[int] | None
    """Background posts in each slot; None: there is no background."""


class KeywordLoop:
    """Decides the frames of one crawl for as long as it runs."""

    def __init__(self, event: EventCrawl, steering: Steering, keeping: Keeping) -> None:
        self._event = event
        self._steering = steering
        self._crawl = event.crawl
        self._grid = event.grid
        self._clock = keeping.clock
        self._claims = keeping.claims
        self._tally = keeping.tally
        self._database = keeping.database
        self._reader = event.frame_reader()
        self._ending = asyncio.Event()
        self._alive_at = keeping.clock.now()
        self._is_paused = False
        self._followed_version = 0

    def part(self) -> Part:
        return Part(name="keywords", run=self.run, end=self._ending.set, pause=self._pause, is_alive_since=lambda: self._alive_at)

    def _pause(self, is_paused: bool) -> None:
        self._is_paused = is_paused

    async def run(self) -> None:
        while not self._ending.is_set():
            due = await patiently(self._look, self._clock, self._tally.blocked)
            await self._clock.wait(self._ending, min(due, self._clock.now() + GLANCE))

    async def _look(self) -> datetime:
        """Decide all frames that are due and follow new keywords; return when the next frame is due."""
        now = self._alive_at = self._clock.now()
        progress = await self._watch(now)
        while not self._is_paused and self._grid.due(start := progress.decided + self._grid.frame) <= now:
            if not await self._claim_and_decide(start, now):
                break
            progress = await self._watch(now)
        if progress.version != self._followed_version:
            await self._steering.catch_up(now)
            self._followed_version = progress.version
        # If another worker is deciding the frame, look again soon.
        return max(self._grid.due(progress.decided + self._grid.frame), now + _SOON)

    async def _watch(self, now: datetime) -> rows.Progress:
        """Note that the crawl is running, and which frames it missed. A pause is like downtime: its frames are missed."""
        async with self._database.transaction() as tx:
            progress = await rows.read_progress(tx, self._crawl)
            if self._is_paused:
                return progress
            await rows.save_watched(tx, self._crawl, self._grid.last_missed(progress.watched_at, now), now)
            return await rows.read_progress(tx, self._crawl)

    async def _claim_and_decide(self, start: datetime, now: datetime) -> bool:
        """Decide a frame; return False if another worker decides it or did so."""
        async with self._database.transaction() as tx:
            claim = await self._claims.take(tx, f"keywords {self._crawl}", now + HOLD, now)
            if isinstance(claim, datetime):
                return False
            if (await rows.read_progress(tx, self._crawl)).decided >= start:
                await self._claims.release(tx, claim)
                return False
        try:
            while not await self.decide(start, claim):
                pass
            async with self._database.transaction() as tx:
                await self._claims.release(tx, claim)
        except Fenced:
            return False
        return True

    async def decide(self, start: datetime, claim: Claim) -> bool:
        """Decide the frame that started at `start`; return False if the keywords changed since it was read.

        Raises `Fenced` if another worker has the claim."""
        async with self._database.reading() as tx:
            progress = await rows.read_progress(tx, self._crawl)
            methods = [row for row in await rows.read_methods(tx, self._crawl) if row.name in self._event.methods]
            frame = await self._reader.read(tx, start, methods, self._steering.cap)
        if self._clock.is_virtual:
            verdicts = self._judge(frame, methods)
        else:
            verdicts = await asyncio.to_thread(self._judge, frame, methods)
        now = self._clock.now()
        async with self._database.transaction() as tx:
            # First, so that no other worker can take the claim before the transaction ends.
            await self._claims.renew(tx, claim, now + HOLD)
            if not await rows.save_decided(
                tx, self._crawl, progress.version, start, share=frame.share, undelivered=frame.undelivered
            ):
                return False
            await self._save(tx, frame, verdicts, claim.worker, now)
        return True

    def _judge(self, stored: FrameRows, methods: Sequence[MethodRow]) -> list[Verdict]:
        """Run the methods. Pure but for the cache of the reader, and slow: up to a few seconds."""
        frames, settings = self._reader.frames_of(stored, methods), self._event.settings
        verdicts = []
        for row in methods:
            frame = frames[row.method]
            decision = self._event.methods[row.name].decide(row.state, frame, settings)
            background = [post for post in frame.background if post.at >= frame.start]
            verdict = Verdict(
                row,
                decision,
                list_candidates(row.state, frame, decision, settings),
                count_by_slot(frame.posts, frame, settings),
                count_by_slot(background, frame, settings) if frame.background else None,
            )
            verdicts.append(verdict)
        return verdicts

    async def _save(self, tx: Transaction, frame: FrameRows, verdicts: Sequence[Verdict], worker: int, now: datetime) -> None:
        at, end = to_micros(frame.start), to_micros(frame.end)
        for verdict in verdicts:
            await self._save_verdict(tx, verdict, frame)
        sampled = sum(row["at"] >= at for row in frame.samples)
        volume = frame.volumes[-1] if frame.volumes else None
        traffic = (frame.heard, frame.load.used, sampled, volume, frame.load.cap, frame.load.lost)
        await tx.execute(_SAVE_FRAME, self._crawl, at, end, *traffic, to_micros(now), worker)
        await tx.execute_many(_USE_PROBES, [(to_micros(now), row["probe"]) for row in frame.probes])
        oldest = to_micros(frame.end - OLDEST_SAMPLE)
        if len(frame.samples) >= HISTORY:
            oldest = max(oldest, frame.samples[-1]["at"])
        await tx.execute(_DELETE_SAMPLES, self._crawl, oldest, frame.share)
        await self._steering.follow(tx, [each.decision.probes for each in verdicts], frame.start, now)

    async def _save_verdict(self, tx: Transaction, verdict: Verdict, frame: FrameRows) -> None:
        method, at, decision = verdict.row.method, to_micros(frame.start), verdict.decision
        # The state decides which terms moved, the method gives the reasons.
        reasons = {each.term: each for each in (*decision.exits, *decision.entries)}
        before, after = verdict.row.state.keywords.keys(), decision.state.keywords.keys()
        left, entered = (
            [reasons.get(term) or Change(term=term, reason="no reason given by the method") for term in sorted(terms)]
            for terms in (before - after, after - before)
        )
        await rows.save_state(tx, method, decision.state)
        await rows.add_exits(tx, method, left, frame.end)
        await rows.add_entries(tx, self._crawl, method, entered, frame.end)
        background, precision = (None if each is None else to_json(each) for each in (verdict.background, decision.precision))
        numbers = to_json(decision.numbers)
        await tx.execute(_ADD_DECISION, method, at, to_json(verdict.posts), background, len(after), precision, numbers)
        candidates = []
        for each in verdict.candidates:
            together = sorted(each.together.items(), key=lambda item: (-item[1], item[0]))[:_MOST_TOGETHER]
            values = (to_json(each.counts), each.verdict, to_json(each.numbers), to_json(dict(together)) if together else None)
            candidates.append((method, at, each.term, *values))
        await tx.execute_many(_ADD_CANDIDATES, candidates)


def list_candidates(state: State, frame: Frame, decision: Decision, settings: Settings) -> list[Candidate]:
    """Return every keyword before the frame, judged by the method or not, and the candidates with the most posts."""
    judged = {each.term: each for each in decision.candidates}
    if missing := state.keywords.keys() - judged.keys():
        counts = count_posts(state, frame, settings)
        for term in missing:
            after = decision.state.keywords.get(term)
            precision = after.precision if after is not None else None
            judged[term] = Candidate(
                term=term,
                counts=counts.in_slots(term),
                verdict="leaves" if after is None else "in",
                numbers={"precision": precision.mean, "low": precision.low, "high": precision.high} if precision else {},
            )
    others = sorted(judged.keys() - state.keywords.keys(), key=lambda term: (-sum(judged[term].counts), term))
    return [judged[term] for term in (*sorted(state.keywords), *others[:MOST_CANDIDATES])]


def count_by_slot(posts: Sequence[Post], frame: Frame, settings: Settings) -> list[int]:
    """Return the number of posts in each slot of a frame."""
    counts = Counter(find_slot(post, frame, settings) for post in posts)
    return [counts[slot] for slot in range(settings.slots)]
