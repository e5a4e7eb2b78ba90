"""What waits: the frontier by lane, class of priority and age of the last visit; who is next; and how targets came there."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from datetime import datetime, timedelta

from msgspec import Struct

from bowerbird.clock import from_micros, to_micros
from bowerbird.flows.flow import Flow
from bowerbird.model import TaskState
from bowerbird.ports import Database, Row, Transaction
from bowerbird.reports.counting.counts import Counter as RowCounter

AGES = {
    "never": None,
    "within the hour": timedelta(hours=1),
    "within 6 hours": timedelta(hours=6),
    "within a day": timedelta(days=1),
    "within a week": timedelta(days=7),
    "within a month": timedelta(days=30),
    "longer ago": timedelta(days=36_500),
}
"""How long ago a target was last visited, in words; each up to a time."""
SEEDS, OTHERS = "seeds", "modules"
"""Where targets come from that no page of a facet led to."""
_SAMPLE = 5_000
"""Tasks that are counted one by one; of more an even sample is: it is counted again every few seconds while somebody looks."""
_RECENT_TASKS = 500
_LANES = """
select l.lane, l.facet, s.name as service from lanes l join services s on s.service = l.service where l.crawl = ? order by l.lane
"""
_NEXT = """
select target, priority, due, visits, visited_at, depth from tasks where lane = ? and paged = 0 and ready = 1
order by priority desc, due, task limit ?
"""
_SOURCE = f"""
coalesce((select k.facet from calls k where k.call = tasks.added_by),
    case when tasks.depth = 0 then '{SEEDS}' else '{OTHERS}' end)
"""
_ADDED = f"""
select lane, {_SOURCE} as source, added_at from (select * from tasks order by task desc limit ?) as tasks
"""


_SEED_TASKS = """
select count(*) as n from
    (select 1 from tasks where depth = 0 and lane in (select lane from lanes where crawl = ?) limit ?) as few
"""
_MOST_SEEDS = 100_000


class LaneLoad(Struct, frozen=True, kw_only=True):
    """The tasks of one lane."""

    lane: int
    facet: str
    service: str
    states: Mapping[TaskState, int]
    ages: Mapping[str, int]
    """By age of the last visit, those that are not retired."""
    classes: Mapping[int, int]
    """By class of priority, where the ranker has any: TwitterEcho's, by their lowest level; 0 for the frozen."""
    class_ages: Mapping[int, Mapping[str, int]]
    """By class of priority: by age of the last visit."""
    is_exact: bool

    @property
    def waiting(self) -> int:
        return self.states.get(TaskState.WAITING, 0) + self.states.get(TaskState.LEASED, 0)


class NextTask(Struct, frozen=True, kw_only=True):
    """A target that is asked about soon."""

    target: str
    priority: float
    due: datetime | None
    visits: int
    visited_at: datetime | None
    depth: int


class Led(Struct, frozen=True):
    """How many targets came from one facet to another."""

    targets: int
    is_exact: bool
    a_minute: float
    """Of late."""


async def read_frontier(tx: Transaction, database: Database, crawl: int, flow: Flow, now: datetime) -> list[LaneLoad]:
    """Every lane of a crawl; of large frontiers an even sample is counted."""
    lanes = await tx.fetch(_LANES, crawl)
    echo = [row["lane"] for row in lanes if _has_classes(flow, row["facet"])]
    parts = {"lane": "lane", "state": "state", "age": _age(now), "class": _class(echo)}
    counts = await RowCounter(database, exact=_SAMPLE).by(tx, "tasks", "task", parts)
    found: defaultdict[int, _Sums] = defaultdict(_Sums)
    for (lane, state, age, level), count in counts.items():
        found[int(str(lane))].add(TaskState(str(state)), str(age), None if level is None else int(str(level)), count.value)
    is_exact = all(count.is_exact for count in counts.values())
    return [_load(row, found[row["lane"]], is_exact=is_exact) for row in lanes]


