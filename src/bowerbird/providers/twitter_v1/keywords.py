"""Keywords on the classic API: words of `track`, and searches."""

from __future__ import annotations

from collections.abc import Sequence

from bowerbird.model import KeywordStream
from bowerbird.providers.base import keyword_query
from bowerbird.providers.twitter_v1.channels import LONGEST_WORD, MOST_WORDS, subscription

WAYS = ("filter", "search")
MOST = MOST_WORDS
_HOSTS = {"https://api.twitter.com": "https://stream.twitter.com"}
_VOLUME = 3_000
"""Measured by others: the one in a hundred that a filtered stream may bring comes to so many a minute."""
search = keyword_query


def stream(keywords: Sequence[str]) -> KeywordStream:
    """All of them as one `track`. It takes accounts by their numbers alone: of a name, those who mention it are heard."""
    heard = [each for each in keywords if len(each.encode()) <= LONGEST_WORD]
    unheard = tuple(each for each in keywords if each not in heard)
    wanted = subscription("filter", {"track": heard})
    return KeywordStream(stream=wanted, hosts=_HOSTS, is_filtered=True, volume=_VOLUME, unheard=unheard)
