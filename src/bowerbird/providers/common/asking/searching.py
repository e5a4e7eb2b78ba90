"""Searches for keywords, as most networks spell them."""

from __future__ import annotations

from bowerbird.model.terms import Kind, kind_of


def plain_search(keyword: str) -> tuple[str, str]:
    """Facet and target that list the latest posts with a keyword."""
    match kind_of(keyword):
        case Kind.HASHTAG:
            return "hashtag", keyword[1:]
        case Kind.ACCOUNT:
            return "search", f"from:{keyword[1:]}"
        case Kind.PHRASE:
            return "search", f'"{keyword}"'
    return "search", keyword