async def read_next(tx: Transaction, lane: int, most: int = 10) -> list[NextTask]:
    """The first in line."""
    return [
        NextTask(
            target=row["target"],
            priority=row["priority"],
            due=_when(row["due"]),
            visits=row["visits"],
            visited_at=_when(row["visited_at"]),
            depth=row["depth"],
        )
        for row in await tx.fetch(_NEXT, lane, most)
    ]


async def read_seeds(tx: Transaction, crawl: int) -> int:
    """How many targets a crawl was begun with, counted up to a hundred thousand."""
    row = await tx.fetch_one(_SEED_TASKS, crawl, _MOST_SEEDS)
    return int(row["n"]) if row else 0


async def read_led(tx: Transaction, database: Database, crawl: int, now: datetime) -> dict[tuple[str, str], Led]:
    """How many targets each facet led to, by where they came from and where they went; of large frontiers from a sample."""
    facets = {row["lane"]: row["facet"] for row in await tx.fetch(_LANES, crawl)}
    counts = await RowCounter(database, exact=_SAMPLE).by(tx, "tasks", "task", {"lane": "lane", "source": _SOURCE})
    recent = await _recently(tx, facets, now)
    sums, is_exact = Counter[tuple[str, str]](), True
    for (lane, source), count in counts.items():
        if lane in facets:
            sums[str(source), facets[lane]] += count.value
            is_exact = is_exact and count.is_exact
    return {edge: Led(sums[edge], is_exact, recent.get(edge, 0.0)) for edge in {*sums, *recent}}


async def _recently(tx: Transaction, facets: Mapping[object, str], now: datetime) -> dict[tuple[str, str], float]:
    """Targets per minute, by the newest tasks of the store."""
    rows = await tx.fetch(_ADDED, _RECENT_TASKS)
    since = from_micros(min((row["added_at"] for row in rows), default=to_micros(now)))
    minutes = max((now - since) / timedelta(minutes=1), 1.0)
    counts = Counter((row["source"], facets[row["lane"]]) for row in rows if row["lane"] in facets)
    return {edge: count / minutes for edge, count in counts.items()}


class _Sums:
    def __init__(self) -> None:
        self.states, self.ages, self.classes = Counter[TaskState](), Counter[str](), Counter[int]()
        self.class_ages: defaultdict[int, Counter[str]] = defaultdict(Counter)

    def add(self, state: TaskState, age: str, level: int | None, count: int) -> None:
        self.states[state] += count
        if state is not TaskState.RETIRED:
            self.ages[age] += count
            if level is not None:
                self.classes[level] += count
                self.class_ages[level][age] += count


def _load(row: Row, sums: _Sums, *, is_exact: bool) -> LaneLoad:
    return LaneLoad(
        lane=row["lane"],
        facet=row["facet"],
        service=row["service"],
        states=dict(sums.states),
        ages={age: sums.ages[age] for age in AGES},
        classes=dict(sorted(sums.classes.items(), reverse=True)),
        class_ages={level: dict(sums.class_ages[level]) for level in sums.classes},
        is_exact=is_exact,
    )


def _has_classes(flow: Flow, facet: str) -> bool:
    return any(use.name == facet and use.ranker == "echo" for use in flow.facets)


def _age(now: datetime) -> str:
    """An expression for the age of the last visit; its words and numbers are our own."""
    at = to_micros(now)
    cases = [f"when visited_at > {at - up_to // timedelta(microseconds=1)} then '{age}'" for age, up_to in AGES.items() if up_to]
    return f"case when visited_at is null then 'never' {' '.join(cases)} else 'longer ago' end"


def _class(lanes: list[int]) -> str:
    chosen = ", ".join(str(int(lane)) for lane in lanes)
    return f"case when lane in ({chosen}) then cast(priority as bigint) end" if lanes else "cast(null as bigint)"


def _when(micros: int | None) -> datetime | None:
    return None if micros is None else from_micros(micros)
