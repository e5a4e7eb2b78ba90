"""Mastodon and servers that speak its dialect."""

from __future__ import annotations

from bowerbird.model.networks.shortcuts import Hearing, Shortcuts
from bowerbird.model.networks.traits import Example, KeyForm, Network, Traits

_SECRETS = (("access_token",),)

NETWORK = Network(name="mastodon", keys=KeyForm.LOCAL, has_witnesses=True)
MASTODON = Traits(
    provider="mastodon",
    network=NETWORK,
    base="https://mastodon.social",
    secrets={"user": _SECRETS, "app": _SECRETS},
    not_for_guests=frozenset({"search", "quotes"}),
    example=Example(
        user="@Gargron",
        post="103270115826048975",
        words_are="hashtags; words are searched for only with the token of a user",
        stream='channel = "hashtag"\ntag = ["caturday"]',
    ),
    shortcuts=Shortcuts(
        trends="tags",
        hearings=(Hearing(channel="hashtag", words="tag", only_tags=True), Hearing(channel="public")),
    ),
)
