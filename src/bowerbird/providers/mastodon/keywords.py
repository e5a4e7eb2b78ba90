"""Keywords on a Mastodon server: its public stream brings everything, of which we choose; a stream of hashtags, and searches."""

from __future__ import annotations

from collections.abc import Sequence

from bowerbird.model import KeywordStream, Subscription
from bowerbird.model.terms import Kind, kind_of
from bowerbird.providers.common.asking.searching import plain_search
from bowerbird.providers.mastodon.channels import DESK, MOST_TAGS, base_name

WAYS = ("full", "search")
MOST = 400
search = plain_search


def stream(keywords: Sequence[str], heard: Subscription | None = None) -> KeywordStream:
    """All posts that the server sees; or, where the crawl file wants a stream of hashtags, those of the keywords."""
    if heard is None or not base_name(heard.channel).startswith("hashtag"):
        return KeywordStream(stream=DESK.subscription("public", {}))
    tags = [each for each in keywords if kind_of(each) is Kind.HASHTAG][:MOST_TAGS]
    wanted = DESK.subscription(heard.channel, {"tag": [each[1:] for each in tags]})
    return KeywordStream(stream=wanted, is_filtered=True, unheard=tuple(each for each in keywords if each not in tags))
