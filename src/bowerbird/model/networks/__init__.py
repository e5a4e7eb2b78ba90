"""The networks that bowerbird knows, each in one file; docs/providers.md says how to add one."""

from __future__ import annotations

from collections.abc import Mapping

from bowerbird.model.networks.bluesky import BLUESKY
from bowerbird.model.networks.mastodon import MASTODON
from bowerbird.model.networks.naming import Naming, PageForm
from bowerbird.model.networks.traits import Example, KeyForm, Network, Traits
from bowerbird.model.networks.weibo import WEIBO
from bowerbird.model.networks.x import TWITTER_V1, X

__all__ = ["FIRST", "NETWORKS", "TRAITS", "USER_MARKS", "Example", "KeyForm", "Naming", "Network", "PageForm", "Traits"]

TRAITS: Mapping[str, Traits] = {each.provider: each for each in (BLUESKY, MASTODON, TWITTER_V1, WEIBO, X)}
"""By provider."""
NETWORKS: Mapping[str, Network] = {each.network.name: each.network for each in TRAITS.values()}
"""By name."""
FIRST = MASTODON.provider
"""What is offered to whoever has not chosen: it takes neither money nor a key."""
USER_MARKS = tuple(each.naming.user_mark for each in NETWORKS.values() if each.naming.user_mark)
"""How ids begin that are surely those of accounts."""
