"""How much of an account is missing, and why: the account's own counter against what is stored. Pure.

The counter says how many there are; the structure of the visits says what we cannot have seen. Two things blur the difference:
posts deleted since we stored them (the counter has left them out, we have not), and posts that are counted but shown to nobody
like us. How common both are is learned from the accounts whose listing is whole.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from math import ceil, sqrt

from msgspec import Struct

from bowerbird.model import TaskState
from bowerbird.reports.completeness.entries import Cause, Missing, given_up, left_out, opted_out, retired, summed
from bowerbird.reports.completeness.facts import ShortfallFacts, TaskFacts
from bowerbird.reports.completeness.rates import WEEK, Rate, is_notable, missed

SHORTEST = 0.005
"""At least so large a share of stored posts is taken to be deleted unnoticed."""
_YOUNG = timedelta(days=90)
HIDDEN = "counted by the service, but not shown to us: for followers only, or passing on what is hidden or gone"
UNLISTED = "counted by the service, but not listed: the account hides this list, or those in it are hidden, suspended or gone"


class Evidence(Struct, frozen=True, kw_only=True):
    """What is known of one account's posts or list."""

    claimed: int | None
    claimed_at: datetime | None
    counted: int
    """Stored ones that the counter counts too."""
    doubtful: int = 0
    """Of those: reposts, where the counter may leave them out."""
    unconfirmed: int = 0
    """Of those counted: not seen again since the counter was."""
    recent: int = 0
    """Of those counted: written in the week before the counter was seen."""
    unwatched: tuple[Cause, str] | None = None
    """Why nobody looked since then, where somebody should have."""
    task: TaskFacts | None = None
    shortfalls: Sequence[ShortfallFacts] = ()
    as_of: datetime
    was_out: bool = False
    """Its service was down for most of the time in which it waited."""
    absence: str | None = None
    is_protected: bool = False
    opts_out: bool = False
    emptied: int = 0
    """Posts of an account that opted out: stored without their content."""
    hidden: str = HIDDEN
    """Why some are counted and not shown."""
    left_out: str = ""
    """Why they are not asked for."""

    @property
    def is_pending(self) -> bool:
        return self.task is not None and self.task.is_pending(self.as_of)

    @property
    def owed(self) -> int:
        """By how much the counter exceeds what is stored."""
        return (self.claimed or 0) - self.counted


class Habits(Struct, frozen=True):
    """How common it is in this store that a post is deleted unnoticed, or counted and not shown."""

    deleted: float = SHORTEST
    hidden: float = 0.0


class Verdict(Struct, frozen=True):
    low: int
    likely: int
    high: int | None
    missing: tuple[Missing, ...]
    certainty: str


def habits_of(accounts: Sequence[Evidence]) -> Habits:
    """Learned from accounts whose listing is whole and up to date."""
    whole = [each for each in accounts if each.claimed is not None and not each.is_pending and each.task and not each.shortfalls]
    stored = sum(each.counted for each in whole)
    claimed = sum(each.claimed or 0 for each in whole)
    deleted = sum(max(0, -each.owed) for each in whole)
    hidden = sum(max(0, each.owed) for each in whole)
    return Habits(max(SHORTEST, deleted / stored if stored else 0.0), hidden / claimed if claimed else 0.0)


def judge_account(account: Evidence, habits: Habits) -> Verdict:
    """The range of what is missing in all, and its parts by cause."""
    known = _unseen(account)
    if known is not None:
        low, likely, high = summed(known)
        return Verdict(low, likely, high, tuple(known), "no counter to compare with: how much it is cannot be told")
    low = max(0, account.owed)
    blur = _at_most(account.unconfirmed * habits.deleted)
    high = max(0, account.owed + account.doubtful) + blur
    high += _unwatched_at_most(account)
    parts, since = _parts(account, habits, low, high), _since(account)
    if since is None:
        return Verdict(low, low, high, tuple(parts), _words(account, blur))
    return Verdict(low, low + since.likely, high + (since.high or 0), (*parts, since), _words(account, blur))


def _since(account: Evidence) -> Missing | None:
    """What may have been written since the counter was seen, at the rate of the week before."""
    if account.unwatched is None or account.claimed_at is None or account.is_protected or account.absence is not None:
        return None
    expected = missed(Rate(account.recent, WEEK), *account.unwatched, account.claimed_at, account.as_of)
    return expected if is_notable(account.recent, account.as_of - account.claimed_at) else None


