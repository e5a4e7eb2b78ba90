"""Numbers, times and addresses as pages show them. Pure."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import quote, urlsplit

from bowerbird.model.times import span

NONE = "\u2013"
_KILO = 1024
_LARGE = 100
"""From here on the parts of a number say nothing."""
_HTTP = ("http", "https")
_PLAIN = re.compile(r"[A-Za-z0-9_.~%-]*")
_SECONDS = len("2026-05-01 12:00:00")
_SOON = timedelta(seconds=2)


def number(value: Any) -> str:
    """`12,345`, `~12,300` for an estimate, `0.27`, of large ones no parts; a dash for what nobody knows."""
    if value is None:
        return NONE
    if hasattr(value, "is_exact"):
        return f"{'' if value.is_exact else '~'}{value.value:,}"
    if isinstance(value, int) or abs(value) >= _LARGE:
        return f"{value:,.0f}"
    return f"{value:,.2f}".rstrip("0").rstrip(".")


def store_name(store: str) -> str:
    """A file without its folders, which are long and nobody's business; an address of a database as it is."""
    return store if "://" in store else store.rpartition("/")[2] or store


def rate(per_second: float | None) -> str:
    """Per second while that says something, otherwise per minute or hour."""
    if per_second is None:
        return NONE
    if per_second <= 0:
        return "0/s"
    for amount, unit in ((per_second, "s"), (per_second * 60, "min"), (per_second * 3_600, "h")):
        if amount >= 0.5 or unit == "h":
            return f"{amount:,.0f}/{unit}" if amount >= 10 else f"{amount:.1f}/{unit}"
    return NONE


def size(count: int | None) -> str:
    """Bytes in the largest unit that leaves a number above one."""
    if count is None:
        return NONE
    amount, units = float(count), ["B", "KB", "MB", "GB", "TB"]
    while amount >= _KILO and len(units) > 1:
        amount /= _KILO
        units.pop(0)
    return f"{amount:.0f} {units[0]}" if units[0] == "B" else f"{amount:.1f} {units[0]}"


def share(part: float | None, whole: float = 1) -> str:
    """A percentage that says 100 only when nothing is missing."""
    if part is None or not whole:
        return NONE
    percent = part / whole * 100
    return "100 %" if part >= whole else f"{min(percent, 99.9):.1f} %"


def age(when: datetime | None, now: datetime) -> str:
    """`3 min ago`, `in 2 h`, `now`."""
    if when is None:
        return NONE
    passed = now - when
    if abs(passed) < _SOON:
        return "now"
    return f"{_roughly(passed)} ago" if passed > timedelta(0) else f"in {_roughly(-passed)}"


def _roughly(time: timedelta) -> str:
    """A span in the unit that matters; hours with their minutes."""
    seconds = round(time.total_seconds())
    if seconds < 60:
        return f"{seconds} s"
    if seconds < 3_600:
        return f"{seconds // 60} min"
    return span(timedelta(seconds=seconds)) if seconds < 86_400 else f"{seconds // 86_400:,} d"


def lasting(time: timedelta | None) -> str:
    """`2 h 5 min`: a span in its two largest units."""
    return NONE if time is None else span(time)


def brief(time: timedelta | None) -> str:
    """How long a step of our own took: `85 µs`, `12.5 ms`, `1.4 s`, and longer times as `lasting` says them."""
    if time is None:
        return NONE
    micros = time / timedelta(microseconds=1)
    for up_to, divisor, unit in ((1_000, 1, "µs"), (1_000_000, 1_000, "ms"), (60_000_000, 1_000_000, "s")):
        if micros < up_to:
            amount = micros / divisor
            return f"{amount:.0f} {unit}" if amount >= 100 or unit == "µs" else f"{amount:.1f} {unit}"
    return lasting(time)


def exact(when: datetime | None) -> str:
    """A time to the second, in UTC."""
    return NONE if when is None else f"{when.astimezone(UTC).isoformat(' ')[:_SECONDS]} UTC"


def in_path(text: str) -> str:
    """A name or an id as one part of an address."""
    # Tables have hundreds of them, nearly all of them addresses without anything else to encode.
    told = str(text)
    quickly = told.replace("%", "%25").replace(":", "%3A").replace("/", "%2F")
    return quickly if _PLAIN.fullmatch(quickly) else quote(told, safe="")


def safe_link(url: Any) -> str:
    """An address from a network if a browser may open it: `http` or `https` with a host; otherwise nothing."""
    try:
        parts = urlsplit(str(url or ""))
    except ValueError:
        return ""
    return str(url) if parts.scheme.lower() in _HTTP and parts.netloc else ""
