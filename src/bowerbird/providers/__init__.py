"""The networks bowerbird can ask, by name; each is a table of facets and pure functions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime

from bowerbird.errors import UserError
from bowerbird.ports import TabledProvider
from bowerbird.providers.bluesky import Bluesky
from bowerbird.providers.mastodon import Mastodon
from bowerbird.providers.tables import Overrides, with_limits
from bowerbird.providers.twitter_v1 import TwitterV1
from bowerbird.providers.weibo import Weibo
from bowerbird.providers.x import XV2

__all__ = [
    "PROVIDERS",
    "XV2",
    "Bluesky",
    "Known",
    "Mastodon",
    "Overrides",
    "TabledProvider",
    "TwitterV1",
    "Weibo",
    "provider",
    "with_limits",
]

Known = Bluesky | Mastodon | TwitterV1 | Weibo | XV2
PROVIDERS: Mapping[str, type[Known]] = {
    "bluesky": Bluesky,
    "mastodon": Mastodon,
    "twitter_v1": TwitterV1,
    "weibo": Weibo,
    "x": XV2,
}


def provider(name: str, *, now: Callable[[], datetime] | None = None, base: str | None = None) -> Known:
    """The provider of that name. OAuth 1.0a signatures are made over `now` and the service's `base`; times of streams are held
    against `now`."""
    match name:
        case "bluesky":
            return Bluesky(now=now)
        case "mastodon":
            return Mastodon()
        case "twitter_v1":
            return TwitterV1(now=now, base=base or "")
        case "weibo":
            return Weibo()
        case "x":
            return XV2(now=now, base=base or "")
    raise UserError(f"there is no provider {name!r}; choose one of {', '.join(PROVIDERS)}")
