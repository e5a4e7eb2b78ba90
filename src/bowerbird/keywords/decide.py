"""The loop that decides frames, and what a decision writes.

Each worker reads the frame and runs the methods outside of the event loop, which takes `burst` less than a second.
The first that is done writes in one transaction:

- the state of each method, its entries and exits with reasons, and the terms it considered,
- the frame as decided, and the next version of the keywords,
- probes as used, and samples, candidates and probes that are no longer needed as deleted,
- searches and probes to add and to retire.

If the version of the keywords changed since the frame was read, nothing is written: another worker decided the
frame, or a user pinned a term and the frame is decided again. If a method raises an exception, its keywords stay as they
are and the error is recorded; the other methods and later frames are decided as usual.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from datetime import datetime, timedelta
from functools import partial

from msgspec import structs

from bowerbird.clock import to_micros
from bowerbird.crawl.life.registry import note_error
from bowerbird.crawl.process.keeping import Keeping
from bowerbird.crawl.process.patience import patiently
from bowerbird.crawl.process.supervisor import fault_words
from bowerbird.keywords import rows
from bowerbird.keywords.counting import count_posts, find_slot
from bowerbird.keywords.frames import OLDEST_SAMPLE, FrameRows, frames_of, read_frame
from bowerbird.keywords.rows import MethodRow, to_json
from bowerbird.keywords.setup import EventCrawl
from bowerbird.keywords.steering import Steering, posts_per_frame
from bowerbird.keywords.values import HISTORY, Candidate, Decision, Frame, Post, Settings, State
from bowerbird.ports import Part, Transaction

GLANCE = timedelta(seconds=20)
"""How often a worker looks for changes by another worker or a user."""
MOST_CANDIDATES = 100
"""Candidates that are stored per method and frame, besides its keywords."""
KEPT_FRAMES = 2_016
"""Frames whose candidates and probes are kept: a week of five minutes each."""
PART = "keywords"
"""The name of the loop among the parts of a process, and in the list of errors."""
_MOST_TOGETHER = 20
_SAVE_PROGRESS = """
update keyword_progress set version = version + 1, decided = ?, share = ? where crawl = ? and version = ?
"""
_SAVE_FRAME = """
insert into keyword_frames (crawl, frame, ends, heard, visits, rate, collected, sampled, volume, cap, lost, decided_at)
values (?, ?, ?, ?, 0, 0, ?, ?, ?, ?, ?, ?) on conflict (crawl, frame) do update set collected = excluded.collected,
    sampled = excluded.sampled, volume = excluded.volume, cap = excluded.cap, lost = excluded.lost,
    decided_at = excluded.decided_at
