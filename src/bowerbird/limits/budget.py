"""Dollar budgets: one per service and calendar month, over all its crawls and credentials, and one per crawl.

Both are buckets like any rate limit, counted in thousandths of a dollar. So the most that a call may cost is reserved before it
is made, and counts as spent if its worker dies.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime, timedelta

from msgspec import Struct, structs

from bowerbird.errors import UserError
from bowerbird.limits.bucket import FOREVER, Bucket
from bowerbird.limits.rate_limits import RateLimits
from bowerbird.model import Charge, WindowKind
from bowerbird.model.money import Budget, dollars, in_dollars, thousandths

_SUFFIX = "/money"
_CRAWL = "crawl:"
_UNLIMITED = 10**12
_LIFETIME = timedelta(days=36_500)
SPENT = "spent, and the next call may cost more than is left"
"""Part of the reason why a crawl without money ends."""
TOO_SMALL = "budget_too_small"
"""Code of the error when one request may cost more than the budget."""


class BudgetStatus(Struct, frozen=True, kw_only=True):
    """What was spent from one budget, in dollars."""

    of: str
    """The service or the crawl."""
    is_crawl: bool
    spent: float
    """In this month, or by the crawl in its lifetime."""
    reserved: float
    """The most that calls in flight may still cost."""
    allowed: float | None
    resets_at: datetime | None = None

    @property
    def words(self) -> str:
        """`$9.94 of $10.00`."""
        spent = in_dollars(thousandths(self.spent))
        return spent if self.allowed is None else f"{spent} of {in_dollars(thousandths(self.allowed))}"


def is_budget(bucket: str) -> bool:
    return bucket.endswith(_SUFFIX)


def money_charges(charges: Iterable[Charge]) -> list[Charge]:
    return [charge for charge in charges if charge.limit.is_money]


def budget_charges(facet: str, charges: Sequence[Charge], budget: Budget) -> tuple[Charge, ...]:
    """Charge what costs money to the budgets of the month and of the crawl; raise `UserError` if they are too small."""
    charged: list[Charge] = []
    for charge in charges:
        if not charge.limit.is_money:
            charged.append(charge)
            continue
        if charge.amount > thousandths(budget.least):
            raise UserError(
                f"One call of {facet} may cost {in_dollars(charge.amount)}, but the budget is "
                f"{in_dollars(thousandths(budget.least))}.",
                "Raise dollars under [service] and [stop] of the crawl file.",
                code=TOO_SMALL,
            )
        month = structs.replace(charge.limit, allowance=thousandths(budget.a_month))
        in_all = _UNLIMITED if budget.in_all is None else thousandths(budget.in_all)
        lifetime = structs.replace(month, allowance=in_all, kind=WindowKind.EVER, window=_LIFETIME)
        bucket = f"{_CRAWL}{budget.crawl}{_SUFFIX}"
        charged += structs.replace(charge, limit=month), structs.replace(charge, bucket=bucket, limit=lifetime)
    return tuple(charged)


def end_reason(
    limits: RateLimits,
    crawl: str,
    streams: Sequence[Callable[[], Sequence[Charge]]],
    now: datetime,
    calls_at: datetime | None,
    due: datetime | None,
) -> str:
    """Return why a crawl that has spent its budget ends; empty if it can go on.

    `streams` return what each stream charges, `calls_at` is when waiting tasks may be called, `due` when more will wait.
    """
    bucket = limits.buckets().get(f"{_CRAWL}{crawl}{_SUFFIX}")
    is_blocked = calls_at is not None and calls_at >= FOREVER
    is_only_streaming = calls_at is None and due is None and bool(streams)
    if bucket is None or bucket.in_flight or not (is_blocked or is_only_streaming):
        return ""
    if any(limits.available_at(charges(), now) < FOREVER for charges in streams):
        return ""
    return f"{_spending(bucket).words} {SPENT}"


def budget_statuses(buckets: Iterable[Bucket], now: datetime) -> tuple[BudgetStatus, ...]:
    """Return the budgets among the buckets, those of services first."""
    found = [_spending(bucket.current(now)) for bucket in buckets if is_budget(bucket.name)]
    return tuple(sorted(found, key=lambda each: (each.is_crawl, each.of)))


def _spending(bucket: Bucket) -> BudgetStatus:
    is_crawl = bucket.kind is WindowKind.EVER
    return BudgetStatus(
        of=bucket.name.removesuffix(_SUFFIX).removeprefix(_CRAWL if is_crawl else ""),
        is_crawl=is_crawl,
        spent=dollars(bucket.allowance - bucket.remaining),
        reserved=dollars(bucket.in_flight),
        allowed=dollars(bucket.allowance) if bucket.allowance < _UNLIMITED else None,
        resets_at=None if is_crawl else bucket.reset_at,
    )
