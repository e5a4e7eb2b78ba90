"""Tags that users gave themselves, and trends: the payloads whose field names are themselves content."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from msgspec import Raw, Struct

from bowerbird.model import Subject, Trend, UserTag
from bowerbird.providers.items import UNREADABLE, Reader, count
from bowerbird.providers.page import is_number
from bowerbird.providers.weibo.reading.gather import WeiboGathering


class _Tagged(Struct):
    """One user of a batch with the tags."""

    id: int | str
    tags: list[Raw]


class _Trend(Struct, gc=False):
    name: str
    query: str | None = None
    amount: int | None = None


class _Trends(Struct):
    trends: dict[str, list[Raw]]


_tagged = Reader(_Tagged)
_tags = Reader(dict[str, Any])
_trend = Reader(_Trend)
_trend_pages = Reader(_Trends)


def user_tags_of(found: WeiboGathering, raws: Iterable[bytes]) -> tuple[UserTag, ...]:
    """The tags of one user, or of each user of a batch."""
    if len(found.ask.targets) == 1:
        return tuple(tag for raw in raws for tag in _of(found, found.ask.targets[0], raw))
    tags: list[UserTag] = []
    for raw in raws:
        try:
            user = _tagged.read(raw)
            if not is_number(str(user.id)):
                raise ValueError("an id is not a number")
        except UNREADABLE as error:
            found.quarantine_listed(Subject.USER, raw, error)
            continue
        tags += [tag for each in user.tags for tag in _of(found, str(user.id), bytes(each))]
    return tuple(tags)


def _of(found: WeiboGathering, user: str, raw: bytes) -> list[UserTag]:
    """`{"221012100001985342": "80后", "weight": 50}`: the id of the tag is the name of its field."""
    try:
        item = _tags.read(raw)
        tags = [UserTag(user, key, name, _weight(item.get("weight"))) for key, name in item.items() if _is_tag(key, name)]
        if not tags:
            raise ValueError("no tag in it")
    except UNREADABLE as error:
        found.quarantine(Subject.USER, raw, error)
        return []
    return tags


def _is_tag(key: str, name: Any) -> bool:
    return is_number(key) and isinstance(name, str) and bool(name)


def _weight(value: Any) -> int | None:
    if isinstance(value, str) and is_number(value):
        return count(int(value))
    return count(value) if isinstance(value, int) and not isinstance(value, bool) else None


def trends_of(found: WeiboGathering) -> tuple[Trend, ...]:
    """The words of the latest date, in the order given."""
    dates = _trend_pages.read(found.body).trends
    trends: list[Trend] = []
    for raw in dates[max(dates)] if dates else []:
        try:
            trend = _trend.read(bytes(raw))
        except UNREADABLE as error:
            found.quarantine(Subject.WORD, bytes(raw), error)
            continue
        trends.append(Trend(trend.name, len(trends) + 1, volume=count(trend.amount)))
    return tuple(trends)
