"""The frontier as a relation: add, lease, settle, give back, sweep."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta

from bowerbird.clock import from_micros, to_micros
from bowerbird.errors import Failure, Fenced
from bowerbird.frontier import statements as sql
from bowerbird.frontier.adding import Additions
from bowerbird.frontier.held import LARGEST_BLOCK, Held
from bowerbird.frontier.leasing import Leasing
from bowerbird.model import Arrival, Draw, Placement, Progress, Reason, Setback, Settled, Task, TaskState, Turn
from bowerbird.ports import Database, Row, Transaction

_MOST_WORDS = 500

SWEEP_SIZE = 1000
"""An arrival that changes nothing of a target that the lane has."""


class TaskFrontier:
    """Implements `ports.Frontier` for one worker on either database."""

    def __init__(
        self, database: Database, me: Callable[[], int], *, lease: timedelta, call: timedelta, in_memory: int = LARGEST_BLOCK
    ) -> None:
        """`me`: the number of this worker, as it is now; `lease`: how long tasks stay ours; `call`: what must be left of it to
        start a call; `in_memory`: how many tasks of a queue are held at most."""
        self._database = database
        self._me = me
        self._lease = lease
        self._call = call
        self._held = Held(in_memory)
        self._leasing = Leasing(database)
        self._additions = Additions(database)
        self._find_held = sql.held(database.any("bigint"), database.dialect)
        self._sweep = sql.sweep(database.dialect)

    async def add(
        self, tx: Transaction, arrivals: Sequence[tuple[Arrival, Placement]], call: int | None, now: datetime
    ) -> frozenset[int]:
        if not arrivals:
            return frozenset()
        added_at = to_micros(now)
        rows: defaultdict[sql.Manner, list[tuple[object, ...]]] = defaultdict(list)
        for arrival, placement in arrivals:
            ready, due, state = _place(placement.due, now)
            rows[arrival.wakes, placement.moves, arrival.nears].append(
                (
                    arrival.lane,
                    arrival.target,
                    ready,
                    placement.priority,
                    due,
                    state,
                    arrival.depth,
                    added_at,
                    call,
                    placement.memory,
                    arrival.newest,
                    int(arrival.is_paged),
                )
            )
        if call is not None and sql.NEW_ONLY in rows and await self._has_retired(tx, rows[sql.NEW_ONLY]):
            rows[sql.NEW_OR_RETIRED] = rows.pop(sql.NEW_ONLY)
        await self._additions.write(tx, rows)
        return frozenset(arrival.lane for arrival, placement in arrivals if placement.due is not None)

    async def take_turn(self, tx: Transaction) -> None:
        await self._additions.take_turn(tx)

    async def _has_retired(self, tx: Transaction, rows: Sequence[tuple[object, ...]]) -> bool:
        lanes = self._database.members(sorted({row[0] for row in rows}))
        return await tx.fetch_one(sql.has_retired(self._database.any("bigint")), lanes) is not None

    async def retire(self, tx: Transaction, lane: int, targets: Sequence[str], reason: Reason, now: datetime) -> Sequence[str]:
        # What only waits in our memory is not being asked.
        await self._return(tx, self._held.drop_targets(tx, lane, frozenset(targets)), now)
        why = Failure("retired", reason.why).clipped(_MOST_WORDS).to_json()
        found = [row["target"] for target in targets for row in await tx.fetch(sql.RETIRE, why, lane, target)]
        record = (to_micros(now), self._me() or None, reason.who, reason.why, lane)
        await tx.execute_many(sql.RECORD, [(*record, target) for target in found])
        return found

    async def known(self, tx: Transaction, arrivals: Sequence[Arrival]) -> Mapping[tuple[int, str], Task]:
        targets: dict[int, list[str]] = defaultdict(list)
        for arrival in arrivals:
            targets[arrival.lane].append(arrival.target)
        statement = sql.known(self._database.any("text"))
        tasks = [
            _task(row, 0)
            for lane, names in targets.items()
            for row in await tx.fetch(statement, lane, self._database.members(names))
        ]
        return {(task.lane, task.target): task for task in tasks}

    async def lease(self, tx: Transaction, turn: Turn, draws: Sequence[Draw], now: datetime) -> Sequence[Task]:
        tasks: list[Task] = []
        for draw in draws:
            if (missing := draw.count - len(tasks)) > 0:
                tasks += await self._draw(tx, turn, Draw(missing, draw.low, draw.high), now)
        return tasks

    async def _draw(self, tx: Transaction, turn: Turn, draw: Draw, now: datetime) -> list[Task]:
        tasks = self._held.take(tx, turn, draw, now)
        missing = Draw(draw.count - len(tasks), draw.low, draw.high)
        if missing.count <= 0:
            return tasks
        claimed = await self._claim(tx, turn, missing, now)
        self._held.keep(tx, turn, draw, claimed[missing.count :], now + self._lease - self._call)
        return tasks + claimed[: missing.count]

    async def _claim(self, tx: Transaction, turn: Turn, draw: Draw, now: datetime) -> list[Task]:
        size = self._held.claim_size(turn, draw, now)
        is_banded = draw.low > float("-inf") or draw.high < float("inf")
        where = (turn.lane, int(turn.is_paged), *((draw.low, draw.high) if is_banded else ()), size)
        claimed = await self._leasing.lease(tx, where, to_micros(now + self._lease), self._me())
        return [_task(row, token) for row, token in claimed]

    async def settle(self, tx: Transaction, settled: Sequence[Settled], now: datetime) -> frozenset[int]:
        ids = [item.task.task for item in settled]
        rows = await tx.fetch(self._find_held, self._database.members(ids))
        held = {row["task"]: row for row in rows}
        for item in settled:
            if item.task.task not in held or held[item.task.task]["token"] != item.task.token:
                raise Fenced(f"the lease of task {item.task.task} ({item.task.target}) is no longer ours; its answer is dropped")
        changes = [_settled_row(item, held[item.task.task], now) for item in settled]
        await tx.execute_many(sql.SETTLE, changes)
        return frozenset(item.task.lane for item, change in zip(settled, changes, strict=True) if change[0])

    async def set_back(self, tx: Transaction, setbacks: Sequence[Setback]) -> None:
        rows = [_set_back_row(each) for each in setbacks]
        await tx.execute_many(sql.SET_BACK, rows)

    async def give_back(self, tx: Transaction, tasks: Sequence[Task], due: datetime) -> None:
        await tx.execute_many(sql.GIVE_BACK, [(0, to_micros(due), TaskState.ASLEEP, task.task, task.token) for task in tasks])

    async def release(self, tx: Transaction, now: datetime) -> None:
        """Gives back everything held in memory, ready at once: the last act of an orderly stop."""
        await self._return(tx, self._held.drop(tx), now)

    async def _return(self, tx: Transaction, tasks: Sequence[Task], now: datetime) -> None:
        """Puts tasks that were claimed and not asked about where they stood."""
        rows = [(1, to_micros(task.due or now), TaskState.WAITING, task.task, task.token) for task in tasks]
        await tx.execute_many(sql.GIVE_BACK, rows)

    async def sweep(self, tx: Transaction, now: datetime) -> frozenset[int]:
        # Before their leases run out: a task that only ran out would stand at the end of its queue, and miss its turn.
        lapsed = self._held.lapsed(tx, now)
        await self._return(tx, lapsed, now)
        rows = await tx.fetch(self._sweep, to_micros(now), SWEEP_SIZE) if await self._is_any_due(tx, now) else ()
        return frozenset(row["lane"] for row in rows) | {task.lane for task in lapsed}

    async def _is_any_due(self, tx: Transaction, now: datetime) -> bool:
        # In SQLite a statement that could write takes twenty times as long as a look, and mostly finds nothing; to PostgreSQL a
        # look would be one more way.
        return self._database.dialect != "sqlite" or await tx.fetch_one(sql.IS_ANY_DUE, to_micros(now)) is not None

    async def next_due(self, tx: Transaction, lanes: Sequence[int]) -> datetime | None:
        row = await tx.fetch_one(sql.next_due(self._database.any("bigint")), self._database.members(lanes))
        return None if row is None else from_micros(row["due"])

    async def ready_in(self, tx: Transaction, lanes: Sequence[int]) -> frozenset[int]:
        rows = await tx.fetch(sql.ready_in(self._database.dialect), self._database.members(lanes))
        return frozenset(row["lane"] for row in rows)

    async def close(self, tx: Transaction, lane: int, why: Failure) -> None:
        held = self._held.drop(tx, lane)
        await tx.execute_many(sql.GIVE_BACK, [(1, None, TaskState.WAITING, task.task, task.token) for task in held])
        await tx.execute(sql.CLOSE, why.to_json(), lane)

    async def revive(self, tx: Transaction, lanes: Sequence[int], now: datetime) -> int:
        return await tx.execute(sql.revive(self._database.any("bigint")), to_micros(now), self._database.members(lanes))

    async def expire(self, tx: Transaction, leased_at: datetime, now: datetime) -> None:
        await tx.execute(sql.EXPIRE, to_micros(now), self._me(), to_micros(leased_at + self._lease))

    async def recover(self, tx: Transaction, now: datetime) -> int:
        return len(await tx.fetch(sql.RECOVER, to_micros(now)))

    def let_go(self) -> None:
        self._held.clear()


def _place(due: datetime | None, now: datetime) -> tuple[int, int | None, str]:
    if due is None:
        return 0, None, TaskState.ASLEEP
    return (1, to_micros(due), TaskState.WAITING) if due <= now else (0, to_micros(due), TaskState.ASLEEP)


def _settled_row(item: Settled, held: Row, now: datetime) -> tuple[object, ...]:
    ready, due, state = _place(item.placement.due, now)
    failure = None if item.failure is None else item.failure.to_json()
    if held["state"] == TaskState.RETIRING:
        ready, due, state, failure = 0, None, TaskState.RETIRED.value, held["failure"]
    elif failure is not None:
        ready, due, state = 0, None, TaskState.FAILED
    elif held["woken"] and not ready and not item.placement.moves:
        ready, due, state = 1, to_micros(now), TaskState.WAITING
    progress = item.progress
    visited_at = to_micros(now) if item.is_visit else None
    return (
        *(ready, due, item.placement.priority, state, int(item.is_paged), progress.cursor, progress.newest, progress.head),
        *(item.attempts, item.pages, int(item.is_visit), visited_at, failure, item.placement.memory, item.task.task),
    )


def _set_back_row(setback: Setback) -> tuple[object, ...]:
    task = setback.task
    place = (None, TaskState.FAILED) if setback.failure is not None else (to_micros(setback.due), TaskState.ASLEEP)
    failure = None if setback.failure is None else setback.failure.to_json()
    return (failure, *place, task.task, task.token)


def _task(row: Row, token: int) -> Task:
    visited = row["visited_at"]
    return Task(
        task=row["task"],
        lane=row["lane"],
        target=row["target"],
        token=token,
        progress=Progress(row["cursor"], row["newest"], row["head"]),
        priority=row["priority"],
        depth=row["depth"],
        attempts=row["attempts"],
        pages=row["pages"],
        visits=row["visits"],
        added_at=from_micros(row["added_at"]),
        visited_at=None if visited is None else from_micros(visited),
        due=None if row["due"] is None else from_micros(row["due"]),
        memory=row["memory"],
    )
