"""Burst: a term enters if it is used much more than normally, and if its posts look like the event.

Every frame:

1. A are the distinct texts collected with a seed or with a keyword of high estimated precision, S
   those with a seed, U the distinct background texts without a keyword.
2. A regression learns what distinguishes A from U (`likeness.py`).
3. Candidates occur in A and S, and more often in A than in ordinary posts (`reference.py`).
4. The precision of each keyword and of the most promising candidates is estimated from the posts
   that no other keyword matches: from their number and from their scores (`evidence.py`).
5. Keywords leave whose precision is low, or which had no post of the event for a long time.
6. Terms enter whose precision is high enough with 80 % probability, the most useful first. After
   each entry the others are judged again without the posts that it matches.
7. The precision of the collection follows from that of its keywords.
"""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Mapping
from itertools import compress
from math import log

import msgspec
import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from bowerbird.keywords.controls import add_background, choose_controls, mix_probes
from bowerbird.keywords.counting import Counts, count_posts, count_slots, count_together
from bowerbird.keywords.evidence import MIN_BURST, Evidence, FrameTexts, Judge
from bowerbird.keywords.keyword_set import (
    add_posts,
    apply_changes,
    count_room,
    is_protected,
    may_enter,
)
from bowerbird.keywords.likeness import FOLDS, Model, fit_model
from bowerbird.keywords.reference import ordinary_share
from bowerbird.keywords.terms import is_implied, is_specific, list_terms
from bowerbird.keywords.values import (
    SPAN_FRAMES,
    Candidate,
    Change,
    Decision,
    Estimate,
    Frame,
    Settings,
    State,
)
from bowerbird.model.terms import Kind, Matcher, kind_of

MIN_SEED_TEXTS, MIN_OTHER_TEXTS = 6, 20
"""Texts of S and U that a first decision needs."""
REFIT_GROWTH, REFIT_FRAMES = 1.2, 15
"""The regression is fitted again when A has grown by 20 %, or after 15 frames."""
MIN_TEXTS = 2
"""Texts of A with a candidate."""
MIN_LIFT = 3.0
"""How many times more frequent a candidate is in A than in ordinary posts."""
MAX_SHARE = 0.02
"""Share of ordinary posts above which a term is too common."""
JUDGED, PROBED = 120, 20
"""Candidates to judge in a frame, and to probe after it."""
MIN_POSTS = 4
"""Posts that an estimate needs."""
ENTRY_PRECISION, HASHTAG_DISCOUNT = 0.6, 0.15
"""Lower bound of the precision that a term needs to enter; hashtags need less."""
EXIT_PRECISION = 0.4
USUAL_PRECISION = Estimate(mean=0.8, low=0.7, high=0.9)
"""Of keywords that have no estimate yet."""
CROWDED, CROWDING_DECAY = 0.008, 0.97
"""Crowding from which on the burst counts less, and the part of it that lasts for a frame."""
REMEMBERED = 1_000
"""Candidates whose last estimate is remembered."""


GRID: tuple[Mapping[str, float], ...] = ({}, {"precision": 0.5}, {"precision": 0.7})
"""Options that the evaluation compares leave-one-out, the default first."""


class Memory(Struct, array_like=True):
    """What the method remembers besides the keywords. It contains words, but no texts."""

    features: list[str] = []
    coefficients: bytes = b""
    """Of the regression: 16-bit floats by fold and feature."""
    intercepts: list[float] = []
    fitted_texts: int = 0
    fitted_frame: int = 0
    candidates: dict[str, tuple[float, int]] = {}
    """The last upper bound of the precision, and the posts it rests on."""
    crowding: float = 0.0
    """The highest recent share of background texts with a bursting term but no keyword."""


