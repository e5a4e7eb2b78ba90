"""What a probe spends is booked where the crawl will look: it starts from the accounts of the crawl's store and ends there."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import structs

from bowerbird.errors import Busy
from bowerbird.limits.bucket import Bucket
from bowerbird.limits.rate_limits import add_bucket, read_bucket, read_buckets, replace_bucket
from bowerbird.ports import Database, Transaction

_MOST_TRIES = 50
_BILLS = "select payer, day, item from bills order by payer, day, item"
_PAID = "insert into bills (payer, day, item) values (?, ?, ?) on conflict do nothing"


async def lend(store: Database, probe: Database) -> Mapping[str, Bucket]:
    """Copies the crawl's accounts to where the probe works, and returns them as they are; what is in flight counts as spent."""
    async with store.reading() as tx:
        states = await read_buckets(tx)
    async with probe.transaction() as tx:
        # The probe has opened purses of its own, full ones.
        await tx.execute("delete from ledgers")
        for state in states:
            # Nobody settles these calls there: in flight they would keep the probe waiting.
            await add_bucket(tx, structs.replace(state, remaining=state.available, in_flight=0))
    await _copy_bills(store, probe)
    return {state.name: state for state in states}


async def book(probe: Database, store: Database, lent: Mapping[str, Bucket]) -> None:
    """Writes what the probe spent, and what it has paid for today, into the crawl's store."""
    async with probe.reading() as tx:
        ended = [_landed(state) for state in await read_buckets(tx)]
    async with store.transaction() as tx:
        # In the order of `Ledgers.charge`, so that two processes never wait for each other's rows.
        for state in sorted(ended, key=lambda each: each.name):
            await _book(tx, lent.get(state.name), state)
    await _copy_bills(probe, store)


def _landed(state: Bucket) -> Bucket:
    """The account when nobody waits for answers any more: calls in flight may have been made, so they are spent."""
    if not state.in_flight:
        return state
    reset_at = state.reset_at or state.updated_at + state.clock.low + state.window
    finished = state.finished + state.in_flight
    return structs.replace(state, remaining=state.available, in_flight=0, finished=finished, reset_at=reset_at)


async def _book(tx: Transaction, lent: Bucket | None, ended: Bucket) -> None:
    if lent is not None and ended.version == lent.version:
        return
    for _ in range(_MOST_TRIES):
        own = await read_bucket(tx, ended.name)
        if own is None:
            await add_bucket(tx, ended)
            own = await read_bucket(tx, ended.name)
            if own == ended:
                return
        elif await replace_bucket(tx, own, _after(own, lent, ended)):
            return
    raise Busy(f"the account of {ended.name} changes faster than the probe's calls can be booked", "stop the crawl and try again")


def _after(own: Bucket, lent: Bucket | None, ended: Bucket) -> Bucket:
    """The probe's own account, if the crawl made no calls meanwhile; otherwise the crawl's, less what the probe spent."""
    if lent is not None and own.version == lent.version and not own.in_flight:
        return ended
    spent = ended.spent - (0 if lent is None else lent.spent)
    less = own.deliver(spent, 0, max(own.updated_at, ended.updated_at))
    return structs.replace(less, reset_at=less.reset_at or ended.reset_at)


async def _copy_bills(source: Database, to: Database) -> None:
    """What is paid for there is paid for here: until midnight it is free."""
    async with source.reading() as tx:
        bills = [(row["payer"], row["day"], row["item"]) for row in await tx.fetch(_BILLS)]
    if bills:
        async with to.transaction() as tx:
            await tx.execute_many(_PAID, bills)
