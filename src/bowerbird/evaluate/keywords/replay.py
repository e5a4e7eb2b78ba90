"""Replays a stream to a keyword method, and the figures of what the method collected."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from itertools import pairwise
from statistics import fmean, pstdev
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from bowerbird.evaluate.keywords.streams import FRAMES, START, Numbers, Stream
from bowerbird.keywords.keyword_set import replace_seeds
from bowerbird.keywords.values import (
    HISTORY,
    PROBE_POSTS,
    SPAN_FRAMES,
    Estimate,
    Frame,
    Method,
    Post,
    Probe,
    Settings,
    State,
)
from bowerbird.model.terms import Kind, Reading, kind_of

PARTS = 10
"""Parts of an event for which noise is reported."""
CALIBRATED = 0.10
"""Largest difference between claimed and true precision that counts as calibrated."""


class Replay(Struct, frozen=True, kw_only=True):
    """What a method collected."""

    collected: Numbers
    """Positions in the stream, in order."""
    keywords: tuple[frozenset[str], ...]
    """Those followed in each frame, and those decided at the end."""
    claims: tuple[Estimate | None, ...]
    """The precision of the collection that the method claimed after each frame."""


def replay(
    stream: Stream, method: Method, *, probes: int = 20, source: Replay | None = None
) -> Replay:
    """Replay a stream to a method, frame by frame.

    With `source`, the method reads the posts that another one collected instead of those that
    its keywords match. This is how the authors of RKwA evaluated it: on the posts of SKwA."""
    settings = Settings()
    state = replace_seeds(State(), stream.seeds, settings)
    keywords = [frozenset(state.keywords)]
    collected: list[int] = []
    claims = []
    answers: tuple[Probe, ...] = ()
    sampled = np.flatnonzero(stream.in_background)
    sampled_starts = np.searchsorted(sampled, stream.starts).tolist()
    for number in range(FRAMES):
        first, end = stream.starts[number], stream.starts[number + 1]
        if source is None:
            matching = find_matching(stream, state.keywords, first, end)
        else:
            inside = np.searchsorted(source.collected, (first, end))
            matching = source.collected[inside[0] : inside[1]].tolist()
        shown = sampled[max(0, sampled_starts[number + 1] - HISTORY) : sampled_starts[number + 1]]
        spans = range(max(0, number + 1 - SPAN_FRAMES), number + 1)
        counts = [sampled_starts[each + 1] - sampled_starts[each] for each in spans]
        frame = Frame(
            start=START + number * settings.frame,
            length=settings.frame,
            posts=tuple(map(stream.post, matching)),
            earlier=tuple(map(stream.post, collected[-HISTORY:])),
            background=tuple(map(stream.post, shown.tolist())),
            volumes=tuple(round(count / stream.share) for count in counts) if stream.share else (),
            probes=answers,
        )
        decision = method(state, frame, settings)
        state = decision.state
        collected += matching
        keywords.append(frozenset(state.keywords))
        claims.append(state.precision)
        answers = tuple(
            Probe(term=term, at=frame.end, posts=search(stream, term, number))
            for term in decision.probes[:probes]
        )
    return Replay(
        collected=np.array(collected, dtype=np.int32),
        keywords=tuple(keywords),
        claims=tuple(claims),
    )


def search(stream: Stream, term: str, frame: int) -> tuple[Post, ...]:
    """Return what a search at the end of a frame finds: the newest posts up to then."""
    positions = stream.positions_with(term)
    known = positions[: np.searchsorted(positions, stream.starts[frame + 1])]
    return tuple(map(stream.post, known[-PROBE_POSTS:].tolist()))


def find_matching(stream: Stream, keywords: Iterable[str], first: int, end: int) -> list[int]:
    """Return the positions from `first` to before `end` that a keyword matches."""
    is_matched = np.zeros(len(stream.readings), dtype=np.bool_)
    for keyword in keywords:
        is_matched[stream.texts_with(keyword)] = True
    found: list[int] = (first + np.flatnonzero(is_matched[stream.texts[first:end]])).tolist()
    return found


def measure(stream: Stream, result: Replay) -> dict[str, Any]:
    """Return precision, recall, F1, noise over time, and claimed against true precision."""
    is_hit = stream.is_event[result.collected]
    figures: dict[str, Any] = rate(int(is_hit.sum()), len(is_hit), stream.event_size)
    part = (stream.times[result.collected] * PARTS / FRAMES).astype(int)
    posts, noise = np.bincount(part, minlength=PARTS), np.bincount(part[~is_hit], minlength=PARTS)
    claim = result.claims[-1]
    return {
        **figures,
        "noise_over_time": [
            round(float(bad / all_), 4) if all_ else None
            for bad, all_ in zip(noise, posts, strict=True)
        ],
        "keywords": len(result.keywords[-1]),
        "most_keywords": max(map(len, result.keywords)),
        "claimed": None if claim is None else round(claim.mean, 4),
        "claim_error": None if claim is None else round(claim.mean - figures["precision"], 4),
    }


def rate(hits: int, collected: int, event_size: int) -> dict[str, Any]:
    """Return precision, recall and F1; the precision of an empty collection is 0."""
    return {
        "f1": round(2 * hits / (collected + event_size), 4) if event_size else 0.0,
        "precision": round(hits / collected, 4) if collected else 0.0,
        "recall": round(hits / event_size, 4) if event_size else 0.0,
        "collected": collected,
    }


def summarise(by_event: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Return mean, spread and worst event of the figures of one method."""
    events = list(by_event.values())
    summary: dict[str, Any] = {
        name: round(fmean(each[name] for each in events), 4)
        for name in ("f1", "precision", "recall")
    }
    worst = min(by_event, key=lambda event: by_event[event]["f1"])
    summary["spread"] = {
        name: round(pstdev(each[name] for each in events), 4)
        for name in ("f1", "precision", "recall")
    }
    summary["worst"] = {"event": worst, "f1": by_event[worst]["f1"]}
    summary["lowest_precision"] = min(each["precision"] for each in events)
    if "noise_over_time" in events[0]:
        by_part = zip(*(each["noise_over_time"] for each in events), strict=True)
        known = [[share for share in shares if share is not None] for shares in by_part]
        summary["noise_over_time"] = [round(fmean(part), 4) if part else None for part in known]
        errors = [each["claim_error"] for each in events if each["claim_error"] is not None]
        near = sum(abs(error) <= CALIBRATED for error in errors)
        summary["calibrated_share"] = round(near / len(events), 4) if errors else None
        summary["mean_claim_error"] = round(fmean(map(abs, errors)), 4) if errors else None
    return summary