class Burst:
    """The default method."""

    def __init__(self, precision: float = ENTRY_PRECISION, words: bool = True) -> None:
        self._precision, self._has_words = precision, words

    def decide(self, state: State, frame: Frame, settings: Settings) -> Decision:
        counts = count_posts(state, frame, settings)
        has_background = bool(frame.background)
        if not has_background:
            frame = add_background(frame)
        state = add_posts(state, counts.total, settings)
        memory = decode_memory(state.memory)
        texts = FrameTexts(state, frame)
        exits: tuple[Change, ...] = ()
        entries: dict[str, Change] = {}
        estimates: dict[str, Estimate] = {}
        evidence: dict[str, Evidence] = {}
        candidates: dict[str, int] = {}
        numbers = {
            "enters_from": self._precision,
            "hashtag_enters_from": round(max(0.0, self._precision - HASHTAG_DISCOUNT), 3),
            "leaves_below": EXIT_PRECISION,
        }

        has_event = texts.is_anchored.sum() >= MIN_SEED_TEXTS
        if has_event:
            candidates = self._rank_candidates(state, texts, memory, settings)
        if has_event and texts.is_other.sum() >= MIN_OTHER_TEXTS:
            model = get_model(memory, state, texts)
            judged = [*candidates][:JUDGED]
            judged += [term for term in texts.probes if term in candidates and term not in judged]
            judge = Judge(frame, texts, model, judged, memory.crowding > CROWDED)
            state, exits = drop_keywords(state, judge, settings)
            evidence = judge.evidence
            estimates = {term: judge.estimate(term, each) for term, each in evidence.items() if each.posts >= MIN_POSTS}
            room = count_room(state, exits, settings)
            entries = self._add_keywords(judge, candidates, evidence, estimates, room)
            remember_candidates(memory, estimates)
            memory.crowding = max(judge.share_bursting(), CROWDING_DECAY * memory.crowding)
            numbers["crowding"] = round(memory.crowding, 4)

        controls: list[str] = []
        if candidates and not has_background:
            event = compress(texts.collected.readings, texts.is_event)
            controls = choose_controls(event, state.frames)
        after = apply_changes(state, frame, entries.values(), exits, counts.total)
        keywords = {
            term: replace(keyword, precision=estimates[term]) if term in entries else keyword
            for term, keyword in after.keywords.items()
        }
        return Decision(
            state=replace(after, keywords=keywords, precision=claim_precision(state, counts), memory=encode_memory(memory)),
            entries=tuple(entries.values()),
            exits=exits,
            candidates=self._list_candidates(entries, estimates, evidence, frame, counts, settings),
            probes=mix_probes(controls, [term for term in candidates if term not in entries])[:PROBED],
            numbers=numbers,
        )

    def _rank_candidates(self, state: State, texts: FrameTexts, memory: Memory, settings: Settings) -> dict[str, int]:
        """Return the texts of A with each candidate, the most promising candidate first."""
        in_event: Counter[str] = Counter()
        anchored: set[str] = set()
        for number in np.flatnonzero(texts.is_event):
            terms = list_terms(texts.collected.readings[number])
            in_event.update(terms)
            if texts.is_anchored[number]:
                anchored |= terms
        size = int(texts.is_event.sum())
        promises: dict[str, float] = {}
        for term, count in in_event.items():
            share = ordinary_share(term)
            if (
                count >= MIN_TEXTS
                and term in anchored
                and MIN_LIFT * share < count / size
                and share < MAX_SHARE
                and (self._has_words or kind_of(term) is Kind.HASHTAG)
                and is_specific(term)
                and not is_implied(term, state.keywords)
                and may_enter(state, term, settings)
            ):
                high, posts = memory.candidates.get(term, (1.0, 0))
                promises[term] = high * count * log(count / (size * share)) / (1 + posts / 40)
        ranked = sorted(promises, key=lambda term: (-promises[term], term))
        return {term: in_event[term] for term in ranked}

    def _add_keywords(
        self,
        judge: Judge,
        candidates: Mapping[str, int],
        evidence: dict[str, Evidence],
        estimates: dict[str, Estimate],
        room: int,
    ) -> dict[str, Change]:
        """Return the entries; update evidence and estimates without the posts that they match."""
        entries: dict[str, Change] = {}
        waiting = dict(estimates)
        while len(entries) < room:
            good = {
                term: candidates[term] * estimate.low for term, estimate in waiting.items() if self._is_precise(term, estimate)
            }
            if not good:
                break
            best = max(good, key=lambda term: (good[term], term))
            del waiting[best]
            entries[best] = explain_entry(best, estimates[best], evidence[best])
            for term in sorted(judge.cover(best) & waiting.keys()):
                evidence[term] = judge.find_evidence(term)
                del waiting[term]
                del estimates[term]
                if evidence[term].posts >= MIN_POSTS:
                    waiting[term] = estimates[term] = judge.estimate(term, evidence[term])
            for term in [each for each in waiting if is_implied(each, [best])]:
                del waiting[term], estimates[term]
        return entries

    def _is_precise(self, term: str, estimate: Estimate) -> bool:
        """True if a term may enter; never one that would leave with the next frame."""
        discount = HASHTAG_DISCOUNT if kind_of(term) is Kind.HASHTAG else 0.0
        return estimate.low >= self._precision - discount and estimate.mean >= EXIT_PRECISION

    def _list_candidates(
        self,
        entries: Mapping[str, Change],
        estimates: Mapping[str, Estimate],
        evidence: Mapping[str, Evidence],
        frame: Frame,
        counts: Counts,
        settings: Settings,
    ) -> tuple[Candidate, ...]:
        matcher = Matcher(estimates)
        by_post = [matcher.matched(post.reading) for post in frame.posts]
        slots = count_slots(estimates, by_post, frame, settings)
        together = count_together(estimates, by_post, counts.keywords)
        candidates = []
        for term, estimate in estimates.items():
            if term in entries:
                verdict = "enters"
            elif evidence[term].is_apart:
                verdict = "apart from the event"
            elif evidence[term].burst < MIN_BURST:
                verdict = "no burst"
            elif self._is_precise(term, estimate):
                verdict = "full"
            else:
                verdict = "unlike the event"
            candidates.append(
                Candidate(
                    term=term,
                    counts=slots[term],
                    verdict=verdict,
                    numbers=list_numbers(estimate, evidence[term]),
                    together=together[term],
                )
            )
        return tuple(candidates)


