"""The networks bowerbird can ask, by name; each is a table of facets and pure functions.

The code of a network is loaded when it is first asked for: most commands deal with one network, or with none.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any

from bowerbird.errors import UserError
from bowerbird.ports import TabledProvider
from bowerbird.providers.common.asking.tables import Now, Overrides, with_limits

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
    "TabledProvider",
    "TwitterV1",
    "Weibo",
    "provider",
    "with_limits",
]

_CLASSES = {"bluesky": "Bluesky", "mastodon": "Mastodon", "x": "XV2", "twitter_v1": "TwitterV1", "weibo": "Weibo"}
"""By the name of a provider, which is also that of its folder, the name of its class."""


class _Providers(Mapping[str, type[TabledProvider]]):
    """The classes by name, each loaded when it is looked up."""

    def __getitem__(self, name: str) -> type[TabledProvider]:
        kind: type[TabledProvider] = getattr(import_module(f"{__name__}.{name}"), _CLASSES[name])
        return kind

    def __contains__(self, name: object) -> bool:
        return name in _CLASSES

    def __iter__(self) -> Iterator[str]:
        return iter(_CLASSES)

    def __len__(self) -> int:
        return len(_CLASSES)


PROVIDERS: Mapping[str, type[TabledProvider]] = _Providers()


def __getattr__(name: str) -> Any:
    for folder, kind in _CLASSES.items():
        if kind == name:
            return PROVIDERS[folder]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def provider(name: str, *, now: Now = None, base: str | None = None) -> TabledProvider:
    """The provider of that name. OAuth 1.0a signatures are made over `now` and the service's `base`; times of streams are held
    against `now`."""
    if name not in PROVIDERS:
        raise UserError(f"there is no provider {name!r}; choose one of {', '.join(PROVIDERS)}")
    return PROVIDERS[name].made(now, base or "")
