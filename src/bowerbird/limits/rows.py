"""Rows of the table `ledgers`: how an account is read, made and replaced, each version exactly once."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from bowerbird.clock import from_micros, to_micros
from bowerbird.limits.ledger import LedgerState
from bowerbird.limits.server_clock import Offset, is_plausible
from bowerbird.model import WindowKind
from bowerbird.ports import Row, Transaction

_MICROSECOND = timedelta(microseconds=1)
_OFTEN = (
    *("remaining", "in_flight", "finished", "reset_at", "offset_low", "offset_high", "probing", "next_at", "spent", "version"),
    "updated_at",
)
"""What calls change."""
_SELDOM = ("allowance", "window_micros", "kind", "resumed_at", "backoff_until", "backoff_since", "backoff_step", "refused")
"""What changes with a window, or with a refusal."""
_COLUMNS = (*_OFTEN, *_SELDOM)
_SELECT = f"select bucket, {', '.join(_COLUMNS)} from ledgers"
_INSERT = (
    f"insert into ledgers ({', '.join(_COLUMNS)}, bucket) values ({', '.join('?' * (len(_COLUMNS) + 1))}) "
    "on conflict (bucket) do nothing"
)
_UPDATE = f"update ledgers set {', '.join(f'{column} = ?' for column in _COLUMNS)} where bucket = ? and version = ?"
_UPDATE_OFTEN = f"update ledgers set {', '.join(f'{column} = ?' for column in _OFTEN)} where bucket = ? and version = ?"


async def read_all(tx: Transaction) -> Sequence[LedgerState]:
    return [_state(row) for row in await tx.fetch(_SELECT)]


async def read(tx: Transaction, bucket: str) -> LedgerState | None:
    row = await tx.fetch_one(f"{_SELECT} where bucket = ?", bucket)
    return None if row is None else _state(row)


async def add(tx: Transaction, state: LedgerState) -> None:
    """Makes the row unless somebody else just did."""
    await tx.execute(_INSERT, *_often(state), *_seldom(state), state.bucket)


async def replace(tx: Transaction, old: LedgerState, new: LedgerState) -> bool:
    """Writes the new version; False if the row is no longer the old one."""
    # Where the row is of the old version it says what that says: nothing else need be written than what changed.
    if _seldom_changed(old) == _seldom_changed(new):
        return await tx.execute(_UPDATE_OFTEN, *_often(new), old.bucket, old.version) == 1
    return await tx.execute(_UPDATE, *_often(new), *_seldom(new), old.bucket, old.version) == 1


def _often(state: LedgerState) -> tuple[Any, ...]:
    offset = state.offset
    return (
        state.remaining,
        state.in_flight,
        state.finished,
        _micros(state.reset_at),
        None if offset is None else offset.low // _MICROSECOND,
        None if offset is None else offset.high // _MICROSECOND,
        int(state.is_probing),
        _micros(state.next_at),
        state.spent,
        state.version,
        to_micros(state.updated_at),
    )


def _seldom_changed(state: LedgerState) -> tuple[Any, ...]:
    waits = state.backoff_until, state.backoff_since, state.backoff_step
    return state.allowance, state.window, state.kind, state.resumed_at, waits, state.refused


def _seldom(state: LedgerState) -> tuple[Any, ...]:
    window = state.allowance, state.window // _MICROSECOND, state.kind.value, _micros(state.resumed_at)
    return *window, _micros(state.backoff_until), _micros(state.backoff_since), state.backoff_step, state.refused


def _micros(when: datetime | None) -> int | None:
    return None if when is None else to_micros(when)


def _time(micros: int | None) -> datetime | None:
    return None if micros is None else from_micros(micros)


def _state(row: Row) -> LedgerState:
    return LedgerState(
        bucket=row["bucket"],
        allowance=row["allowance"],
        window=timedelta(microseconds=row["window_micros"]),
        kind=WindowKind(row["kind"]),
        remaining=row["remaining"],
        in_flight=row["in_flight"],
        finished=row["finished"],
        reset_at=_time(row["reset_at"]),
        offset=_offset(row["offset_low"], row["offset_high"]),
        is_probing=bool(row["probing"]),
        resumed_at=_time(row["resumed_at"]),
        backoff_until=_time(row["backoff_until"]),
        backoff_since=_time(row["backoff_since"]),
        backoff_step=row["backoff_step"],
        next_at=_time(row["next_at"]),
        spent=row["spent"],
        refused=row["refused"],
        version=row["version"],
        updated_at=from_micros(row["updated_at"]),
    )


def _offset(low: int | None, high: int | None) -> Offset | None:
    if low is None or high is None:
        return None
    offset = Offset(timedelta(microseconds=low), timedelta(microseconds=high))
    # Older versions believed any date.
    return offset if is_plausible(offset) else None