def _unwatched_at_most(account: Evidence) -> int:
    """What a protected account may have written since its counter was seen: no more than if it were young and busy."""
    if account.unwatched is None or account.claimed_at is None or not (account.is_protected or account.absence is not None):
        return 0
    return _at_most((account.claimed or 0) * ((account.as_of - account.claimed_at) / _YOUNG))


def _unseen(account: Evidence) -> list[Missing] | None:
    """Accounts without a counter: gone, opted out, or never seen."""
    if account.absence in ("not_found", "suspended", "deactivated"):
        return [boundless(Cause.DELETED, f"the account is {account.absence.replace('_', ' ')}")]
    if account.opts_out:
        return [*opted_out(account.emptied), boundless(Cause.OPTED_OUT, "the account asked not to be collected")]
    if account.claimed is not None:
        return None
    if account.is_protected or account.absence is not None:
        return [boundless(Cause.PROTECTED, "the account is protected")]
    if not account.is_pending:
        return [boundless(Cause.UNKNOWN, "the service does not count them")]
    return [boundless(*_waiting(account))]


def boundless(cause: Cause, why: str) -> Missing:
    """Nobody can say how much it is."""
    return Missing(cause=cause, low=0, likely=0, high=None, why=why)


def _parts(account: Evidence, habits: Habits, low: int, high: int) -> list[Missing]:
    """What is missing by cause: what listings left out, what waits to be asked for, and what is not shown."""
    if account.is_protected or account.absence is not None:
        why = "the account is protected" if account.is_protected else f"the account is {account.absence}"
        return [Missing(cause=Cause.PROTECTED, low=low, likely=low, high=high, why=why)] if high else []
    parts, left = [], low
    for short, count in _fallen_short(account.shortfalls):
        count = min(count, left)
        left -= count
        parts.append(_short(short, count, high))
    waiting = _expected(account, habits, left)
    if account.is_pending:
        cause, why = _waiting(account)
        after = account.task.visited_at if account.task else None
        least = waiting if account.task is None or account.task.visits == 0 else min(1, left)
        parts.append(Missing(cause=cause, low=least, likely=waiting, high=high, why=why, after=after, before=account.claimed_at))
    if left > waiting:
        parts.append(
            Missing(cause=Cause.PROTECTED, low=0, likely=left - waiting, high=max(0, left - waiting), why=account.hidden)
        )
    return [part for part in parts if part.likely or part.low]


def _fallen_short(shortfalls: Sequence[ShortfallFacts]) -> list[tuple[ShortfallFacts, int]]:
    """Each with its own share: what is written down is all that was missing by then."""
    parts, before = [], 0
    for short in shortfalls:
        if short.missing is not None and short.missing > before:
            parts.append((short, short.missing - before))
            before = short.missing
    return parts


def _short(short: ShortfallFacts, count: int, high: int) -> Missing:
    cause = Cause(short.cause)
    return Missing(cause=cause, low=0, likely=count, high=high, why=short.detail, after=short.after, before=short.before)


def _expected(account: Evidence, habits: Habits, left: int) -> int:
    """How much of the rest waits to be asked for."""
    if not account.is_pending:
        return 0
    if account.task is None or account.task.visits == 0 or account.task.cursor is not None:
        return left
    return min(left, max(1, left - round(habits.hidden * (account.claimed or 0))))


def _waiting(account: Evidence) -> tuple[Cause, str]:
    task = account.task
    if account.left_out:
        return left_out(account.left_out)
    if task is not None and task.state == TaskState.FAILED:
        return given_up(task.failure)
    if task is not None and task.state == TaskState.RETIRED:
        return retired(task.failure)
    if account.was_out:
        return Cause.OUTAGE, "the service was down for most of the time in which it waited to be asked"
    if task is not None and task.cursor is not None:
        return Cause.BUDGET, "its listing has not come to its end yet"
    return (
        Cause.BUDGET,
        "its turn to be asked has not come" if task is None or not task.visits else "has news that nobody asked for yet",
    )


def _at_most(expected: float) -> int:
    """The upper end of a number that is so large in the mean."""
    return ceil(expected + 2 * sqrt(expected)) if expected > 0 else 0


def _words(account: Evidence, blur: int) -> str:
    at = f"{account.claimed_at:%Y-%m-%d %H:%M} UTC" if account.claimed_at else "an unknown time"
    words = f"the counter of {at} against what is stored"
    if account.unwatched is not None:
        words += "; since then by the rate of the week before"
    if account.doubtful:
        words += f"; it may not count {account.doubtful:,} reposts"
    return words + (f"; up to {blur:,} of the stored ones may have been deleted since" if blur else "")
