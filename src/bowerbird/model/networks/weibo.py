"""Sina Weibo."""

from __future__ import annotations

from bowerbird.model.networks.shortcuts import Shortcuts
from bowerbird.model.networks.traits import Example, Network, Traits

_SECRETS = (("access_token",),)

NETWORK = Network(name="weibo", reposts_name_the_way=True)
WEIBO = Traits(
    provider="weibo",
    network=NETWORK,
    base="https://api.weibo.com",
    servers=("https://api.weibo.com",),
    secrets={"user": _SECRETS, "app": _SECRETS},
    example=Example(user="1642634100", post="3432603961237211", word="猫", words_are="words and topics"),
    shortcuts=Shortcuts(pages=("weibo.com", "m.weibo.cn", "weibo.cn"), marks=("weibo:",), trends="hourly"),
)
