"""A lane: one facet of one flow on one service, with everything a call of it needs."""

from __future__ import annotations

from msgspec import Struct

from bowerbird.model import Ask, Facet, Progress, Service
from bowerbird.ports import Provider, Ranker, Seeder

FRESH = Progress()


class Lane(Struct, frozen=True, kw_only=True):
    """What the dispatcher knows of one lane; `lane` is its number in the database."""

    lane: int
    service: Service
    provider: Provider
    facet: Facet
    ranker: Ranker
    seeder: Seeder
    weight: float = 1.0
    hints: dict[str, str] = {}
    max_pages: int | None = None
    """How many calls one listing may take; None: to its end."""

    def is_paged(self, target: str, progress: Progress = FRESH) -> bool:
        """Whether the next request for this target carries a position, which some services limit apart."""
        return self.has_paged_limits and self.provider.is_paged(Ask(self.facet.name, (target,), progress, self.hints))

    @property
    def has_paged_limits(self) -> bool:
        return any(limit.only_paged for limit in self.facet.limits)
