"""How long a crawl will take: what waits in each lane against what its buckets allow. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

from msgspec import Struct

from bowerbird.flows.flow import Flow, Size, Stop
from bowerbird.limits.bucket import Bucket, new_bucket
from bowerbird.model import Charge

_FAR = timedelta(days=3650)


class Load(Struct, frozen=True):
    """The calls that wait in one lane, and the charges of one such call for each credential it may use."""

    calls: int
    options: Sequence[Sequence[Charge]]


def never_ends(flow: Flow) -> bool:
    """Whether some facet comes round again by itself, so that only the user or a stop condition ends the crawl."""
    return any(use.comes_round for use in flow.facets)


def backlog_time(loads: Sequence[Load], states: Mapping[str, Bucket], now: datetime) -> timedelta:
    """The least time the buckets need for everything that waits now; lists that turn out longer take more."""
    wanted: defaultdict[str, float] = defaultdict(float)
    limits: dict[str, Charge] = {}
    for load in loads:
        for charges in load.options:
            for charge in charges:
                if not charge.limit.only_paged and not charge.limit.is_money:
                    wanted[charge.bucket] += load.calls / len(load.options) * charge.amount
                    limits[charge.bucket] = charge
    times = [_time(amount, limits[bucket], states.get(bucket), now) for bucket, amount in wanted.items() if amount]
    return min(max(times, default=timedelta(0)), _FAR)


def _time(amount: float, charge: Charge, known: Bucket | None, now: datetime) -> timedelta:
    state = known.current(now) if known else new_bucket(charge.bucket, charge.limit, now)
    available = max(0, state.available)
    left = max(state.resumes_at - now, timedelta(0)) if state.reset_at is not None else state.window
    if amount <= available:
        return left * (amount / available)
    return min(left + state.window * ((amount - available) / max(1, state.allowance)), _FAR)


def time_to_stop(stop: Stop, size: Size, rates: tuple[float, float]) -> timedelta | None:
    """When the first stop condition will be met at the present rates; None when none is set or nothing moves."""
    calls, items = rates
    times = [stop.duration - size.elapsed] if stop.duration is not None else []
    for limit, done, speed in ((stop.calls, size.calls, calls), (stop.items, size.items, items)):
        if limit is not None and speed > 0:
            times.append(min(timedelta(seconds=(limit - done) / speed), _FAR))
    return max(min(times), timedelta(0)) if times else None
