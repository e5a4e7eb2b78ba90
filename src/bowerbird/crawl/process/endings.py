"""How the loop of a crawl ends, and why."""

from __future__ import annotations

from msgspec import Struct

from bowerbird.errors import Failure
from bowerbird.model import CrawlState

STOPPED = "stopped"
"""A user, a signal or another process ended it."""
NOTHING_LEFT = "nothing_left"
SOME_GIVEN_UP = "some_given_up"
"""Nothing is left to request, but some requests were given up."""
LIMIT_REACHED = "limit_reached"
"""A limit under `[stop]`: calls, items, users, posts or time."""
BUDGET_SPENT = "budget_spent"
GOOD_ENOUGH = "good_enough"
"""The sample is as precise as it was to be."""
PLAN_OUTDATED = "plan_outdated"
NO_SEED_FOUND = "no_seed_found"
NOTHING_ANSWERED = "nothing_answered"
PART_FAILED = "part_failed"
BROKEN = "unexpected"
EXHAUSTED = (NOTHING_LEFT, SOME_GIVEN_UP)
"""The codes of a crawl that has nothing left to request."""


class Ending(Struct, frozen=True):
    """Why a crawl's loop ended: `finished`, `stopped`, `paused` or `failed`, with the reason."""

    state: CrawlState
    reason: Failure

    @classmethod
    def stopped(cls, why: str, code: str = STOPPED) -> Ending:
        return cls(CrawlState.STOPPED, Failure(code, why))

    @classmethod
    def finished(cls, code: str, why: str) -> Ending:
        return cls(CrawlState.FINISHED, Failure(code, why))

    @classmethod
    def failed(cls, reason: Failure) -> Ending:
        return cls(CrawlState.FAILED, reason)
