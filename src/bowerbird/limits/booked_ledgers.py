"""Every account in the database, with a copy in memory that answers `when` without asking it.

The copy is ahead of the database only inside the caller's transaction. If that is rolled back, the accounts it touched are
read again before they are next changed; until then the copy still answers `when`, and `charge` checks its word.
Several processes may share the buckets: each change names the version it replaces, so a stale copy is noticed, read again,
and the change decided anew.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import datetime
from functools import partial

from msgspec import structs

from bowerbird.errors import Busy, Taken
from bowerbird.limits import ledger, rows, settling
from bowerbird.limits.bills import Bills, certain_day
from bowerbird.limits.hearing import hear
from bowerbird.limits.ledger import LedgerState
from bowerbird.model import Answer, Charge, Page
from bowerbird.ports import Transaction

_MOST_TRIES = 50


class BookedLedgers:
    """Implements `ports.Ledgers` over the table `ledgers`; `pace` spreads the calls of a window over it."""

    def __init__(self, *, pace: bool = True) -> None:
        self._pace = pace
        self._states: dict[str, LedgerState] = {}
        self._stale: set[str] = set()
        self._bills = Bills()

    async def load(self, tx: Transaction, now: datetime) -> None:
        self._states = {state.bucket: state for state in await rows.read_all(tx)}
        self._stale.clear()
        tx.on_rollback(partial(self._stale.update, self._states))

    def states(self) -> Mapping[str, LedgerState]:
        """The accounts as this process knows them, for those who show them."""
        return self._states

    def when(self, charges: Sequence[Charge], now: datetime) -> datetime:
        at = now
        for charge in charges:
            at = max(at, ledger.when(self._state(charge, now), charge.amount, now, pace=self._pace))
        return at

    def room(self, charges: Sequence[Charge], now: datetime) -> float:
        return min((ledger.room(self._state(charge, now), now) for charge in charges), default=float("inf"))

    async def charge(
        self, tx: Transaction, charges: Sequence[Charge], now: datetime, *, is_made: bool = False
    ) -> Sequence[Charge]:
        """Raises `Taken` when another process has used up what seemed to be there; never for a call that `is_made`."""
        # Always in the same order, so that two processes never wait for each other's rows.
        taken = {charge.bucket: await self._charge_one(tx, charge, now, is_made) for charge in sorted(charges, key=_bucket)}
        return [taken[charge.bucket] for charge in charges]

    async def _charge_one(self, tx: Transaction, charge: Charge, now: datetime, is_made: bool) -> Charge:
        def take(state: LedgerState) -> LedgerState:
            if not is_made and ledger.when(state, charge.amount, now, pace=self._pace) > now:
                raise Taken(f"the calls left in {charge.bucket} were taken by another worker; choose again")
            return ledger.charged(state, charge.amount, now)

        state = await self._change(tx, charge, now, take)
        return structs.replace(charge, finished_before=state.finished)

    async def settle(self, tx: Transaction, charges: Sequence[Charge], page: Page, answer: Answer) -> None:
        now = answer.received_at
        states = [self._state(charge, now) for charge in charges]
        heard = hear(states, charges, page.outcome, page.reading, answer, page.results)
        free = await self._free(tx, charges, page, answer) if page.billed else {}
        for charge, word in sorted(zip(charges, heard, strict=True), key=lambda pair: pair[0].bucket):
            if charge.bucket in free:
                word = structs.replace(word, cost=max(0, word.cost - charge.limit.per_result * free[charge.bucket]))
            await self._change(tx, charge, now, partial(settling.settled, charge=charge, heard=word))

    async def _free(self, tx: Transaction, charges: Sequence[Charge], page: Page, answer: Answer) -> dict[str, int]:
        """By bucket how many of the results were paid for on the same day: none, when it is not certain which day it was."""
        free: dict[str, int] = {}
        payers: dict[str, int] = {}
        for charge in sorted((each for each in charges if each.limit.once_a_day), key=_bucket):
            payer = charge.payer or charge.bucket.rpartition("/")[0]
            day = certain_day(answer, self._state(charge, answer.received_at).clock)
            if day is not None and payer not in payers:
                payers[payer] = await self._bills.repeated(tx, payer, day, page.billed)
            free[charge.bucket] = payers.get(payer, 0)
        return free

    async def open(self, tx: Transaction, charges: Sequence[Charge], now: datetime) -> None:
        """Writes the accounts as these charges know them, so that others see what is allowed before anything is spent."""
        for charge in sorted({each.bucket: each for each in charges}.values(), key=_bucket):
            await self._change(tx, charge, now, partial(ledger.changed, now=now))

    async def delivered(
        self, tx: Transaction, held: Sequence[Charge], results: int, now: datetime, wanted: Sequence[Charge] = ()
    ) -> Sequence[Charge]:
        full = {charge.bucket: charge.amount for charge in wanted}
        return [await self._deliver(tx, each, results, full.get(each.bucket, 0), now) for each in sorted(held, key=_bucket)]

    async def _deliver(self, tx: Transaction, held: Charge, results: int, wanted: int, now: datetime) -> Charge:
        paid = held.limit.per_result * results
        left = await self._change(tx, held, now, partial(ledger.delivered, amount=paid, reserved=held.amount, now=now))
        again = min(wanted, max(0, left.available))
        if again:
            await self._change(tx, held, now, partial(ledger.reserved, amount=again, now=now))
        return structs.replace(held, amount=again)

    async def lost(self, tx: Transaction, charges: Sequence[Charge], now: datetime) -> None:
        for charge in sorted(charges, key=_bucket):
            await self._change(tx, charge, now, partial(settling.lost, amount=charge.amount, now=now))

    async def reconcile(
        self, tx: Transaction, in_flight: Callable[[Transaction], Awaitable[Mapping[str, int]]], now: datetime
    ) -> Mapping[str, int]:
        """Read anew, and before the calls: an account that is still at that version when it is replaced was so, too, when they
        were read. The other way round, a call that others begin in between would be held back for and not be found."""
        freed: dict[str, int] = {}
        states = await rows.read_all(tx)
        flying = await in_flight(tx)
        for state in states:
            phantoms = state.in_flight - flying.get(state.bucket, 0)
            if phantoms > 0 and await rows.replace(tx, state, freed_state := settling.lost(state, phantoms, now)):
                tx.on_rollback(partial(self._stale.add, state.bucket))
                self._states[state.bucket] = freed_state
                freed[state.bucket] = phantoms
        return freed

    async def _change(
        self, tx: Transaction, charge: Charge, now: datetime, change: Callable[[LedgerState], LedgerState]
    ) -> LedgerState:
        """Replaces one account by its next version, whatever others do to it meanwhile."""
        # Before it is read: the row may be of our own making, and vanish with the transaction.
        tx.on_rollback(partial(self._stale.add, charge.bucket))
        for _ in range(_MOST_TRIES):
            old = await self._fresh(tx, charge, now)
            new = change(_current(old, charge, now))
            if await rows.replace(tx, old, new):
                self._states[charge.bucket] = new
                return new
            self._stale.add(charge.bucket)
        raise Busy(f"the account of {charge.bucket} changes faster than it can be written; try again")

    async def _fresh(self, tx: Transaction, charge: Charge, now: datetime) -> LedgerState:
        bucket = charge.bucket
        if bucket in self._states and bucket not in self._stale:
            return self._states[bucket]
        state = await rows.read(tx, bucket)
        while state is None:
            await rows.add(tx, ledger.opened(bucket, charge.limit, now))
            state = await rows.read(tx, bucket)
        self._states[bucket] = state
        self._stale.discard(bucket)
        return state

    def _state(self, charge: Charge, now: datetime) -> LedgerState:
        known = self._states.get(charge.bucket)
        return ledger.opened(charge.bucket, charge.limit, now) if known is None else _current(known, charge, now)


def _current(state: LedgerState, charge: Charge, now: datetime) -> LedgerState:
    limit = charge.limit
    if limit.is_money:
        # Nothing of it is heard from a server, so that there is nothing to try with one call first.
        return structs.replace(ledger.allowed(ledger.rolled(state, now), limit.allowance), is_probing=False)
    if state.window != limit.window or state.kind is not limit.kind:
        return ledger.reopened(state, limit, now)
    is_lowered = limit.published is not None and state.allowance > limit.allowance
    return ledger.allowed(state, limit.allowance) if is_lowered else state


def _bucket(charge: Charge) -> str:
    return charge.bucket
