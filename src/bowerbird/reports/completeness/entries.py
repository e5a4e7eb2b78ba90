"""The lines of the completeness ledger: what was captured, what is known to be missing, why, and how sure that is."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from enum import StrEnum

from msgspec import Struct

from bowerbird.errors import Failure, stored_failure
from bowerbird.model import Outcome
from bowerbird.model.wording import retold


class Cause(StrEnum):
    """Why something is missing."""

    BUDGET = "budget"
    """It was not asked for, or not yet: calls, time or the flow's own limits did not suffice."""
    REACH = "reach"
    """The service does not list so much, or nothing so old."""
    LEFT_OUT = "left_out"
    """It was not asked for: no credential that may, or the server does not offer it."""
    OUTAGE = "outage"
    """The service did not answer, or nobody listened to it."""
    PROTECTED = "protected"
    """It is there, but not for us: followers only, or hidden."""
    OPTED_OUT = "opted_out"
    """Its author asked not to be collected."""
    DELETED = "deleted"
    """It, or the account that wrote it, is gone."""
    UNKNOWN = "unknown"


CAUSE_WORDS = {
    Cause.BUDGET: "not asked for yet",
    Cause.REACH: "beyond what the service lists",
    Cause.LEFT_OUT: "that may not be asked for",
    Cause.OUTAGE: "while the service was away or nobody listened",
    Cause.PROTECTED: "not shown to us",
    Cause.OPTED_OUT: "of authors who asked not to be collected",
    Cause.DELETED: "gone",
    Cause.UNKNOWN: "for reasons unknown",
}
"""What the causes mean, in a few words."""


def given_up(failure: str | None) -> tuple[Cause, str]:
    """Why a task was given up, and what that says of what it would have brought."""
    known = stored_failure(failure) or Failure("unknown", "")
    if known.code == Outcome.NOT_OFFERED:
        return Cause.REACH, f"not offered by the server: {known.problem}"
    return Cause.UNKNOWN, f"given up: {retold(known)}"


def retired(failure: str | None) -> tuple[Cause, str]:
    """What is said of a target that was taken out of the crawl on purpose."""
    return Cause.BUDGET, f"taken out of the crawl: {stored_failure(failure) or 'no reason is told'}"


def left_out(why: str) -> tuple[Cause, str]:
    """What is said of anything that waits for a facet which is not asked."""
    return Cause.LEFT_OUT, f"not asked for: {why}"


OPTED_OUT = "their authors asked not to be collected"
"""Why the store has these posts only by id and time: they are counted one by one."""


class Missing(Struct, frozen=True, kw_only=True):
    """Items known to be missing for one cause: at least `low`, most likely `likely`, at most `high` (None: no bound is known)."""

    cause: Cause
    low: int
    likely: int
    high: int | None
    why: str
    after: datetime | None = None
    """They were written after this and"""
    before: datetime | None = None
    """before this, where either is known."""


class Entry(Struct, frozen=True, kw_only=True):
    """One line: a user's posts or list, a query, a stream, or a day."""

    subject: str
    """Global id, query, stream or date."""
    name: str = ""
    crawl: str = ""
    service: str = ""
    facet: str = ""
    items: str = "posts"
    captured: int = 0
    deleted: int = 0
    """Captured once and gone since; their content is no longer kept."""
    claimed: int | None = None
    """How many there are, in the service's own words."""
    claimed_at: datetime | None = None
    low: int = 0
    likely: int = 0
    high: int | None = 0
    """Missing in all. What is missing for each cause is less certain than this."""
    missing: tuple[Missing, ...] = ()
    certainty: str = ""
    """What the range rests on, in words."""
    is_repeated: bool = False
    """Another crawl or service wants the same items of the same account, or asks the same query, and its line counts them."""

    def of(self, cause: Cause) -> int:
        return sum(each.likely for each in self.missing if each.cause is cause)


class Total(Struct, kw_only=True):
    """Sums over many lines about the same kind of item; what is told twice is counted once."""

    entries: int = 0
    captured: int = 0
    deleted: int = 0
    low: int = 0
    likely: int = 0
    high: int | None = 0
    """None as soon as one line has no upper bound: then the sum has none either."""
    unbounded: int = 0
    """Lines without an upper bound."""
    causes: dict[str, int] = {}

    def add(self, entry: Entry, times: int = 1) -> None:
        """Adds a line, or one that stands for several."""
        if entry.is_repeated:
            return
        self.entries += times
        self.captured += entry.captured * times
        self.deleted += entry.deleted * times
        self.low += entry.low * times
        self.likely += entry.likely * times
        self.high = None if self.high is None or entry.high is None else self.high + entry.high * times
        self.unbounded += times if entry.high is None else 0
        self.causes = {cause: self.causes.get(cause, 0) + entry.of(cause) * times for cause in Cause}


def opted_out(posts: int) -> list[Missing]:
    """Posts that are stored without their content."""
    return [Missing(cause=Cause.OPTED_OUT, low=posts, likely=posts, high=posts, why=OPTED_OUT)] if posts else []


def summed(missing: Iterable[Missing]) -> tuple[int, int, int | None]:
    """The range of several causes together."""
    parts = tuple(missing)
    highs = [each.high for each in parts]
    high = None if None in highs else sum(each or 0 for each in highs)
    return sum(each.low for each in parts), sum(each.likely for each in parts), high
