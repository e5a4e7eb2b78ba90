"""Numbers, spans and sizes as people read them, always in the same few characters."""

from __future__ import annotations

from datetime import datetime, timedelta

from bowerbird.model.times import span as span
from bowerbird.model.wording import outcome_words as outcome_words

_MINUTE, _HOUR = 60, 3_600
_KILO = 1024


def stopwatch(time: timedelta) -> str:
    """`0:07`, `12:30`, `1:02:03`: a running time that keeps its width."""
    seconds = max(0, int(time.total_seconds()))
    hours, rest = divmod(seconds, _HOUR)
    clock = f"{rest // _MINUTE:02}:{rest % _MINUTE:02}" if hours else f"{rest // _MINUTE}:{rest % _MINUTE:02}"
    return f"{hours}:{clock}" if hours else clock


def rate(per_second: float) -> str:
    """Per second while that says something, otherwise per minute or hour."""
    if per_second >= 10:
        return f"{per_second:,.0f}/s"
    if per_second >= 0.5 or per_second <= 0:
        return f"{per_second:.1f}/s"
    return f"{per_second * _MINUTE:.1f}/min" if per_second * _MINUTE >= 1 else f"{per_second * _HOUR:.1f}/h"


def size(count: int) -> str:
    """Bytes in the largest unit that leaves a number above one."""
    amount, units = float(count), ["B", "KB", "MB", "GB", "TB"]
    while amount >= _KILO and len(units) > 1:
        amount /= _KILO
        units.pop(0)
    return f"{amount:.0f} {units[0]}" if units[0] == "B" else f"{amount:.1f} {units[0]}"


def at(when: datetime, now: datetime) -> str:
    """A time in UTC: with its date only when that is another day."""
    return f"{when:%H:%M:%S} UTC" if when.date() == now.date() else f"{when:%Y-%m-%d %H:%M} UTC"


def many(count: int, word: str) -> str:
    """`1 call`, `12,345 calls`."""
    return f"{count:,} {word}" + ("" if count == 1 else "s")


def amounts(*, posts: int, users: int, items: int, calls: int) -> str:
    """`1,614 posts, 82 profiles, 5 relations or reactions with 20 calls`: what a crawl, or a run of it, brought first."""
    parts = [many(posts, "post"), many(users, "profile")]
    others = items - posts - users
    parts += [f"{others:,} relations or reactions" if others != 1 else "1 relation or reaction"] if others else []
    return ", ".join(parts) + f" with {many(calls, 'call')}"


def answers(count: int | str, name: str) -> str:
    """`12 not there`."""
    return f"{count:,} {outcome_words(name)}" if isinstance(count, int) else f"{count} {outcome_words(name)}"


def share(part: int, whole: int) -> str:
    """A percentage that says 100 only when nothing is missing."""
    if not whole:
        return "none"
    percent = part / whole * 100
    return "100 %" if part >= whole else f"{min(percent, 99.9):.1f} %"
