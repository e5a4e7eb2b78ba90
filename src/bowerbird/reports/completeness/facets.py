"""The facets of the networks, for those who read a ledger of a store."""

from __future__ import annotations

from bowerbird.model import Facet
from bowerbird.providers import PROVIDERS, provider


def facet_of(name: str, facet: str) -> Facet | None:
    """A facet of a network by name; None for what is no facet, such as a stream."""
    return provider(name).facets.get(facet) if name in PROVIDERS else None
