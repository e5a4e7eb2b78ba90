"""How people write durations and names, and what they may have meant."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import timedelta
from difflib import get_close_matches

_UNITS = {
    "w": timedelta(weeks=1),
    "d": timedelta(days=1),
    "h": timedelta(hours=1),
    "m": timedelta(minutes=1),
    "s": timedelta(seconds=1),
}
_PART = re.compile(r"(\d+(?:\.\d+)?)([wdhms])")
_WHOLE = re.compile(r"(?:\d+(?:\.\d+)?[wdhms])+")
_LONGEST = timedelta(weeks=5200)


def duration(text: str) -> timedelta:
    """The time span meant by `15m`, `1h30m` or `7d`; raises `ValueError` that says how to write one."""
    squeezed = text.replace(" ", "").lower()
    if not _WHOLE.fullmatch(squeezed):
        raise ValueError(f"{text!r} is not a duration; write a number with a unit, such as 90s, 15m, 1h30m, 7d or 2w")
    try:
        span = sum((float(number) * _UNITS[unit] for number, unit in _PART.findall(squeezed)), timedelta())
    except OverflowError:
        span = timedelta.max
    if not timedelta() < span <= _LONGEST:
        raise ValueError(f"{text!r} is not a usable duration; it must be longer than zero and at most a hundred years")
    return span


def spell(span: timedelta) -> str:
    """The span as `duration` reads it: `1h30m`."""
    parts = []
    for letter, unit in _UNITS.items():
        if letter == "s":
            break
        count, span = divmod(span, unit)
        parts.append(f"{count}{letter}" if count else "")
    seconds = span.total_seconds()
    return "".join(parts) + (f"{seconds:f}".rstrip("0").rstrip(".") + "s" if seconds or not any(parts) else "")


def meant(word: str, allowed: Iterable[str]) -> str:
    """` (did you mean 'timeline'?)` when something allowed is near, else nothing."""
    near = get_close_matches(word, list(allowed), n=1, cutoff=0.6)
    return f" (did you mean {near[0]!r}?)" if near else ""


def listed(words: Iterable[str]) -> str:
    return ", ".join(sorted(words)) or "none"
