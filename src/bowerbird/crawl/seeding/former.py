"""Former seeds: a crawl was begun with them, and its file no longer names them. Found, put to rest, and taken up again."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from datetime import datetime

from msgspec import Struct

from bowerbird.clock import to_micros
from bowerbird.model import Reason, TaskState
from bowerbird.ports import Frontier, Row, Transaction

_RETIRED = (TaskState.RETIRED, TaskState.RETIRING)
Target = tuple[str, str]
"""A service, and what is asked about there."""

_LANES = """
select l.lane, s.name from lanes l join services s on s.service = l.service join crawls w on w.crawl = l.crawl where w.name = ?
"""
_OF_CRAWL = "lane in (select l.lane from lanes l join crawls w on w.crawl = l.crawl where w.name = ?)"
SEEDS = f"select task, lane, target, state from tasks where {_OF_CRAWL} and added_by is null and depth = 0 order by task"
# Handles are looked up one by one: the only target of such a call is what its finds were found by.
_LED_TO = f"""
select c.lane as at_lane, c.targets as origin, t.lane, t.target from tasks t join calls c on c.call = t.added_by and c.objects = 1
where t.{_OF_CRAWL} and t.added_by is not null and t.depth = 0
"""
_GOES_ON = f"""
select task, lane, target from tasks
where {_OF_CRAWL} and depth = 0 and (ready = 1 or due is not null or state = '{TaskState.FAILED}')
"""
_WHICH = "select lane, target from tasks where task = ?"
_TAKE_UP = f"""
update tasks set ready = 1, due = ?, state = '{TaskState.WAITING}', attempts = 0, failure = null
where task = ? and state = '{TaskState.RETIRED}'
"""
_RECORD = """
insert into changes (at, who, why, kind, lane, target) select ?, ?, ?, 'taken_up', lane, target from tasks where task = ?
"""
_TAKEN_OUT = Reason("user", "the crawl file no longer names it")
_NAMED_AGAIN = Reason("user", "the crawl file names it again")


class FormerSeeds(Struct, frozen=True):
    """What the queues of a crawl hold of seeds that nobody names any more, and of those that are named again."""

    targets: tuple[str, ...] = ()
    """The former seeds about which something is still asked, in the order in which they came."""
    tasks: tuple[int, ...] = ()
    """What is asked about them, and about what they alone led to by name."""
    back: tuple[int, ...] = ()
    """Tasks of seeds that were put to rest before and are named again."""


async def read_former(tx: Transaction, crawl: str, named: Collection[Target]) -> FormerSeeds:
    """Compares the seeds of a crawl's queues with those that are `named` now."""
    services = {row["lane"]: row["name"] for row in await tx.fetch(_LANES, crawl)}
    seeds = [(row, (services[row["lane"]], row["target"])) for row in await tx.fetch(SEEDS, crawl)]
    back = tuple(row["task"] for row, seed in seeds if row["state"] == TaskState.RETIRED and seed in named)
    gone = dict.fromkeys(seed for row, seed in seeds if row["state"] not in _RETIRED and seed not in named)
    if not gone:
        return FormerSeeds(back=back)
    led_to = _led_to(await tx.fetch(_LED_TO, crawl), services)
    kept = _family(named, led_to)
    asked = _by_target(await tx.fetch(_GOES_ON, crawl), services)
    families = {seed: _family([seed], led_to) - kept for seed in gone}
    found = {seed: sorted({task for each in family for task in asked.get(each, ())}) for seed, family in families.items()}
    targets = tuple(seed[1] for seed, tasks in found.items() if tasks)
    return FormerSeeds(targets, tuple(dict.fromkeys(task for tasks in found.values() for task in tasks)), back)


async def put_to_rest(
    tx: Transaction, frontier: Frontier, former: FormerSeeds, now: datetime, reason: Reason = _TAKEN_OUT
) -> None:
    """Asks no more about former seeds; what was collected stays. What a call is asking just now ends with that call."""
    targets: defaultdict[int, list[str]] = defaultdict(list)
    for task in former.tasks:
        for row in await tx.fetch(_WHICH, task):
            targets[row["lane"]].append(row["target"])
    for lane, names in targets.items():
        await frontier.retire(tx, lane, names, reason, now)


async def take_up(tx: Transaction, former: FormerSeeds, now: datetime) -> None:
    """Asks again about seeds that are named again."""
    at = to_micros(now)
    await tx.execute_many(_TAKE_UP, [(at, task) for task in former.back])
    await tx.execute_many(_RECORD, [(at, _NAMED_AGAIN.who, _NAMED_AGAIN.why, task) for task in former.back])


def _led_to(rows: Iterable[Row], services: Mapping[int, str]) -> Mapping[Target, set[Target]]:
    found: defaultdict[Target, set[Target]] = defaultdict(set)
    for row in rows:
        origin = (services.get(row["at_lane"], ""), row["origin"])
        found[origin].add((services[row["lane"]], row["target"]))
    return found


def _family(seeds: Iterable[Target], led_to: Mapping[Target, set[Target]]) -> set[Target]:
    """The seeds with everything that they led to."""
    found, left = set[Target](), list(seeds)
    while left:
        each = left.pop()
        if each not in found:
            found.add(each)
            left.extend(led_to.get(each, ()))
    return found


def _by_target(rows: Iterable[Row], services: Mapping[int, str]) -> Mapping[Target, list[int]]:
    found: defaultdict[Target, list[int]] = defaultdict(list)
    for row in rows:
        found[services[row["lane"]], row["target"]].append(row["task"])
    return found
