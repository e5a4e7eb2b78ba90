"""What a state learns from a frame: which terms the event has, how far posts with known terms look like it."""

from __future__ import annotations

from collections.abc import Mapping
from heapq import nsmallest

from msgspec.structs import replace

from bowerbird.policies.keywords.values import Evidence, Familiar, Frame, State

_HALF_LIFE = 2_000
"""Texts after which the same text counts half, or twelve frames of them where that is more."""
_FRAMES = 12
_SEED_HALF_LIFE = 200
"""Posts with a seed: what looks like the event changes with what is known of it."""
_MOST_TERMS, _MOST_PHRASES, _MOST_COMMON = 1_000, 300, 1_000
"""Single terms and phrases of the event, and terms that are common everywhere."""
_MOST_EVIDENCE = 2_000


def fading(texts: float) -> float:
    """What remains of what was known before a frame with so many texts."""
    return float(0.5 ** (texts / max(_HALF_LIFE, _FRAMES * texts)))


def learned(state: State, frame: Frame) -> State:
    """The same with the vocabulary and the evidence of one more frame."""
    sampled = frame.background
    faded, faded_sample = fading(frame.distinct), fading(sampled.distinct if sampled else 0)
    numbers = {
        **state.numbers,
        "texts": state.numbers.get("texts", 0.0) * faded + frame.distinct,
        "anchors": state.numbers.get("anchors", 0.0) * faded + frame.anchors,
        "background_texts": state.numbers.get("background_texts", 0.0) * faded_sample + (sampled.distinct if sampled else 0),
    }
    numbers |= _rates(state, frame, faded_sample)
    texts = sampled.texts if sampled else {}
    vocabulary = _vocabulary(state.vocabulary, frame, (faded, faded_sample), texts)
    return replace(state, vocabulary=vocabulary, numbers=numbers, evidence=_evidence(state, frame, faded))


def _vocabulary(
    known: Mapping[str, Familiar], frame: Frame, fades: tuple[float, float], everywhere: Mapping[str, int]
) -> dict[str, Familiar]:
    (faded, faded_sample), here, anchored, none = fades, frame.texts, frame.anchored, Familiar()
    whole = {
        term: Familiar(was.event * faded, was.background * faded_sample, was.anchored * faded) for term, was in known.items()
    }
    for term in {**here, **everywhere}:
        was = whole.get(term, none)
        whole[term] = Familiar(
            was.event + here.get(term, 0), was.background + everywhere.get(term, 0), was.anchored + anchored.get(term, 0)
        )
    return _bounded(whole)


def _bounded(whole: Mapping[str, Familiar]) -> dict[str, Familiar]:
    """The terms that are most frequent in the event, and single ones that are common everywhere: the whole of it is kept with the
    state."""
    words = [(-known.event, term) for term, known in whole.items() if " " not in term]
    several = [(-known.event, term) for term, known in whole.items() if " " in term and known.event > 1]
    common = [(-known.background, term) for term, known in whole.items() if " " not in term]
    chosen = (*nsmallest(_MOST_TERMS, words), *nsmallest(_MOST_PHRASES, several), *nsmallest(_MOST_COMMON, common))
    return {term: whole[term] for _, term in chosen}


def _rates(state: State, frame: Frame, faded_sample: float) -> dict[str, float]:
    """How many posts with a seed, and how many of everything, looked like the event: the two ends of the scale."""
    was, sampled = state.numbers, frame.background
    if not was.get("anchors"):
        # Nothing was known yet by which a post could have looked like the event.
        return {}
    seeds = sum(frame.judged.get(seed, 0) for seed in state.seeds)
    shown = float(0.5 ** (seeds / _SEED_HALF_LIFE))
    new = {
        "seed_posts": (shown, seeds),
        "seed_alike": (shown, sum(frame.alike.get(seed, 0) for seed in state.seeds)),
        "sampled": (faded_sample, sum(sampled.posts) if sampled else 0),
        "sampled_alike": (faded_sample, sampled.alike if sampled else 0),
        "sampled_followed": (faded_sample, sampled.followed if sampled else 0),
    }
    return {name: was.get(name, 0.0) * keep + more for name, (keep, more) in new.items()}


def _evidence(state: State, frame: Frame, faded: float) -> dict[str, Evidence]:
    """Of followed keywords by all that was collected with them; of others by probes, the last counting as much as all before."""
    found = dict(state.evidence)
    for keyword in state.keywords:
        if count := frame.judged.get(keyword):
            was = found.get(keyword, Evidence())
            found[keyword] = replace(
                was, posts=was.posts * faded + count, alike=was.alike * faded + frame.alike.get(keyword, 0), new=was.new * faded
            )
    for probe in frame.probes:
        was = found.get(probe.term, Evidence())
        found[probe.term] = Evidence(
            posts=was.posts / 2 + probe.posts, alike=was.alike / 2 + probe.alike, new=was.new / 2 + probe.new, looked_at=probe.at
        )
    if len(found) <= _MOST_EVIDENCE:
        return found
    followed = {term: evidence for term, evidence in found.items() if term in state.keywords}
    others = sorted(found.keys() - followed.keys(), key=lambda term: (-found[term].alike, term))
    return followed | {term: found[term] for term in others[: _MOST_EVIDENCE - len(followed)]}
