"""Frames made by hand, for tests of keyword methods."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from bowerbird.keywords.values import Frame, Post, Settings
from bowerbird.model.terms import read_text

NOON = datetime(2012, 8, 4, 12, tzinfo=UTC)


def post(text: str, at: datetime = NOON) -> Post:
    return Post(at=at, reading=read_text(text))


def frame_of(texts: Iterable[str | tuple[str, float]], settings: Settings, number: int = 0, **fields: Any) -> Frame:
    """A frame with these collected texts; a tuple has the minute of its post."""
    start = NOON + number * settings.frame
    pairs = [(text, 0.0) if isinstance(text, str) else text for text in texts]
    posts = [post(text, start + timedelta(minutes=minute)) for text, minute in pairs]
    ordered = sorted(posts, key=lambda each: each.at)
    return Frame(start=start, length=settings.frame, posts=tuple(ordered), **fields)


def frame_with_counts(counts: Mapping[str, Sequence[int]], settings: Settings, number: int = 0) -> Frame:
    """A frame with so many posts with each term alone in each slot."""
    width = settings.frame / settings.slots / timedelta(minutes=1)
    texts = [(term, slot * width) for term, by_slot in counts.items() for slot, count in enumerate(by_slot) for _ in range(count)]
    return frame_of(texts, settings, number)
