"""The three eras of the API: what was anybody's to read in 2011, and what was left of it."""

from __future__ import annotations

from msgspec import Struct


class Era(Struct, frozen=True, kw_only=True):
    """How far lists and timelines go, and whether only the token's own user may be asked about."""

    name: str
    is_own_only: bool = False
    ids_per_call: int = 5_000
    users_per_call: int = 200
    posts_per_call: int = 100
    timeline_reach: int = 2_000
    list_reach: int = 1 << 30
    list_share: float = 1.0

    def reach(self, total: int) -> int:
        """How many of a list of this length can be had."""
        return min(self.list_reach, int(total * self.list_share))


ERAS = {
    era.name: era
    for era in (
        Era(name="classic"),
        Era(name="restricted", is_own_only=True, ids_per_call=500, list_reach=500, list_share=0.3),
        Era(name="minimal", is_own_only=True, ids_per_call=5, users_per_call=5, posts_per_call=5, timeline_reach=5),
    )
}
