"""The decision at the end of a frame: read what was counted, ask each method, write everything that follows, all or nothing."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta

from msgspec import Struct

from bowerbird.clock import to_micros
from bowerbird.event import rows
from bowerbird.event.counting import Counted, frame_for, read_frame
from bowerbird.event.rows import MethodRow, encoded
from bowerbird.event.steering import Steering
from bowerbird.model import Claim
from bowerbird.policies.keywords import Change, Decision, Frame, Method, Settings
from bowerbird.ports import Claims, Database, Transaction

HOLD = timedelta(minutes=2)
"""How long the claim to a decision lasts; its worker may be dead after that."""
ENOUGH_SAMPLES = 2_000
"""Posts of the background in a frame: a share of 2 % is then known to a part in six."""
MOST_CANDIDATES = 200
"""Of each method in a frame, besides its keywords."""
_MOST_TOGETHER = 20
_DECIDE = """
insert into keyword_frames (crawl, frame, ends, heard, collected, sampled, cap, lost, decided_at, worker)
values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) on conflict (crawl, frame) do update set collected = excluded.collected,
    sampled = excluded.sampled, cap = excluded.cap, lost = excluded.lost, decided_at = excluded.decided_at,
    worker = excluded.worker
"""
_DECISION = "insert into keyword_decisions (method, frame, posts, background, keywords, numbers) values (?, ?, ?, ?, ?, ?)"
_CANDIDATE = """
insert into keyword_candidates (method, frame, term, counts, verdict, numbers, together) values (?, ?, ?, ?, ?, ?, ?)
"""
_PROGRESS = "update keyword_progress set version = version + 1, decided = ?, share = ?, undelivered = ? where crawl = ?"
_USED = "update keyword_probes set used_at = ?, found = null where probe = ?"
_FORGET = "delete from keyword_samples where crawl = ? and frame <= ?"


class Verdict(Struct, frozen=True):
    """What one method made of a frame."""

    row: MethodRow
    frame: Frame
    decision: Decision


class Decider:
    """Decides frames for one crawl."""

    def __init__(self, methods: Mapping[str, Method], settings: Settings, steering: Steering) -> None:
        self._crawl = steering.crawl
        self._database: Database = steering.database
        self._methods = methods
        self._settings = settings
        self._steering = steering

    async def decide(self, began: datetime, claims: Claims, claim: Claim, now: datetime) -> bool:
        """Whether the frame is decided; False when keywords were changed meanwhile, so that it must be read anew. Raises `Fenced`
        when another worker has the claim by now."""
        async with self._database.reading() as tx:
            progress = await rows.read_progress(tx, self._crawl)
            counted = await read_frame(tx, self._crawl, began, self._steering.cap)
            methods = await rows.read_methods(tx, self._crawl)
        verdicts = [self._verdict(counted, row) for row in methods if row.name in self._methods]
        async with self._database.transaction() as tx:
            # First of all: nobody else can take it from here on.
            await claims.renew(tx, claim, now + HOLD)
            if (await rows.read_progress(tx, self._crawl)).version != progress.version:
                return False
            await self._write(tx, counted, verdicts, claim.worker, now)
        return True

    def _verdict(self, counted: Counted, row: MethodRow) -> Verdict:
        method = self._methods[row.name]
        frame = frame_for(counted, row, method, self._settings)
        return Verdict(row, frame, method.decides(row.state, frame, self._settings))

    async def _write(self, tx: Transaction, counted: Counted, verdicts: list[Verdict], worker: int, now: datetime) -> None:
        began, ends = counted.began, counted.began + self._settings.frame
        at = to_micros(began)
        for each in verdicts:
            await self._write_verdict(tx, each, ends)
        volume = counted.volume
        await tx.execute(
            _DECIDE,
            *(self._crawl, at, to_micros(ends), counted.heard, len(counted.posts), len(counted.samples)),
            *(volume.cap, volume.lost, to_micros(now), worker),
        )
        share = min(1.0, ENOUGH_SAMPLES / counted.heard) if counted.heard else 1.0
        await tx.execute(_PROGRESS, at, share, counted.undelivered, self._crawl)
        await tx.execute_many(_USED, [(to_micros(now), each.probe) for each in counted.probes])
        await tx.execute(_FORGET, self._crawl, at)
        await self._steering.follow(tx, [each.decision.probes for each in verdicts], began, now)

    async def _write_verdict(self, tx: Transaction, verdict: Verdict, ends: datetime) -> None:
        row, frame, decision = verdict.row, verdict.frame, verdict.decision
        entries, exits = _moves(row, decision)
        await rows.keep_state(tx, row.method, decision.state)
        await rows.leave(tx, row.method, exits, ends)
        await rows.enter(tx, self._crawl, row.method, entries, ends)
        background = None if frame.background is None else encoded(frame.background.posts)
        kept = (len(decision.state.keywords), encoded(decision.numbers))
        await tx.execute(_DECISION, row.method, to_micros(frame.began), encoded(frame.posts), background, *kept)
        await tx.execute_many(_CANDIDATE, _looked_at(verdict))


def _moves(row: MethodRow, decision: Decision) -> tuple[list[Change], list[Change]]:
    """Who came in and who left, by the state itself, with the reasons that the method gives."""
    before, after = row.state.keywords.keys(), decision.state.keywords.keys()
    entered = {each.term: each for each in decision.entries}
    left = {each.term: each for each in decision.exits}
    unsaid = "the method does not say why"
    entries = [entered.get(term) or Change(term=term, reason=unsaid) for term in sorted(after - before)]
    return entries, [left.get(term) or Change(term=term, reason=unsaid) for term in sorted(before - after)]


def _looked_at(verdict: Verdict) -> list[tuple[object, ...]]:
    """The rows of all keywords, and of the candidates that were counted most."""
    frame, decision = verdict.frame, verdict.decision
    told = {each.term: each for each in decision.candidates}
    others = sorted(told.keys() - verdict.row.state.keywords.keys(), key=lambda term: (-frame.count(term), term))
    nothing = tuple(0 for _ in frame.posts)
    found: list[tuple[object, ...]] = []
    for term in [*sorted(verdict.row.state.keywords), *others[:MOST_CANDIDATES]]:
        candidate = told.get(term)
        counts = candidate.counts if candidate is not None else frame.counts.get(term, nothing)
        words = (candidate.verdict, encoded(candidate.numbers)) if candidate is not None else ("in", "{}")
        found.append((verdict.row.method, to_micros(frame.began), term, encoded(counts), *words, _together(frame, term)))
    return found


def _together(frame: Frame, term: str) -> str | None:
    with_ = sorted(frame.together.get(term, {}).items(), key=lambda each: (-each[1], each[0]))[:_MOST_TOGETHER]
    return encoded(dict(with_)) if with_ else None
