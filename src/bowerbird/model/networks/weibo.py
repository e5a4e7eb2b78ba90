"""Sina Weibo."""

from __future__ import annotations

from bowerbird.model.networks.naming import Naming, PageForm
from bowerbird.model.networks.shortcuts import Shortcuts
from bowerbird.model.networks.traits import Example, Network, Traits

_SECRETS = (("access_token",),)

_HOST = r"https?://(?:www\.|m\.|e\.)?weibo\.(?:com|cn)"

NETWORK = Network(
    name="weibo",
    reposts_name_the_way=True,
    naming=Naming(
        pages=(
            PageForm(pattern=rf"{_HOST}/(?:u/|profile/)?(?P<number>\d{{6,20}})", users=("weibo:{number}",)),
            PageForm(pattern=rf"{_HOST}/n/(?P<who>[\w-]{{1,30}})", handles=("{who}",)),
        ),
        profile="https://weibo.com/n/{}",
        profile_hosts=("weibo.com", "m.weibo.com", "e.weibo.com", "weibo.cn", "m.weibo.cn"),
        profile_paths=("u/", "n/", "profile/"),
    ),
)
WEIBO = Traits(
    provider="weibo",
    network=NETWORK,
    base="https://api.weibo.com",
    servers=("https://api.weibo.com",),
    secrets={"user": _SECRETS, "app": _SECRETS},
    example=Example(user="1642634100", post="3432603961237211", word="猫", words_are="words and topics"),
    shortcuts=Shortcuts(pages=("weibo.com", "m.weibo.cn", "weibo.cn"), marks=("weibo:",), trends="hourly"),
)
