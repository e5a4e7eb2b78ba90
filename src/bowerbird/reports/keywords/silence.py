"""A warning for an event crawl whose last frames have no post."""

from __future__ import annotations

from collections.abc import Sequence

from bowerbird.ports import Row, Transaction

_FRAMES = 3
"""Frames in a row without a post that lead to the warning."""
_LAST = """
select heard, coalesce(collected, 0) as collected from keyword_frames
where crawl = ? and decided_at is not null order by frame desc limit ?
"""
_UNCOUNTED = "select count(*) as posts from keyword_posts where crawl = ? and frame is null"


async def read_silence(tx: Transaction, crawl: int) -> str:
    """Return a warning if none of the last frames has a post; otherwise an empty string."""
    frames = await tx.fetch(_LAST, crawl, _FRAMES)
    if len(frames) < _FRAMES or any(each["collected"] for each in frames):
        return ""
    (uncounted,) = await tx.fetch(_UNCOUNTED, crawl)
    return _said(frames, uncounted["posts"])


def _said(frames: Sequence[Row], uncounted: int) -> str:
    heard, last = sum(each["heard"] for each in frames), f"the last {len(frames)} frames"
    if heard:
        return (
            f"None of {heard:,} posts received in {last} contains a keyword. The event may not have begun, or be over. "
            "Otherwise pin a keyword that people use."
        )
    if uncounted:
        older = f"{uncounted:,} stored posts are older"
        return f"No post of {last} was received; {older}. If they are new, the clock of the server differs from ours."
    return f"No posts received in {last}. Check streams and errors with bowerbird status, and whether people use these keywords."
