"""Control searches: a background for networks that show no sample of all posts, such as X.

A search for an ordinary word returns the newest posts with it, whatever they are about: a sample of
the network in one language. Their rate, divided by the ordinary share of the word, estimates how
many posts the network has. Control words are more frequent than any candidate, so the two kinds of
probes never mix."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from itertools import zip_longest
from statistics import fmean

from msgspec.structs import replace

from bowerbird.keywords.reference import ordinary_share
from bowerbird.keywords.values import SPAN_FRAMES, Frame, Probe
from bowerbird.model.terms import Kind, Reading, kind_of

MIN_SHARE, MAX_SHARE = 0.02, 0.12
"""Ordinary share of a control word. More frequent words are often ignored by search engines."""
MIN_LETTERS = 4
CONTROLS = 3
"""Control searches of a frame."""
WORDS = 12
"""The words that take turns: the most frequent ones of the event's posts."""
CANDIDATES_BETWEEN = 4
"""Candidates between two control searches, so that a small number of probes has both."""


def is_control(term: str) -> bool:
    is_long_word = kind_of(term) is Kind.WORD and len(term) >= MIN_LETTERS
    return is_long_word and MIN_SHARE <= ordinary_share(term) <= MAX_SHARE


def choose_controls(readings: Iterable[Reading], turn: int) -> list[str]:
    """Return the control words to search for: ordinary words of the event's language, in turn."""
    counts = Counter(token for reading in readings for token in set(reading.tokens))
    ranked = sorted(counts, key=lambda word: (-counts[word], word))
    words = [word for word in ranked if is_control(word)][:WORDS]
    first = turn * CONTROLS
    return [words[(first + number) % len(words)] for number in range(min(CONTROLS, len(words)))]


def mix_probes(controls: Iterable[str], candidates: list[str]) -> tuple[str, ...]:
    """Return the probes to make: a control, some candidates, the next control, and so on."""
    groups = [candidates[start : start + CANDIDATES_BETWEEN] for start in range(0, len(candidates), CANDIDATES_BETWEEN)]
    mixed = zip_longest(controls, groups)
    return tuple(term for control, group in mixed for term in ([control] if control else []) + (group or []))


def add_background(frame: Frame) -> Frame:
    """Return the frame with a background and volumes from its control searches, if it has any."""
    controls = [probe for probe in frame.probes if is_control(probe.term) and probe.posts]
    rates = [estimate_rate(probe) for probe in controls if probe.posts[0].at < probe.at]
    if not rates:
        return frame
    posts = {(post.at, post.reading.tokens): post for probe in controls for post in probe.posts}
    volume = round(fmean(rates) * frame.length.total_seconds())
    return replace(
        frame,
        background=tuple(posts[key] for key in sorted(posts)),
        volumes=(volume,) * SPAN_FRAMES,
    )


def estimate_rate(probe: Probe) -> float:
    """Return the posts per second on the network, in the language of a control word."""
    span = (probe.at - probe.posts[0].at).total_seconds()
    return len(probe.posts) / span / ordinary_share(probe.term)
