"""What Weibo says of its limits: nothing in headers, a little in refusals, all of it in `account/rate_limit_status`."""

from __future__ import annotations

from datetime import datetime, timedelta

from msgspec import Struct

from bowerbird.model import EPOCH, Answer, Facet, Limit, Reading
from bowerbird.providers import headers
from bowerbird.providers.items import Reader
from bowerbird.providers.text import iso
from bowerbird.providers.weibo.reading.outcomes import ADDRESS_LIMIT, USER_LIMIT

_BEIJING = timedelta(hours=8)
_FIRST_EPOCH = 10**9
"""The first API wrote the reset as an epoch in the field that now counts the seconds left."""


class _Status(Struct):
    remaining_user_hits: int
    user_limit: int | None = None
    remaining_ip_hits: int | None = None
    ip_limit: int | None = None
    reset_time: str | None = None
    reset_time_in_seconds: int | None = None


_statuses = Reader(_Status)


def of_refusal(code: int, facet: Facet, answer: Answer) -> Reading | None:
    """A refusal names its limit, and windows end on the hour: so the bucket is empty until then."""
    bucket = {USER_LIMIT: "/user", ADDRESS_LIMIT: "/address"}.get(code)
    limit = next((each for each in facet.limits if bucket and each.bucket.endswith(bucket)), None)
    return None if limit is None else Reading(limit.allowance, 0, _window_end(limit, _server_time(answer)))


def of_status(body: bytes, answer: Answer) -> Reading:
    """The tighter of the two limits, as the service counts them."""
    status = _statuses.read(body)
    reset_at = _reset(status, _server_time(answer))
    user = Reading(status.user_limit, max(0, status.remaining_user_hits), reset_at)
    if status.remaining_ip_hits is None or status.remaining_ip_hits >= status.remaining_user_hits:
        return user
    return Reading(status.ip_limit, max(0, status.remaining_ip_hits), reset_at)


def _reset(status: _Status, now: datetime) -> datetime | None:
    wall = iso(status.reset_time)
    if wall is not None and wall - EPOCH > _BEIJING:
        return wall - _BEIJING
    seconds = status.reset_time_in_seconds
    if seconds is None or not 0 <= seconds < 10 * _FIRST_EPOCH:
        return None
    return EPOCH + timedelta(seconds=seconds) if seconds >= _FIRST_EPOCH else now + timedelta(seconds=seconds)


def _window_end(limit: Limit, now: datetime) -> datetime:
    return now - (now - EPOCH) % limit.window + limit.window


def _server_time(answer: Answer) -> datetime:
    return headers.http_date(answer.headers.get("date")) or answer.received_at