"""
_ADD_DECISION = """
insert into keyword_decisions (method, frame, posts, background, keywords, precision, numbers) values (?, ?, ?, ?, ?, ?, ?)
on conflict (method, frame) do nothing
"""
_ADD_CANDIDATES = """
insert into keyword_candidates (method, frame, term, counts, verdict, numbers, together) values (?, ?, ?, ?, ?, ?, ?)
on conflict (method, frame, term) do nothing
"""
_DELETE_CANDIDATES = "delete from keyword_candidates where method = ? and frame < ?"
_USE_PROBES = "update keyword_probes set used_at = ?, found = null where probe = ?"
_DELETE_PROBES = "delete from keyword_probes where crawl = ? and asked_at < ? and used_at is not null"
_DELETE_SAMPLES = "delete from keyword_samples where crawl = ? and (at < ? or draw >= ?)"


class KeywordLoop:
    """Decides the frames of one crawl for as long as it runs."""

    def __init__(self, steering: Steering, keeping: Keeping) -> None:
        self._event = steering.event
        self._steering = steering
        self._clock = keeping.clock
        self._tally = keeping.tally
        self._ending = asyncio.Event()
        self._alive_at = keeping.clock.now()
        self._is_paused = False
        self._followed_version = 0

    def part(self) -> Part:
        return Part(name=PART, run=self.run, end=self._ending.set, pause=self._pause, is_alive_since=lambda: self._alive_at)

    def _pause(self, is_paused: bool) -> None:
        self._is_paused = is_paused

    async def run(self) -> None:
        while not self._ending.is_set():
            due = await patiently(self._look, self._clock, self._tally.blocked)
            await self._clock.wait(self._ending, min(due, self._clock.now() + GLANCE))

    async def _look(self) -> datetime:
        """Decide all frames that are due and follow new keywords; return when the next frame is due."""
        now = self._alive_at = self._clock.now()
        event = self._event
        while True:
            async with event.database.transaction() as tx:
                # A pause is like downtime: its frames are missed.
                progress = await (rows.read_progress(tx, event.crawl) if self._is_paused else event.watch(tx, now))
            start = progress.decided + event.use.frame
            if self._is_paused or event.grid.due(start) > now:
                break
            await self.decide(start)
        if progress.version != self._followed_version:
            if problems := await self._steering.catch_up(now):
                async with event.database.transaction() as tx:
                    await self._report(tx, problems, now)
            self._followed_version = progress.version
        # In a pause the frame may be due already.
        return max(event.grid.due(start), now + timedelta(seconds=1))

    async def decide(self, start: datetime) -> bool:
        """Decide the frame that started at `start`; return False if another worker did so or the keywords changed meanwhile."""
        event, crawl = self._event, self._event.crawl
        async with event.database.reading() as tx:
            progress = await rows.read_progress(tx, crawl)
            if progress.decided >= start:
                return False
            methods = [row for row in await rows.read_methods(tx, crawl) if row.name in event.methods]
            frame = await read_frame(
                tx, event.database, crawl, start, event.use.frame, methods, full_services=event.full_services
            )
        judge = partial(judge_frame, event, frame, methods)
        judged, faults = judge() if self._clock.is_virtual else await asyncio.to_thread(judge)
        now = self._clock.now()
        async with event.database.transaction() as tx:
            # First: it locks the row, so that no other decision or change of the keywords comes between.
            if not await tx.execute(_SAVE_PROGRESS, to_micros(start), frame.share, crawl, progress.version):
                return False
            await self._save_frame(tx, frame, now)
            for each in judged:
                await self._save_decision(tx, *each)
            await self._report(tx, faults, now)
            await self._steering.follow(tx, [decision.probes for _, _, decision in judged], now)
        return True

    async def _report(self, tx: Transaction, problems: Sequence[str], now: datetime) -> None:
        """Record errors, and show the last one in the live display."""
        for problem in problems:
            await note_error(tx, self._event.crawl, PART, None, None, problem, now)
            tx.after_commit(partial(self._tally.blocked, problem, now))

    async def _save_frame(self, tx: Transaction, frame: FrameRows, now: datetime) -> None:
        """Store the frame as decided, and delete what later decisions do not need."""
        crawl, at, end = self._event.crawl, to_micros(frame.start), frame.start + frame.length
        await tx.execute(
            _SAVE_FRAME,
            crawl,
            at,
            to_micros(end),
            frame.heard,
            frame.collected,
            sum(row["at"] >= at for row in frame.samples),
            frame.volumes[-1] if frame.volumes else None,
            posts_per_frame(self._event.use, self._steering.streams),
            frame.lost,
            to_micros(now),
        )
        await tx.execute_many(_USE_PROBES, [(to_micros(now), row["probe"]) for row in frame.probes])
        await tx.execute(_DELETE_PROBES, crawl, to_micros(end - KEPT_FRAMES * frame.length))
        oldest = to_micros(end - OLDEST_SAMPLE)
        if len(frame.samples) >= HISTORY:
            oldest = max(oldest, frame.samples[-1]["at"])
        await tx.execute(_DELETE_SAMPLES, crawl, oldest, frame.share)

    async def _save_decision(self, tx: Transaction, row: MethodRow, frame: Frame, decision: Decision) -> None:
        use, at, state = self._event.use, to_micros(frame.start), decision.state
        # The state decides which terms moved, the method gives the reasons.
        changes = (*decision.exits, *decision.entries)
        before = row.state.keywords.keys()
        await rows.save_state(tx, self._event.crawl, row.method, before, state, at=frame.end, changes=changes)
        new = [post for post in frame.background if post.at >= frame.start]
        await tx.execute(
            _ADD_DECISION,
            row.method,
            at,
            to_json(count_by_slot(frame.posts, frame, use)),
            to_json(count_by_slot(new, frame, use)) if frame.background else None,
            len(state.keywords),
            None if state.precision is None else to_json(state.precision),
            to_json(decision.numbers),
        )
        candidates = []
        for each in decision.candidates:
            together = to_json(dict(Counter(each.together).most_common(_MOST_TOGETHER)))
            candidates.append((row.method, at, each.term, to_json(each.counts), each.verdict, to_json(each.numbers), together))
        await tx.execute_many(_ADD_CANDIDATES, candidates)
        await tx.execute(_DELETE_CANDIDATES, row.method, to_micros(frame.end - KEPT_FRAMES * frame.length))


def judge_frame(
    event: EventCrawl, stored: FrameRows, methods: Sequence[MethodRow]
) -> tuple[list[tuple[MethodRow, Frame, Decision]], list[str]]:
    """Return each method with its frame and decision, and the errors of methods that failed. Slow: up to a few seconds."""
    frames = frames_of(stored, methods)
    judged, faults = [], []
    for row in methods:
        frame = frames[row.method]
        try:
            decision = event.methods[row.name](row.state, frame, event.use)
            candidates = list_candidates(row.state, frame, decision, event.use)
            # As it will be read again: without terms that are too long, and a failure if it cannot be read, as with NaN.
            state = rows.decode_state(to_json(decision.state))
            decision = structs.replace(decision, state=state, candidates=tuple(candidates))
        except Exception as error:
            faults.append(f"{row.name} failed at the frame {frame.start:%Y-%m-%d %H:%M}: {fault_words(error)}; its keywords stay")
            # Without its memory, in case that this is the reason: every method can begin without one.
            decision = Decision(state=structs.replace(row.state, memory=b""))
        judged.append((row, frame, decision))
    return judged, faults


def list_candidates(state: State, frame: Frame, decision: Decision, settings: Settings) -> list[Candidate]:
    """Return every keyword before the frame, judged by the method or not, and the candidates with the most posts."""
    judged = {each.term: each for each in decision.candidates}
    counts = count_posts(state, frame, settings)
    for term in state.keywords.keys() - judged.keys():
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
