"""Rate limits shared by all processes of a store, and the charges that a call takes from them.

State is in the table `ledgers`. Each process has a copy in memory, so that `available_at` needs no query. Rules:

* The copy is ahead of the database only inside the caller's transaction. After a rollback, the buckets it changed are read again
  before the next change. Until then the copy still answers `available_at`, and `charge` checks again.
* Every update names the version that it replaces. If another process was faster, the bucket is read and the change made again.
* Lock order on PostgreSQL, against deadlocks: first the table `bills` (by payer, then by item), then `ledgers` by bucket name,
  compared as Python compares strings. After a bucket, a transaction locks no other one that sorts before it. Callers update
  the row of the call before they settle or lose its charges.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from datetime import date, datetime, timedelta
from functools import partial
from typing import Any

from msgspec import structs

from bowerbird.clock import EPOCH, from_micros, to_micros
from bowerbird.errors import Busy, Taken, UserError
from bowerbird.limits.bucket import Bucket, ClockOffset, call_results, new_bucket
from bowerbird.model import Answer, Charge, Credential, Facet, Page, Service, Subject, WindowKind
from bowerbird.ports import Row, Transaction, Vault
from bowerbird.providers.base import Provider

_MAX_RETRIES = 50
_BILLED_PER_INSERT = 250
_MICROSECOND = timedelta(microseconds=1)


def call_charges(facet: Facet, service: str, credential: Credential | None) -> tuple[Charge, ...]:
    """Return the most that one call of the facet takes from each bucket. Calls without a credential share one bucket."""
    name = credential.name if credential else "anonymous"
    # A credential without an account or app is an account and an app of its own.
    account, app = (credential.account, credential.app) if credential else ("", "")
    names = {"service": service, "credential": name, "account": account or name, "app": app or name, "facet": facet.name}
    charges = []
    for limit in facet.limits:
        amount = limit.per_call + limit.per_result * max(facet.results_per_call, facet.smallest_page)
        # Money is checked against the budget of the crawl instead (`budget.budget_charges`).
        if amount > limit.allowance and not limit.is_money:
            bucket = limit.bucket.rsplit("/", 1)[-1].strip("{}")
            raise UserError(
                f"One call of {facet.name} may cost {amount}, but the limit {bucket!r} allows {limit.allowance} per window.",
                "Request fewer results per call or raise the allowance.",
                code="budget_too_small",
            )
        charges.append(Charge(limit.bucket.format_map(names), amount, limit, payer=limit.payer.format_map(names)))
    return tuple(charges)


def login_charges(vault: Vault, credential: str, provider: Provider, service: Service) -> tuple[Charge, ...]:
    """Return what a login takes from the buckets that the network has for logins."""
    limits = provider.session_limits
    login = Facet(name="login", subject=Subject.USER, yields=frozenset(), limits=limits)
    return call_charges(login, service.name, _find(vault, credential))


def renewal_charges(vault: Vault, credential: str, provider: Provider, service: Service) -> tuple[Charge, ...]:
    """Return what the renewal of a session takes: the same as any call, without paging and money."""
    charges = call_charges(next(iter(provider.facets.values())), service.name, _find(vault, credential))
    return tuple(each for each in charges if not each.limit.only_paged and not each.limit.is_money)


def _find(vault: Vault, name: str) -> Credential | None:
    return next((each for each in vault.credentials() if each.name == name), None)


class RateLimits:
    """All buckets of a store. Methods never wait for a limit: `available_at` returns a time."""

    def __init__(self, *, pace: bool = True) -> None:
        """`pace` spreads calls over their window."""
        self._pace = pace
        self._buckets: dict[str, Bucket] = {}
        self._stale: set[str] = set()

    async def load(self, tx: Transaction) -> None:
        self._buckets = {bucket.name: bucket for bucket in await read_buckets(tx)}
        self._stale.clear()
        tx.on_rollback(partial(self._stale.update, self._buckets))

    def buckets(self) -> Mapping[str, Bucket]:
        """Return the buckets as this process knows them."""
        return self._buckets

    def available_at(self, charges: Sequence[Charge], now: datetime) -> datetime:
        """Return the earliest time, `now` or later, at which all buckets allow the call."""
        return max((self._known(each, now).available_at(each.amount, now, pace=self._pace) for each in charges), default=now)

    def rate(self, charges: Sequence[Charge], now: datetime) -> float:
        """Return the calls available per second of window left, to choose among credentials."""
        return min((self._known(each, now).rate(now) for each in charges), default=float("inf"))

    async def open(self, tx: Transaction, charges: Sequence[Charge], now: datetime) -> None:
        """Write the buckets of these charges, so that reports show the allowance before the first call."""
        for charge in _in_lock_order({each.bucket: each for each in charges}.values()):
            await self._change(tx, charge, now, lambda bucket: bucket.next_version(now))

    async def charge(self, tx: Transaction, charges: Sequence[Charge], now: datetime, *, is_made: bool = False) -> list[Charge]:
        """Charge a call to all its buckets before it is sent, or afterwards if it `is_made`.

        Raises `Taken` if another process has used up a bucket, unless the call is made already.
        """
        charged: dict[str, Charge] = {}
        for charge in _in_lock_order(charges):

            def take(bucket: Bucket, charge: Charge = charge) -> Bucket:
                if not is_made and bucket.available_at(charge.amount, now, pace=self._pace) > now:
                    raise Taken(f"Another worker took the calls left in {charge.bucket}. Select another call.")
                return bucket.charge(charge.amount, now)

            after = await self._change(tx, charge, now, take)
            charged[charge.bucket] = structs.replace(charge, finished_before=after.finished)
        return [charged[charge.bucket] for charge in charges]

    async def settle(self, tx: Transaction, charges: Sequence[Charge], page: Page, response: Answer) -> None:
        """Book a call that was answered or failed, and learn from the rate-limit headers of its response."""
        if not charges:
            return
        now = response.received_at
        results = call_results([self._known(each, now) for each in charges], charges, page, response)
        repeated = await self._bill(tx, charges, page, response) if page.billed else {}
        for charge, result in sorted(zip(charges, results, strict=True), key=lambda pair: pair[0].bucket):
            refund = charge.limit.per_result * repeated.get(_payer(charge), 0) if charge.limit.once_a_day else 0
            result = structs.replace(result, cost=max(0, result.cost - refund)) if refund else result
            await self._change(tx, charge, now, partial(Bucket.settle, charge=charge, result=result))

    async def _bill(self, tx: Transaction, charges: Sequence[Charge], page: Page, response: Answer) -> dict[str, int]:
        """Record the billed items of a page; return by payer how many were paid for before on the same UTC day."""
        days: dict[str, date] = {}
        for charge in charges:
            day = self._known(charge, response.received_at).certain_day(response) if charge.limit.once_a_day else None
            if day is not None:
                days.setdefault(_payer(charge), day)
        repeated, items = {}, sorted(set(page.billed))
        for payer, day in sorted(days.items()):
            number = (day - EPOCH.date()).days
            await tx.execute("delete from bills where payer = ? and day < ?", payer, number)
            repeated[payer] = len(page.billed)
            for start in range(0, len(items), _BILLED_PER_INSERT):
                block = items[start : start + _BILLED_PER_INSERT]
                sql = (
                    f"insert into bills (payer, day, item) values {', '.join(['(?, ?, ?)'] * len(block))} on conflict do nothing"
                )
                repeated[payer] -= await tx.execute(sql, *(value for item in block for value in (payer, number, item)))
        return repeated

    async def deliver(
        self, tx: Transaction, held: Sequence[Charge], results: int, now: datetime, wanted: Sequence[Charge] = ()
    ) -> list[Charge]:
        """Book what a live connection delivered against its reservation. Return the new one: as much of `wanted` as is left."""
        amounts = {charge.bucket: charge.amount for charge in wanted}
        reserved = []
        for charge in _in_lock_order(held):
            cost = charge.limit.per_result * results
            after = await self._change(tx, charge, now, partial(Bucket.deliver, cost=cost, reserved=charge.amount, now=now))
            amount = min(amounts.get(charge.bucket, 0), max(0, after.available))
            if amount:
                await self._change(tx, charge, now, partial(Bucket.charge, amount=amount, now=now))
            reserved.append(structs.replace(charge, amount=amount))
        return reserved

    async def lose(self, tx: Transaction, charges: Sequence[Charge], now: datetime) -> None:
        """Book calls whose worker died as spent."""
        for charge in _in_lock_order(charges):
            await self._change(tx, charge, now, partial(Bucket.lose, amount=charge.amount, now=now))

    async def reconcile(
        self,
        tx: Transaction,
        lost: Sequence[Charge],
        in_flight: Callable[[Transaction], Awaitable[Mapping[str, int]]],
        now: datetime,
    ) -> dict[str, int]:
        """Book as spent the charges of lost calls, and what buckets reserve for unknown calls; return the latter by bucket.

        `in_flight` returns what the calls in flight were charged, by bucket. It must run after the buckets were read: a bucket
        that still has its version when it is replaced had it when the calls were read too. In the other order, a call that
        another process starts in between would be in the bucket but not among the calls.
        """
        amounts: dict[str, int] = {}
        for charge in lost:
            amounts[charge.bucket] = amounts.get(charge.bucket, 0) + charge.amount
        known = {charge.bucket: charge for charge in lost}
        buckets = {bucket.name: bucket for bucket in await read_buckets(tx)}
        charged = await in_flight(tx)
        freed: dict[str, int] = {}
        # One pass for both, in lock order.
        for name in sorted({*buckets, *known}):
            bucket, amount = buckets.get(name), amounts.get(name, 0)
            unknown = bucket.in_flight - charged.get(name, 0) - amount if bucket is not None else 0
            if bucket is not None and unknown > 0:
                after = bucket.lose(amount + unknown, now)
                if await replace_bucket(tx, bucket, after):
                    tx.on_rollback(partial(self._stale.add, name))
                    self._buckets[name] = after
                    freed[name] = unknown
                    continue
            # If another process changed the bucket, the next run looks for unknown calls again.
            if amount:
                await self._change(tx, known[name], now, partial(Bucket.lose, amount=amount, now=now))
        return freed

    async def _change(self, tx: Transaction, charge: Charge, now: datetime, change: Callable[[Bucket], Bucket]) -> Bucket:
        """Replace a bucket by its next version, whatever other processes do to it."""
        name = charge.bucket
        # Before the first read: the row may be our own and vanish with the transaction.
        tx.on_rollback(partial(self._stale.add, name))
        for _ in range(_MAX_RETRIES):
            before = self._buckets.get(name)
            if before is None or name in self._stale:
                while (before := await read_bucket(tx, name)) is None:
                    await add_bucket(tx, new_bucket(name, charge.limit, now))
                # Kept even if `change` raises `Taken`, or the scheduler would select the same call again at once.
                self._buckets[name] = before
                self._stale.discard(name)
            after = change(before.with_limit(charge.limit, now))
            if await replace_bucket(tx, before, after):
                self._buckets[name] = after
                return after
            self._stale.add(name)
        raise Busy(f"Other processes change the rate limit {name} all the time. Try again.")

    def _known(self, charge: Charge, now: datetime) -> Bucket:
        known = self._buckets.get(charge.bucket)
        return new_bucket(charge.bucket, charge.limit, now) if known is None else known.with_limit(charge.limit, now)


def _in_lock_order(charges: Iterable[Charge]) -> list[Charge]:
    return sorted(charges, key=lambda charge: charge.bucket)


def _payer(charge: Charge) -> str:
    return charge.payer or charge.bucket.rpartition("/")[0]


_COLUMNS = (
    *("allowance", "window_micros", "kind", "remaining", "in_flight", "finished", "reset_at", "offset_low", "offset_high"),
    *("probing", "resumed_at", "backoff_until", "backoff_since", "backoff_step", "next_at", "spent", "refused", "version"),
    "updated_at",
)
_SELECT = f"select bucket, {', '.join(_COLUMNS)} from ledgers"
_INSERT = f"insert into ledgers ({', '.join(_COLUMNS)}, bucket) values ({', '.join('?' * 20)}) on conflict (bucket) do nothing"
_UPDATE = f"update ledgers set {', '.join(f'{column} = ?' for column in _COLUMNS)} where bucket = ? and version = ?"


async def read_buckets(tx: Transaction) -> list[Bucket]:
    """Return all buckets in lock order."""
    # Sorted here and not by the database, whose order depends on its collation.
    return sorted((_from_row(row) for row in await tx.fetch(_SELECT)), key=lambda bucket: bucket.name)


async def read_bucket(tx: Transaction, name: str) -> Bucket | None:
    row = await tx.fetch_one(f"{_SELECT} where bucket = ?", name)
    return None if row is None else _from_row(row)


async def add_bucket(tx: Transaction, bucket: Bucket) -> None:
    """Insert the row unless another process has."""
    await tx.execute(_INSERT, *_to_row(bucket), bucket.name)


async def replace_bucket(tx: Transaction, before: Bucket, after: Bucket) -> bool:
    """Write the new version; return False if the row no longer has the version of `before`."""
    return await tx.execute(_UPDATE, *_to_row(after), before.name, before.version) == 1


def _to_row(bucket: Bucket) -> tuple[Any, ...]:
    def micros(at: datetime | None) -> int | None:
        return None if at is None else to_micros(at)

    offset = bucket.offset
    return (
        *(
            bucket.allowance,
            bucket.window // _MICROSECOND,
            bucket.kind.value,
            bucket.remaining,
            bucket.in_flight,
            bucket.finished,
        ),
        micros(bucket.reset_at),
        *((offset.low // _MICROSECOND, offset.high // _MICROSECOND) if offset else (None, None)),
        int(bucket.is_probing),
        *(micros(bucket.resumed_at), micros(bucket.backoff_until), micros(bucket.backoff_since), bucket.backoff_step),
        *(micros(bucket.next_at), bucket.spent, bucket.refused, bucket.version, to_micros(bucket.updated_at)),
    )


def _from_row(row: Row) -> Bucket:
    def time(column: str) -> datetime | None:
        return None if row[column] is None else from_micros(row[column])

    low, high = row["offset_low"], row["offset_high"]
    return Bucket(
        name=row["bucket"],
        allowance=row["allowance"],
        window=row["window_micros"] * _MICROSECOND,
        kind=WindowKind(row["kind"]),
        remaining=row["remaining"],
        in_flight=row["in_flight"],
        finished=row["finished"],
        reset_at=time("reset_at"),
        offset=None if low is None else ClockOffset(low * _MICROSECOND, high * _MICROSECOND),
        is_probing=bool(row["probing"]),
        resumed_at=time("resumed_at"),
        backoff_until=time("backoff_until"),
        backoff_since=time("backoff_since"),
        backoff_step=row["backoff_step"],
        next_at=time("next_at"),
        spent=row["spent"],
        refused=row["refused"],
        version=row["version"],
        updated_at=from_micros(row["updated_at"]),
    )
