"""Positions in a list, with a count of the empty pages that led there: a list of nothing else must come to an end."""

from __future__ import annotations

MOST_EMPTY = 100
"""Pages in a row that show nothing and name a next one: at forty posts each, four thousand that are not public."""
_MARK = " "


def bare(position: str | None) -> str | None:
    """The position as the server gave it."""
    return None if position is None else position.partition(_MARK)[0]


def after_empty(position: str, before: str | None) -> str | None:
    """The position behind one more empty page; None when there were too many in a row."""
    run = (before or "").partition(_MARK)[2]
    count = int(run) + 1 if run.isdigit() else 1
    return f"{position}{_MARK}{count}" if count < MOST_EMPTY else None
