"""Who pays: one purse for each service and calendar month, over all its crawls and credentials, and one for each crawl.

Both are ledgers like any other, so that what a call may cost at most is taken before it is made, by whichever worker, and
counts as spent when that worker is killed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime, timedelta

from msgspec import Struct, structs

from bowerbird.errors import UserError
from bowerbird.limits import ledger
from bowerbird.limits.booked_ledgers import BookedLedgers
from bowerbird.limits.ledger import FOREVER, LedgerState
from bowerbird.model import Charge, WindowKind
from bowerbird.model.money import Budget, dollars, in_dollars, thousandths
from bowerbird.ports import Clock

_MONEY = "/money"
_CRAWL = "crawl:"
_UNLIMITED = 10**12
"""What a crawl may spend that is not told: only the month limits it."""
_EVER = timedelta(days=36_500)
SPENT = "spent, and the next call may cost more than is left"
"""Why a crawl ends that may spend no more, in words."""


def is_spent(reason: str) -> bool:
    """Whether a crawl ended for this reason because it may spend no more."""
    return SPENT in reason


class Purse(Struct, frozen=True, kw_only=True):
    """A purse as it stands, in dollars."""

    of: str
    """The service or the crawl."""
    is_crawl: bool
    spent: float
    """For certain: in this month, or by the crawl in all."""
    reserved: float
    """The most that calls under way may still cost."""
    allowed: float | None
    resets_at: datetime | None = None

    @property
    def words(self) -> str:
        """`$9.94 of $10.00`."""
        spent = in_dollars(thousandths(self.spent))
        return spent if self.allowed is None else f"{spent} of {in_dollars(thousandths(self.allowed))}"


def is_purse(bucket: str) -> bool:
    return bucket.endswith(_MONEY)


def crawl_purse(name: str) -> str:
    return f"{_CRAWL}{name}{_MONEY}"


def money_in(charges: Iterable[Charge]) -> list[Charge]:
    return [charge for charge in charges if charge.limit.is_money]


def budgeted(facet: str, charges: Sequence[Charge], budget: Budget) -> tuple[Charge, ...]:
    """The charges of a call, what costs money taken from both purses; raises `UserError` where the budget is too small for it."""
    return tuple(each for charge in charges for each in (_taken(facet, charge, budget) if charge.limit.is_money else (charge,)))


def _taken(facet: str, charge: Charge, budget: Budget) -> tuple[Charge, Charge]:
    if charge.amount > thousandths(budget.least):
        raise UserError(
            f"one call of {facet} may cost {in_dollars(charge.amount)}, and only {in_dollars(thousandths(budget.least))} may be "
            "spent: raise dollars under [service] and [stop] of the crawl file"
        )
    in_all = _UNLIMITED if budget.in_all is None else thousandths(budget.in_all)
    month = structs.replace(charge.limit, allowance=thousandths(budget.a_month))
    whole = structs.replace(month, allowance=in_all, kind=WindowKind.EVER, window=_EVER)
    return structs.replace(charge, limit=month), structs.replace(charge, bucket=crawl_purse(budget.crawl), limit=whole)


class Means:
    """Says when a crawl has spent what it may: nothing that it could do next can be paid for, and nothing is under way."""

    def __init__(
        self, ledgers: BookedLedgers, crawl: str, streams: Sequence[Callable[[], Sequence[Charge]]], clock: Clock
    ) -> None:
        """`streams`: say what each stream of the crawl takes, as it is now."""
        self._ledgers = ledgers
        self._bucket = crawl_purse(crawl)
        self._streams = streams
        self._clock = clock

    def exhausted(self, calls_at: datetime | None, due: datetime | None) -> str:
        """Why the crawl is over, or nothing; `calls_at`: when what waits may be asked, `due`: when more will wait."""
        state, now = self._ledgers.states().get(self._bucket), self._clock.now()
        is_waiting = calls_at is not None and calls_at >= FOREVER
        is_silent = calls_at is None and due is None and bool(self._streams)
        if state is None or state.in_flight or not (is_waiting or is_silent):
            return ""
        if any(self._ledgers.when(charges, now) < FOREVER for charges in (stream() for stream in self._streams)):
            return ""
        purse = _purse(state)
        return f"{purse.words} {SPENT}"


def purses(states: Iterable[LedgerState], now: datetime) -> tuple[Purse, ...]:
    """The purses among the ledgers, those of services first."""
    found = [_purse(ledger.rolled(state, now)) for state in states if is_purse(state.bucket)]
    return tuple(sorted(found, key=lambda each: (each.is_crawl, each.of)))


def _purse(state: LedgerState) -> Purse:
    name = state.bucket.removesuffix(_MONEY)
    is_crawl = state.kind is WindowKind.EVER
    return Purse(
        of=name.removeprefix(_CRAWL) if is_crawl else name,
        is_crawl=is_crawl,
        spent=dollars(state.allowance - state.remaining),
        reserved=dollars(state.in_flight),
        allowed=dollars(state.allowance) if state.allowance < _UNLIMITED else None,
        resets_at=None if is_crawl else state.reset_at,
    )
