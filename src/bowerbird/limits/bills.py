"""What a service has billed today already: where an item is paid once per UTC day, its next sighting that day is free.

Every row was paid for, so what a crawl may spend bounds the table; the rows of earlier days are deleted.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from functools import cache, partial

from bowerbird.clock import EPOCH
from bowerbird.limits.server_clock import Offset
from bowerbird.model import Answer
from bowerbird.ports import Transaction

_BLOCK = 250
_CLEAR = "delete from bills where payer = ? and day < ?"


class Bills:
    """The table `bills`, shared by every process that pays from the same purse."""

    def __init__(self) -> None:
        self._cleared: dict[str, date] = {}

    async def repeated(self, tx: Transaction, payer: str, day: date, items: Sequence[str]) -> int:
        """How many of the items are already paid for that day; all of them are from now on."""
        if self._cleared.get(payer) != day:
            await tx.execute(_CLEAR, payer, _number(day))
            tx.after_commit(partial(self._cleared.__setitem__, payer, day))
        # In one order everywhere, so that two transactions never wait for each other in a circle.
        names = sorted(set(items))
        new = 0
        for start in range(0, len(names), _BLOCK):
            block = names[start : start + _BLOCK]
            new += await tx.execute(_insert(len(block)), *(value for name in block for value in (payer, _number(day), name)))
        return len(items) - new


def certain_day(answer: Answer, clock: Offset) -> date | None:
    """The day on which the server answered, by its own clock; None about midnight, when it may have been either."""
    first, last = (answer.sent_at + clock.low).date(), (answer.received_at + clock.high).date()
    return first if first == last else None


def _number(day: date) -> int:
    return (day - EPOCH.date()).days


@cache
def _insert(rows: int) -> str:
    return f"insert into bills (payer, day, item) values {', '.join(['(?, ?, ?)'] * rows)} on conflict do nothing"
