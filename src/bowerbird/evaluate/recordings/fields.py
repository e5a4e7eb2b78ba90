"""The fields of recorded items that no shape reads, by their path."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from msgspec import Struct
from msgspec.inspect import Field, StructType, Type, type_info

from bowerbird.model import Page
from bowerbird.providers.items import tree
from bowerbird.providers.mastodon import parse as mastodon
from bowerbird.providers.twitter_v1.reading import shapes as twitter
from bowerbird.providers.weibo.reading import shapes as weibo
from bowerbird.providers.x.reading import shapes as x

_SHAPES: Mapping[str, tuple[type[Struct], type[Struct]]] = {
    "mastodon": (mastodon.Account, mastodon.Status),
    "twitter_v1": (twitter.Account, twitter.Tweet),
    "weibo": (weibo.Account, weibo.Status),
    "x": (x.Account, x.Tweet),
}
"""Per provider the shapes of a user and of a post. What lies in them as an item of its own is looked at as that item. (Posts of
Bluesky come in several forms, and most of their fields are the network's own to choose.)"""


class FieldCount:
    """How often a field was sent that nobody reads."""

    def __init__(self) -> None:
        self._unread: Counter[str] = Counter()

    def take(self, provider: str, page: Page) -> None:
        if provider not in _SHAPES:
            return
        user, post = _SHAPES[provider]
        self._unread.update(_unread("user", user, (item.raw for item in page.users)))
        self._unread.update(_unread("post", post, (item.raw for item in page.posts)))

    def unknown(self) -> dict[str, int]:
        """By path, the most frequent first."""
        return dict(sorted(self._unread.items(), key=lambda pair: (-pair[1], pair[0])))


def _unread(name: str, shape: type[Struct], raws: Iterable[bytes]) -> Iterator[str]:
    read = type_info(shape)
    for raw in raws:
        yield from _below(name, read, tree(raw) if raw else None)


def _below(path: str, read: Type, value: Any) -> Iterator[str]:
    """The paths of what was sent and is not in the shape; below a field read as it is, nothing is unknown."""
    if isinstance(value, list):
        for each in value:
            yield from _below(path, read, each)
        return
    fields = _fields(read)
    if fields is None or not isinstance(value, dict):
        return
    for name, each in value.items():
        if name not in fields:
            yield f"{path}.{name}"
        else:
            yield from _below(f"{path}.{name}", fields[name].type, each)


def _fields(read: Type) -> dict[str, Field] | None:
    """The fields of the struct that a type stands for, or of the one within its list or union."""
    if isinstance(read, StructType):
        return {field.encode_name: field for field in read.fields}
    inner = (*getattr(read, "types", ()), *filter(None, (getattr(read, "item_type", None),)))
    return next((found for each in inner if (found := _fields(each)) is not None), None)
