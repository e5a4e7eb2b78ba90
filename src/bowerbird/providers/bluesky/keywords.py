"""Keywords on Bluesky: its streams bring everything, of which we choose; searches bring what is older."""

from __future__ import annotations

from collections.abc import Sequence

from bowerbird.model import KeywordStream
from bowerbird.providers.base import keyword_query
from bowerbird.providers.bluesky.streams import subscription
from bowerbird.providers.bluesky.streams.channels import JETSTREAM
from bowerbird.providers.bluesky.syntax import POST

WAYS = ("full", "search")
MOST = 400
_JETSTREAM = "https://jetstream2.us-east.bsky.network"
_HOSTS = dict.fromkeys(("https://public.api.bsky.app", "https://api.bsky.app", "https://bsky.social"), _JETSTREAM)
search = keyword_query


def stream(keywords: Sequence[str]) -> KeywordStream:
    """All posts of the network, whatever the keywords are."""
    return KeywordStream(stream=subscription(JETSTREAM, {"collections": (POST,)}), hosts=_HOSTS)
