"""Keywords on Weibo: topics that are searched for again and again; there are no streams."""

from __future__ import annotations

from bowerbird.model.terms import Kind, kind_of

WAYS = ("search",)
MOST = 100
"""Fewer than elsewhere: 150 calls an hour are shared by all of them."""


def search(keyword: str) -> tuple[str, str] | None:
    """Hashtags are topics; what an account writes is none."""
    kind = kind_of(keyword)
    if kind is Kind.ACCOUNT:
        return None
    return ("hashtag", keyword[1:]) if kind is Kind.HASHTAG else ("search", keyword)
