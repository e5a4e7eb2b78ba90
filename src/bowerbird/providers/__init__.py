"""The networks by name. A network's code is loaded when it is first used."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any

from bowerbird.errors import UserError
from bowerbird.model import TRAITS, KeptItem, Post, User
from bowerbird.providers.base import Now, Provider
from bowerbird.providers.items import UNREADABLE
from bowerbird.providers.limit_overrides import Overrides, with_limits

if TYPE_CHECKING:
    from bowerbird.providers.bluesky import Bluesky
    from bowerbird.providers.mastodon import Mastodon
    from bowerbird.providers.twitter_v1 import TwitterV1
    from bowerbird.providers.weibo import Weibo
    from bowerbird.providers.x import XV2

__all__ = [
    "PROVIDERS",
    "XV2",
    "Bluesky",
    "Mastodon",
    "Overrides",
    "Provider",
    "TwitterV1",
    "Weibo",
    "provider",
    "remap",
    "with_limits",
]

_CLASSES = {
    "bluesky": "Bluesky",
    "mastodon": "Mastodon",
    "x": "XV2",
    "twitter_v1": "TwitterV1",
    "weibo": "Weibo",
}
"""Provider, which is also the name of its folder, and class."""


class _Providers(Mapping[str, type[Provider]]):
    def __getitem__(self, name: str) -> type[Provider]:
        kind: type[Provider] = getattr(import_module(f"{__name__}.{name}"), _CLASSES[name])
        return kind

    def __iter__(self) -> Iterator[str]:
        return iter(_CLASSES)

    def __len__(self) -> int:
        return len(_CLASSES)

    def __contains__(self, name: object) -> bool:
        return name in _CLASSES


PROVIDERS: Mapping[str, type[Provider]] = _Providers()


def __getattr__(name: str) -> Any:
    for folder, kind in _CLASSES.items():
        if kind == name:
            return PROVIDERS[folder]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def provider(name: str, *, now: Now = None, base: str = "") -> Provider:
    """Return the provider of that name, for a service at `base`."""
    if name not in PROVIDERS:
        raise UserError(
            f"There is no provider {name!r}.",
            f"Choose one of {', '.join(PROVIDERS)}.",
            code="unknown_provider",
        )
    return PROVIDERS[name](now=now, base=base or "")


def remap(item: KeptItem) -> User | Post | None:
    """Map a stored payload again with today's code; None if no API of its network can read it."""
    for name, traits in TRAITS.items():
        if traits.network.name == item.network:
            try:
                mapped = provider(name).remap(item)
            except UNREADABLE:
                continue
            if mapped is not None and mapped.id == item.id:
                return mapped
    return None
