"""The networks bowerbird can ask, by name; each is a table of facets and pure functions."""

from __future__ import annotations

from collections.abc import Mapping

from bowerbird.errors import UserError
from bowerbird.ports import TabledProvider
from bowerbird.providers.bluesky import Bluesky
from bowerbird.providers.mastodon import Mastodon
from bowerbird.providers.tables import Now, Overrides, with_limits
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

PROVIDERS: Mapping[str, type[TabledProvider]] = {each.name: each for each in (Bluesky, Mastodon, XV2, TwitterV1, Weibo)}


def provider(name: str, *, now: Now = None, base: str | None = None) -> TabledProvider:
    """The provider of that name. OAuth 1.0a signatures are made over `now` and the service's `base`; times of streams are held
    against `now`."""
    if name not in PROVIDERS:
        raise UserError(f"there is no provider {name!r}; choose one of {', '.join(PROVIDERS)}")
    return PROVIDERS[name].made(now, base or "")
