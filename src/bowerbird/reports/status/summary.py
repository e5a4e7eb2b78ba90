"""What `bowerbird status` shows: frozen values that print and dump as they are."""

from __future__ import annotations

from datetime import datetime

from msgspec import Struct

from bowerbird.errors import Failure
from bowerbird.model import CrawlState, ShownState, TaskState
from bowerbird.reports.counting.counts import Count
from bowerbird.reports.status.timings import Timings


class CrawlReport(Struct, frozen=True, kw_only=True):
    """One crawl: what its process does, and what the user asked for."""

    crawl: int
    name: str
    flow: str
    state: CrawlState
    wanted: CrawlState
    reason: Failure | None
    calls: int
    items: int
    users: int
    posts: int
    created_at: datetime
    updated_at: datetime

    def shown_state(self, *, is_run: bool) -> ShownState:
        """Its state for people: a crawl whose processes are gone without a word is cut off, whatever its row says."""
        return ShownState.CUT_OFF if self.state.is_under_way and not is_run else ShownState(self.state)


class Stored(Struct, frozen=True, kw_only=True):
    """How much is in the store."""

    users_seen: Count
    users_stubs: Count
    posts: Count
    relations: Count
    reactions: Count
    quarantined: Count
    errors: Count


class LaneReport(Struct, frozen=True, kw_only=True):
    """The tasks of one lane, by state."""

    crawl: str
    service: str
    facet: str
    tasks: dict[TaskState, Count]
    left_out: Failure | None = None
    """Why it is not asked, and what to do; None: it is."""


class LedgerReport(Struct, frozen=True, kw_only=True):
    """One bucket as our account has it; `reset_at` is in the server's time."""

    bucket: str
    allowance: int
    remaining: int
    in_flight: int
    spent: int
    refused: int
    reset_at: datetime | None
    backoff_until: datetime | None
    next_at: datetime | None


class ErrorNote(Struct, frozen=True, kw_only=True):
    at: datetime
    part: str
    outcome: str | None
    call: int | None
    message: str


class Summary(Struct, frozen=True, kw_only=True):
    """The state of everything in one database at one time."""

    crawls: tuple[CrawlReport, ...]
    stored: Stored
    lanes: tuple[LaneReport, ...]
    ledgers: tuple[LedgerReport, ...]
    calls: dict[str, Count]
    """Calls by outcome; those under way are `flying`, those never answered `lost`."""
    timings: Timings
    errors: tuple[ErrorNote, ...]