def get_model(memory: Memory, state: State, texts: FrameTexts) -> Model:
    """Return the regression of A against U; fit it again if it is outdated."""
    size = int(texts.is_event.sum())
    is_outdated = size > REFIT_GROWTH * memory.fitted_texts or state.frames >= memory.fitted_frame + REFIT_FRAMES
    if is_outdated:
        chosen = [
            (each, np.flatnonzero(flags))
            for each, flags in (
                (texts.collected, texts.is_event),
                (texts.background, texts.is_other),
            )
        ]
        event, others = ([(each.features[n], each.keys[n]) for n in numbers] for each, numbers in chosen)
        model = fit_model(event, others, state.seeds)
        memory.features = list(model.features)
        memory.coefficients = model.coefficients.astype(np.float16).tobytes()
        memory.intercepts = model.intercepts.tolist()
        memory.fitted_texts, memory.fitted_frame = size, state.frames
    coefficients = np.frombuffer(memory.coefficients, dtype=np.float16).astype(np.float64)
    return Model(
        {token: number for number, token in enumerate(memory.features)},
        coefficients.reshape(FOLDS, -1),
        np.array(memory.intercepts),
    )


def drop_keywords(state: State, judge: Judge, settings: Settings) -> tuple[State, tuple[Change, ...]]:
    """Return the state with new estimates of its keywords, and the exits."""
    keywords, exits = dict(state.keywords), []
    for term, keyword in state.keywords.items():
        evidence = judge.find_own_evidence(term, keyword.since)
        may_leave = not is_protected(state, term, settings)
        if evidence.posts >= MIN_POSTS:
            estimate = judge.estimate(term, evidence)
            keywords[term] = replace(keyword, precision=estimate)
            if may_leave and estimate.mean < EXIT_PRECISION:
                exits.append(explain_exit(term, estimate, evidence))
        elif may_leave and not evidence.posts and not evidence.shared and keyword.quiet >= settings.quiet_frames:
            reason = f"quiet: no post of the event for {min(SPAN_FRAMES, keyword.quiet)} frames"
            exits.append(Change(term=term, reason=reason, numbers={"quiet": keyword.quiet, "posts_collected": keyword.posts}))
    return replace(state, keywords=keywords), tuple(exits)


