"""Keywords on the X API: a rule of the filtered stream for each, and searches."""

from __future__ import annotations

import re
from collections.abc import Sequence

from bowerbird.model import KeywordStream
from bowerbird.model.terms import Kind, kind_of
from bowerbird.providers.x.streams.channels import DESK

WAYS = ("filter", "search")
MOST = 400
"""As classic Twitter had it; the network takes a thousand rules, which all streams of an application share."""
_PLAIN = re.compile(r"\w+")
_OPERATORS = frozenset({"or", "and", "not"})


def stream(keywords: Sequence[str]) -> KeywordStream:
    """One rule for each keyword: what comes and goes then changes no other."""
    return KeywordStream(stream=DESK("filter", {"rules": [_query(each) for each in keywords]}), is_filtered=True)


def search(keyword: str) -> tuple[str, str]:
    return ("hashtag", keyword[1:]) if kind_of(keyword) is Kind.HASHTAG else ("search", _query(keyword))


def _query(keyword: str) -> str:
    match kind_of(keyword):
        case Kind.HASHTAG:
            return keyword
        case Kind.ACCOUNT:
            return f"from:{keyword[1:]}"
    return keyword if _PLAIN.fullmatch(keyword) and keyword not in _OPERATORS else f'"{keyword}"'
