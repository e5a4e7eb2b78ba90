"""Policies: pure decisions about who is next. `ranker` finds one by its name."""

from bowerbird.policies.registry import RANKERS, RankerSetting, ranker

__all__ = ["RANKERS", "RankerSetting", "ranker"]
