"""Whether an event crawl brings nothing: no keyword can come of that, and whoever waits for posts must be told."""

from __future__ import annotations

from collections.abc import Sequence

from bowerbird.ports import Row, Transaction

_FRAMES = 3
"""Decided in a row without a post before anything is said."""
_LAST = """
select heard, coalesce(collected, 0) as collected from keyword_frames
where crawl = ? and decided_at is not null order by frame desc limit ?
"""
_UNCOUNTED = "select count(*) as posts from keyword_posts where crawl = ? and frame is null"


async def read_silence(tx: Transaction, crawl: int) -> str:
    """What is to be said of the last frames where none has a post; empty: nothing."""
    frames = await tx.fetch(_LAST, crawl, _FRAMES)
    if len(frames) < _FRAMES or any(each["collected"] for each in frames):
        return ""
    (uncounted,) = await tx.fetch(_UNCOUNTED, crawl)
    return _said(frames, uncounted["posts"])


def _said(frames: Sequence[Row], uncounted: int) -> str:
    heard, last = sum(each["heard"] for each in frames), f"the last {len(frames)} frames"
    if heard:
        return f"none of {heard:,} posts heard in {last} carries a keyword: pin one that people use (bowerbird keywords pin)"
    if uncounted:
        older = f"{uncounted:,} posts are stored that were written before"
        return f"no post of {last} was heard, and {older}: if they are new, the server's time is not ours"
    return f"nothing was heard in {last}: see the streams and errors in status, and whether people write these keywords"
