"""Retire seeds that were taken out of a crawl, and resume seeds that are named again.

A seed stays in the queues of its crawl until it is retired. A handle leads to an account, which is
retired with it unless a seed that stays leads to the same account. What was collected stays.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from datetime import datetime

from msgspec import Struct

from bowerbird.clock import to_micros
from bowerbird.model import Reason, TaskState
from bowerbird.ports import Frontier, Transaction

Target = tuple[str, str]
"""The name of a service, and the target that is asked about there."""

_LANES = """
select l.lane, s.name from lanes l join services s on s.service = l.service
join crawls w on w.crawl = l.crawl where w.name = ?
"""
_OF_CRAWL = """
lane in (select l.lane from lanes l join crawls w on w.crawl = l.crawl where w.name = ?)
"""
SEEDS = f"""
select task, lane, target, state from tasks where {_OF_CRAWL} and added_by is null and depth = 0
order by task
"""
# A handle is looked up in a call of its own, so the call's only target is what led to the result.
_LED_TO = f"""
select c.lane as seed_lane, c.targets as seed, t.lane, t.target from tasks t
join calls c on c.call = t.added_by and c.objects = 1
where t.{_OF_CRAWL} and t.added_by is not null and t.depth = 0
"""
# Tasks that will still be requested, now, later or by the next start.
_OPEN = f"""
select lane, target from tasks
where {_OF_CRAWL} and depth = 0 and (ready = 1 or due is not null or state = '{TaskState.FAILED}')
"""
_RESUME = f"""
update tasks set ready = 1, due = ?, state = '{TaskState.WAITING}', attempts = 0, failure = null
where task = ? and state = '{TaskState.RETIRED}'
"""
_RECORD = """
insert into changes (at, who, why, kind, lane, target)
select ?, ?, ?, 'taken_up', lane, target from tasks where task = ?
"""
_RETIRED = (TaskState.RETIRED, TaskState.RETIRING)
_NAMED_AGAIN = Reason("user", "the crawl file names it again")


class Retired(Struct, frozen=True):
    """How much was retired."""

    seeds: int = 0
    tasks: int = 0
    """Of these seeds, and of the accounts that they alone led to."""


async def retire_seeds_except(
    tx: Transaction,
    frontier: Frontier,
    crawl: str,
    kept: Collection[Target],
    reason: Reason,
    now: datetime,
) -> Retired:
    """Retire every seed of a crawl that is not in `kept`, with the accounts it alone led to.

    A seed that is being requested is retired when its request ends. Seeds with nothing left to
    request stay as they are, and are not counted.
    """
    services = {row["lane"]: row["name"] for row in await tx.fetch(_LANES, crawl)}
    former = {(services[row["lane"]], row["target"]) for row in await tx.fetch(SEEDS, crawl) if row["state"] not in _RETIRED}
    former.difference_update(kept)
    if not former:
        return Retired()
    led_to: defaultdict[Target, set[Target]] = defaultdict(set)
    for row in await tx.fetch(_LED_TO, crawl):
        # A call of another crawl of the store has a lane that is not among these.
        seed = (services.get(row["seed_lane"], ""), row["seed"])
        led_to[seed].add((services[row["lane"]], row["target"]))
    open_targets: defaultdict[Target, list[int]] = defaultdict(list)
    for row in await tx.fetch(_OPEN, crawl):
        open_targets[services[row["lane"]], row["target"]].append(row["lane"])

    stays = _with_descendants(kept, led_to)
    seeds, retired = 0, set[Target]()
    for seed in former:
        found = (_with_descendants([seed], led_to) - stays) & open_targets.keys()
        seeds += bool(found)
        retired |= found
    by_lane: defaultdict[int, list[str]] = defaultdict(list)
    for target in sorted(retired):
        for lane in open_targets[target]:
            by_lane[lane].append(target[1])
    for lane in sorted(by_lane):
        await frontier.retire(tx, lane, by_lane[lane], reason, now)
    return Retired(seeds, sum(len(targets) for targets in by_lane.values()))


async def resume_seeds(tx: Transaction, crawl: str, named: Collection[Target], now: datetime) -> int:
    """Resume the retired seeds of a crawl that are in `named`; return how many there were."""
    services = {row["lane"]: row["name"] for row in await tx.fetch(_LANES, crawl)}
    tasks = [
        row["task"]
        for row in await tx.fetch(SEEDS, crawl)
        if row["state"] == TaskState.RETIRED and (services[row["lane"]], row["target"]) in named
    ]
    at = to_micros(now)
    await tx.execute_many(_RESUME, [(at, task) for task in tasks])
    await tx.execute_many(_RECORD, [(at, _NAMED_AGAIN.who, _NAMED_AGAIN.why, task) for task in tasks])
    return len(tasks)


def _with_descendants(seeds: Iterable[Target], led_to: Mapping[Target, Collection[Target]]) -> set[Target]:
    """The seeds, and everything that they led to."""
    found, left = set[Target](), list(seeds)
    while left:
        target = left.pop()
        if target not in found:
            found.add(target)
            left.extend(led_to.get(target, ()))
    return found
