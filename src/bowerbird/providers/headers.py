"""Parse response headers: rate limits, waiting times, the next page."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from urllib.parse import parse_qs, urlsplit

from bowerbird.model import Answer, Outcome, Reading
from bowerbird.providers.text import moment

MAX_CURSOR = 300
_COUNT = re.compile(r"\d{1,15}", re.ASCII)
_NEXT = re.compile(r"<([^<>]{1,9000})>\s*;\s*rel=\"?next\"?")
_MAX_LINK = 10_000


def reading(headers: Mapping[str, str], prefix: str) -> Reading | None:
    """Return the rate limit from `<prefix>-limit`, `-remaining` and `-reset`."""
    limit, remaining = (_count(headers.get(f"{prefix}-{name}")) for name in ("limit", "remaining"))
    reset_at = moment(headers.get(f"{prefix}-reset"))
    if limit is None and remaining is None and reset_at is None:
        return None
    return Reading(limit, remaining, reset_at)


def retry_after(answer: Answer) -> timedelta | None:
    """Return the time of `Retry-After`, given in seconds or as a date of the server's clock."""
    text = answer.headers.get("retry-after")
    if text is None:
        return None
    seconds = _count(text)
    if seconds is not None:
        return timedelta(seconds=min(seconds, 86_400 * 31))
    until = http_date(text)
    sent_at = http_date(answer.headers.get("date")) or answer.received_at
    return max(until - sent_at, timedelta(0)) if until else None


def next_position(headers: Mapping[str, str], name: str) -> str | None:
    """Return the query parameter `name` of the next page in the `Link` header; never the URL, which may lead elsewhere.

    Raises ValueError for a position that cannot be sent back: it must not pass for the end of the list.
    """
    link = headers.get("link", "")
    if len(link) > _MAX_LINK:
        raise ValueError("a link that is too long to be used")
    if "next" not in link:
        return None
    match = _NEXT.search(link)
    values = (
        parse_qs(urlsplit(match[1]).query, max_num_fields=50).get(name)
        if match is not None
        else None
    )
    return usable(values[0]) if values else None


def usable(position: str) -> str:
    """Return a position that can be sent back. Raises ValueError otherwise."""
    if len(position) > MAX_CURSOR or not position.isprintable():
        raise ValueError("a position that cannot be used")
    return position


def http_date(text: str | None) -> datetime | None:
    """Parse a date as HTTP writes it."""
    try:
        when = parsedate_to_datetime(text or "")
        return when.astimezone(UTC) if when.tzinfo else when.replace(tzinfo=UTC)
    except (ValueError, TypeError, OverflowError, IndexError):
        return None


def unexplained(status: int) -> Outcome:
    """Return the outcome of a status without further explanation. Redirects are not followed: they come from a proxy, or from a
    server that has moved."""
    if status >= 500:
        return Outcome.OVERLOADED
    return Outcome.UNREADABLE if 300 <= status < 400 else Outcome.BAD_REQUEST


def _count(text: str | None) -> int | None:
    return int(text) if text and _COUNT.fullmatch(text) else None