def explain_entry(term: str, estimate: Estimate, evidence: Evidence) -> Change:
    return Change(
        term=term,
        reason=f"{describe_burst(evidence)}, and they look like the event: {describe_precision(estimate)}",
        numbers=list_numbers(estimate, evidence),
    )


def explain_exit(term: str, estimate: Estimate, evidence: Evidence) -> Change:
    if evidence.is_apart:
        why = "few others have another keyword as well"
    elif evidence.burst < MIN_BURST:
        why = "ordinary use explains them"
    else:
        why = "they do not look like the event"
    return Change(
        term=term,
        reason=f"{describe_burst(evidence)}, and {why}: {describe_precision(estimate)}",
        numbers=list_numbers(estimate, evidence),
    )


def describe_burst(evidence: Evidence) -> str:
    if evidence.expected is None:
        return f"{evidence.posts} posts that only it found"
    return f"{evidence.posts} posts that only it found against {evidence.expected:.1f} expected"


def describe_precision(estimate: Estimate) -> str:
    return f"precision {100 * estimate.mean:.0f} % ({100 * estimate.low:.0f} % to {100 * estimate.high:.0f} %)"


def list_numbers(estimate: Estimate, evidence: Evidence) -> dict[str, float]:
    numbers = {
        "precision": round(estimate.mean, 3),
        "low": round(estimate.low, 3),
        "high": round(estimate.high, 3),
        "posts_only_it_found": evidence.posts,
        "burst": round(evidence.burst, 3),
    }
    if evidence.expected is not None:
        numbers["expected"] = round(evidence.expected, 2)
    return numbers


def remember_candidates(memory: Memory, estimates: Mapping[str, Estimate]) -> None:
    """Remember the newest estimates of candidates, at most `REMEMBERED`."""
    for term, estimate in estimates.items():
        memory.candidates.pop(term, None)
        memory.candidates[term] = (estimate.high, estimate.posts)
    memory.candidates = dict([*memory.candidates.items()][-REMEMBERED:])


def claim_precision(state: State, counts: Counts) -> Estimate | None:
    """Estimate the precision of the whole collection: each post counts by its best keyword."""
    known = {term: keyword.precision or USUAL_PRECISION for term, keyword in state.keywords.items()}
    before = state.precision or Estimate(mean=0.0, low=0.0, high=0.0)
    posts = before.posts
    mean, low, high = before.mean * posts, before.low * posts, before.high * posts
    for carried in counts.keywords:
        if carried:
            best = max((known[term] for term in carried), key=_order)
            posts, mean = posts + 1, mean + best.mean
            low, high = low + best.low, high + best.high
    if not posts:
        return None
    return Estimate(mean=mean / posts, low=low / posts, high=high / posts, posts=posts)


def _order(estimate: Estimate) -> tuple[float, float, float]:
    return estimate.mean, estimate.low, estimate.high


def decode_memory(content: bytes) -> Memory:
    return msgspec.msgpack.decode(zlib.decompress(content), type=Memory) if content else Memory()


def encode_memory(memory: Memory) -> bytes:
    return zlib.compress(msgspec.msgpack.encode(memory), 1)
