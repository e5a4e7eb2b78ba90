"""Hashtags and links that trend, and those an account features on its profile."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from bowerbird.model import Subject, Trend, UserTag, tag_form
from bowerbird.providers.common.reading.items import UNREADABLE, Reader, count
from bowerbird.providers.mastodon.reading.gather import MastodonGathering


class _Use(Struct, gc=False):
    uses: int | None = None


class _Trending(Struct):
    """A hashtag, or a link, with its use by day, the latest first."""

    name: str | None = None
    url: str | None = None
    history: list[_Use] | None = None


class _Featured(Struct, gc=False):
    id: str
    name: str
    statuses_count: int | None = None


_trending = Reader(_Trending)
_featured = Reader(_Featured)


def trends_of(found: MastodonGathering, raws: Iterable[bytes]) -> tuple[Trend, ...]:
    trends: list[Trend] = []
    for raw in raws:
        try:
            item = _trending.read(raw)
            word = tag_form(item.name) if item.name else item.url
            if not word:
                raise ValueError("a trend without a name")
        except UNREADABLE as error:
            found.harvest.quarantine(Subject.WORD, raw, error)
            continue
        trends.append(Trend(word, len(trends) + 1, volume=count(item.history[0].uses) if item.history else None))
    return tuple(trends)


def user_tags_of(found: MastodonGathering, raws: Iterable[bytes]) -> tuple[UserTag, ...]:
    """The hashtags that the account asked about features; how often it used each is the weight."""
    tags: list[UserTag] = []
    for raw in raws:
        try:
            item = _featured.read(raw)
        except UNREADABLE as error:
            found.harvest.quarantine(Subject.USER, raw, error)
            continue
        tags.append(UserTag(found.ask.targets[0], item.id, tag_form(item.name), count(item.statuses_count)))
    return tuple(tags)
