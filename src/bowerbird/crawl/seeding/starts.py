"""Where walks begin: the seeds as targets of the facet that is walked along."""

from __future__ import annotations

from collections.abc import Iterable

from bowerbird.errors import UserError
from bowerbird.model import Facet
from bowerbird.providers.base import Provider


def starts(seeds: Iterable[str], provider: Provider, facet: Facet) -> tuple[tuple[str, ...], int]:
    """The seeds that are written by id, and how many others there are (handles, whose ids must be asked for first)."""
    ids: list[str] = []
    others = 0
    for text in seeds:
        try:
            ids.append(provider.target(text, facet))
        except UserError:
            others += 1
    return tuple(dict.fromkeys(ids)), others
