"""Numbers over time: posts by hour, day and month, by hour of the week, and languages by day."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

from msgspec import Struct

from bowerbird.clock import from_micros
from bowerbird.modules.statistics.tally import KINDS, STORED, unpacked
from bowerbird.ports import Transaction
from bowerbird.reports.counting.by_time import Unit
from bowerbird.reports.statistics.documents import read_document


class Series(Struct, frozen=True, kw_only=True):
    """Several numbers at the same times."""

    as_of: datetime
    times: Sequence[datetime]
    values: Mapping[str, Sequence[int]]
    before: int
    """What lies before the first time shown."""


class Peak(Struct, frozen=True, kw_only=True):
    """One of the numbers of a series: what it is on average, from its first time to its last, and at most."""

    mean: float
    most: int
    at: datetime
    """When it was that; the latest time."""


class _Kept(Struct):
    times: list[int]
    series: dict[str, list[int]]
    before: int
    all: list[tuple[int, int]] = []


def peak(series: Series, name: str) -> Peak | None:
    """None where there was nothing of that name."""
    known = [(count, at) for count, at in zip(series.values.get(name, ()), series.times, strict=False)]
    counted = [place for place, (count, _) in enumerate(known) if count]
    if not counted:
        return None
    span = known[counted[0] : counted[-1] + 1]
    most, at = max(span)
    return Peak(mean=sum(count for count, _ in span) / len(span), most=most, at=at)


async def read_volumes(tx: Transaction, unit: Unit) -> Series | None:
    """Posts written, by kind, and under `stored` those that were stored; None where nothing was counted yet."""
    names = {str(place): kind.value for place, kind in enumerate(KINDS)} | {str(STORED): "stored"}
    return await _series(tx, f"volumes {unit}", names)


async def read_languages(tx: Transaction) -> tuple[Series, Sequence[tuple[str, int]]] | None:
    """The most frequent languages by day, the others together; and how many posts each has."""
    found = await read_document(tx, "languages", _Kept)
    if found is None:
        return None
    names = {key: unpacked(int(key)) if int(key) else "others" for key in found[0].series}
    series = await _series(tx, "languages", names)
    return None if series is None else (series, [(unpacked(key), n) for key, n in found[0].all])


async def _series(tx: Transaction, name: str, names: Mapping[str, str]) -> Series | None:
    found = await read_document(tx, name, _Kept)
    if found is None:
        return None
    kept, at = found
    values = {names[key]: numbers for key, numbers in kept.series.items() if any(numbers)}
    ordered = {each: values[each] for each in dict.fromkeys(names.values()) if each in values}
    return Series(as_of=at, times=[from_micros(each) for each in kept.times], values=ordered, before=kept.before)


async def read_week(tx: Transaction) -> tuple[list[list[int]], datetime] | None:
    """Posts by day of the week (Monday first) and hour of the day, in UTC."""
    found = await read_document(tx, "rhythm", dict[str, list[list[int]]])
    return None if found is None else (found[0]["week"], found[1])
