"""What the headers of an answer say: limits, waiting times, the next page."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from urllib.parse import parse_qs, urlsplit

from bowerbird.model import Answer, Reading
from bowerbird.providers.common.reading.times import moment

_COUNT = re.compile(r"\d{1,15}", re.ASCII)
_NEXT = re.compile(r"<([^<>]{1,9000})>\s*;\s*rel=\"?next\"?")
LONGEST_CURSOR = 300
_LONGEST_LINK = 10_000


def reading(headers: Mapping[str, str], prefix: str) -> Reading | None:
    """The limit the server reports under `<prefix>-limit`, `-remaining` and `-reset`, as far as it can be read."""
    limit, remaining = (_count(headers.get(f"{prefix}-{name}")) for name in ("limit", "remaining"))
    reset_at = moment(headers.get(f"{prefix}-reset"))
    if limit is None and remaining is None and reset_at is None:
        return None
    return Reading(limit, remaining, reset_at)


def retry_after(answer: Answer) -> timedelta | None:
    """How long the server asks us to wait, given in seconds or as a date of its own clock."""
    text = answer.headers.get("retry-after")
    if text is None:
        return None
    seconds = _count(text)
    if seconds is not None:
        return timedelta(seconds=min(seconds, 86_400 * 31))
    until = http_date(text)
    asked = http_date(answer.headers.get("date")) or answer.received_at
    return max(until - asked, timedelta(0)) if until else None


def next_position(headers: Mapping[str, str], name: str) -> str | None:
    """The parameter `name` of the `Link` header's next page; never the address itself, which may lead elsewhere.

    Raises ValueError for one that cannot be sent back: it must not pass for the end of the list.
    """
    link = headers.get("link", "")
    if len(link) > _LONGEST_LINK:
        raise ValueError("a link that is too long to be used")
    if "next" not in link:
        return None
    found = _NEXT.search(link)
    values = parse_qs(urlsplit(found[1]).query, max_num_fields=50).get(name) if found is not None else None
    return usable(values[0]) if values else None


def usable(position: str) -> str:
    """The position to go on from; raises ValueError for one that cannot be sent back."""
    if len(position) > LONGEST_CURSOR or not position.isprintable():
        raise ValueError("a position that cannot be used")
    return position


def _count(text: str | None) -> int | None:
    return int(text) if text and _COUNT.fullmatch(text) else None


def http_date(text: str | None) -> datetime | None:
    """A time as HTTP writes it, such as the server's own `Date`."""
    try:
        when = parsedate_to_datetime(text or "")
        return when.astimezone(UTC) if when.tzinfo else when.replace(tzinfo=UTC)
    except (ValueError, TypeError, OverflowError, IndexError):
        return None
