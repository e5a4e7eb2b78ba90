"""Dollars as people read them, and as ledgers count them: in thousandths, for a like costs one."""

from __future__ import annotations

from decimal import Decimal

from msgspec import Struct

DEFAULT_DOLLARS = 10.0
"""What may be spent on a service in a calendar month unless the user says otherwise."""
_DOLLAR = 1_000
_CENT = 10
_CALLS = 20
"""A budget is good for at least so many calls."""


class Budget(Struct, frozen=True, kw_only=True):
    """What a crawl may spend on one service, in dollars."""

    crawl: str
    in_all: float | None
    """In its whole life, over all services; None: the month alone limits it."""
    a_month: float
    """All crawls of the store together, in a calendar month (UTC)."""
    a_run: float | None = None
    """What is left of it for one run, where that was told apart."""

    @property
    def least(self) -> float:
        return self.a_month if self.in_all is None else min(self.in_all, self.a_month)

    @property
    def a_call(self) -> int:
        """What one call should cost at most, in thousandths: what is reserved for one cannot be spent on others, and what is
        left in the end is less than this."""
        most = self.least if self.a_run is None else min(self.least, self.a_run)
        return thousandths(most) // _CALLS


def thousandths(dollars: float) -> int:
    """As a ledger counts it; never more than was written."""
    return int(Decimal(repr(dollars)) * _DOLLAR)


def dollars(thousandths: float) -> float:
    return thousandths / _DOLLAR


def in_dollars(thousandths: float) -> str:
    """`$9.94`, `$1,250.00`; with a third digit only where cents do not tell it all."""
    digits = 2 if thousandths % _CENT == 0 else 3
    return f"${thousandths / _DOLLAR:,.{digits}f}"
