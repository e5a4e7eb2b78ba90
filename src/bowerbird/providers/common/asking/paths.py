"""Pieces of request lines."""

from __future__ import annotations

from urllib.parse import quote

from bowerbird.model import Ask, Facet


def segment(text: str) -> str:
    """One part of a path, whatever the text contains: a target can never lead to another path."""
    quoted = quote(text, safe="", errors="replace")
    return quoted.replace(".", "%2E") if not quoted.strip(".") else quoted


def page_size(ask: Ask, facet: Facet) -> int:
    """How many results to ask for: the facet's most, or less when the crawl's hint `limit` says so."""
    hint = ask.hints.get("limit", "")
    if hint.isascii() and hint.isdigit() and len(hint) < 7:
        return max(1, min(int(hint), facet.results_per_call))
    return facet.results_per_call
