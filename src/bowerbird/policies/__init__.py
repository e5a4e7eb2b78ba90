"""Policies: pure decisions about who is next. `ranker` finds one by its name."""

from bowerbird.policies.registry import RANKERS, Place, ranker

__all__ = ["RANKERS", "Place", "ranker"]