def choose_best_keywords(
    stream: Stream, *, hashtags_only: bool = False, most: int = Settings().max_keywords
) -> tuple[list[str], dict[str, Any]]:
    """Return the keywords that labels would choose for the whole stream, and their figures.

    Greedy: add the term that raises F1 most until no term raises it. A method could reach this if
    it knew all posts and labels from the beginning."""
    uses = np.bincount(stream.texts, minlength=len(stream.readings))
    hits = np.bincount(stream.texts[stream.is_event], minlength=len(stream.readings))

    frequency: Counter[str] = Counter()
    for text in np.flatnonzero(hits).tolist():
        frequency.update(list_terms(stream.readings[text], hashtags_only=hashtags_only))
    terms = sorted(term for term, count in frequency.items() if count > 1)
    number_of = {term: number for number, term in enumerate(terms)}

    texts_with: defaultdict[int, list[int]] = defaultdict(list)
    terms_of: list[list[int]] = []
    for text, reading in enumerate(stream.readings):
        found = list_terms(reading, hashtags_only=hashtags_only)
        numbers = [number_of[term] for term in found if term in number_of]
        terms_of.append(numbers)
        for number in numbers:
            texts_with[number].append(text)

    # Uses and hits that each term would add; kept up to date as texts are covered.
    gain_uses: NDArray[np.int64] = np.array([uses[texts_with[n]].sum() for n in range(len(terms))])
    gain_hits: NDArray[np.int64] = np.array([hits[texts_with[n]].sum() for n in range(len(terms))])
    is_covered = np.zeros(len(stream.readings), dtype=np.bool_)
    chosen: list[str] = []
    total_hits = total_uses = 0
    while terms and len(chosen) < most:
        scores = 2 * (total_hits + gain_hits) / (total_uses + gain_uses + stream.event_size)
        best = int(scores.argmax())
        if scores[best] <= 2 * total_hits / max(1, total_uses + stream.event_size) + 1e-12:
            break
        chosen.append(terms[best])
        for text in texts_with[best]:
            if not is_covered[text]:
                is_covered[text] = True
                total_hits += int(hits[text])
                total_uses += int(uses[text])
                gain_hits[terms_of[text]] -= hits[text]
                gain_uses[terms_of[text]] -= uses[text]
    return chosen, {**rate(total_hits, total_uses, stream.event_size), "keywords": len(chosen)}


def list_terms(reading: Reading, *, hashtags_only: bool = False) -> set[str]:
    """Return the hashtags, words and bigrams that match a text, hashtags as words too."""
    tags = reading.hashtags
    if hashtags_only:
        return tags
    words = {token for token in reading.tokens if kind_of(token) is Kind.WORD}
    bigrams = {
        f"{one} {other}"
        for one, other in pairwise(reading.tokens)
        if one[0] not in "#@" and other[0] not in "#@"
    }
    return tags | words | bigrams | {tag[1:] for tag in tags}
