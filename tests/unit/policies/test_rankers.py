"""Rankers: the order they give, and that the interface carries rankers with classes and a memory."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from itertools import count

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bowerbird.errors import UserError
from bowerbird.model import Arrival, Draw, Outcome, Placement, Task, Visit
from bowerbird.policies import ranker
from bowerbird.ports import Ranker
from failures import raises_code

START = datetime(2026, 1, 5, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
HOUR = timedelta(hours=1)


class Lane:
    """The frontier's order in a few lines: (priority, highest first; due, earliest first; age)."""

    def __init__(self, chosen: Ranker) -> None:
        self.ranker = chosen
        self.tasks: dict[str, tuple[Task, Placement]] = {}
        self.numbers = count()

    def add(self, target: str, now: datetime, depth: int = 0) -> None:
        known = self.tasks[target][0] if target in self.tasks else None
        placement = self.ranker.added(Arrival(lane=1, target=target, depth=depth), known, now)
        task = known or Task(task=next(self.numbers), lane=1, target=target, token=0, depth=depth, added_at=now)
        self._put(task, placement)

    def _put(self, task: Task, placement: Placement, visits: int | None = None, visited_at: datetime | None = None) -> None:
        self.tasks[task.target] = (
            Task(
                task=task.task,
                lane=1,
                target=task.target,
                token=0,
                priority=placement.priority,
                depth=task.depth,
                visits=task.visits if visits is None else visits,
                added_at=task.added_at,
                visited_at=visited_at or task.visited_at,
                memory=placement.memory,
            ),
            placement,
        )

    def take(self, room: int, now: datetime) -> list[Task]:
        """What a lease would give: the choice grows by each draw from its band."""
        chosen: list[Task] = []
        for draw in self.ranker.draws(room, now):
            ready = [
                (-placement.priority, placement.due, task.task, task)
                for task, placement in self.tasks.values()
                if placement.due and placement.due <= now and draw.low <= placement.priority < draw.high and task not in chosen
            ]
            chosen += [entry[3] for entry in sorted(ready, key=lambda entry: entry[:3])[: max(draw.count - len(chosen), 0)]]
        return chosen

    def visit(self, task: Task, now: datetime, *, new: int = 0, is_finished: bool = True) -> None:
        visit = Visit(task=task, at=now, outcome=Outcome.OK, is_finished=is_finished, new=new)
        visits = task.visits + is_finished
        self._put(task, self.ranker.visited(visit), visits, now if is_finished else None)

    def order(self, now: datetime) -> list[str]:
        return [task.target for task in self.take(1000, now)]


def lane_of(name: str, revisit: timedelta | None = None, **options: object) -> Lane:
    lane = Lane(ranker(name, options, revisit))
    for number, target in enumerate("abc"):
        lane.add(target, START + number * MINUTE, depth=2 - number)
    return lane


NOW = START + 10 * MINUTE


def test_fifo_gives_the_first_first() -> None:
    assert lane_of("fifo").order(NOW) == ["a", "b", "c"]


def test_lifo_gives_the_last_first() -> None:
    assert lane_of("lifo").order(NOW) == ["c", "b", "a"]


def test_lifo_keeps_the_order_of_a_page() -> None:
    lane = Lane(ranker("lifo"))
    for target in "xyz":
        lane.add(target, START)
    assert lane.order(NOW) == ["x", "y", "z"]


def test_bfs_gives_the_nearest_first() -> None:
    assert lane_of("bfs").order(NOW) == ["c", "b", "a"]


def test_bfs_remembers_the_shorter_way() -> None:
    lane = lane_of("bfs")
    lane.add("c", NOW, depth=9)
    assert lane.order(NOW)[0] == "c"


def test_whom_most_pages_name_is_asked_first_and_seeds_before_all() -> None:
    lane = Lane(ranker("most_named"))
    lane.add("seed", START)
    for number, target in enumerate("abcbcb"):
        lane.add(target, START + number * MINUTE, depth=1)
    assert lane.order(START + HOUR) == ["seed", "b", "c", "a"]
    lane.visit(lane.tasks["b"][0], START + HOUR)
    assert lane.order(START + 2 * HOUR) == ["seed", "c", "a"]


def test_circular_sends_the_visited_to_the_end() -> None:
    lane = lane_of("circular")
    seen = []
    for step in range(7):
        now = NOW + step * MINUTE
        task = lane.take(1, now)[0]
        seen.append(task.target)
        lane.visit(task, now)
    assert "".join(seen) == "abcabca"


def test_circular_waits_for_the_revisit_time() -> None:
    lane = lane_of("circular", revisit=timedelta(hours=1))
    for task in lane.take(3, NOW):
        lane.visit(task, NOW)
    assert lane.order(NOW + 59 * MINUTE) == []
    assert lane.order(NOW + 60 * MINUTE) == ["a", "b", "c"]


@pytest.mark.parametrize("name", ["fifo", "lifo", "bfs", "random"])
def test_a_finished_target_sleeps_until_it_is_woken(name: str) -> None:
    lane = lane_of(name)
    for task in lane.take(3, NOW):
        lane.visit(task, NOW)
    assert lane.order(NOW + timedelta(days=999)) == []
    lane.add("b", NOW)
    assert lane.order(NOW) == ["b"]


@pytest.mark.parametrize("name", ["fifo", "lifo", "bfs", "random"])
def test_a_revisit_time_brings_finished_targets_back(name: str) -> None:
    lane = lane_of(name, revisit=timedelta(hours=1))
    for task in lane.take(3, NOW):
        lane.visit(task, NOW)
    assert lane.order(NOW) == []
    assert sorted(lane.order(NOW + timedelta(hours=1))) == ["a", "b", "c"]


@given(st.lists(st.text(min_size=1, max_size=5), unique=True, min_size=1, max_size=20), st.integers(), st.randoms())
def test_random_gives_the_same_order_however_the_targets_arrive(targets: list[str], seed: int, shuffler: object) -> None:
    shuffled = list(targets)
    shuffler.shuffle(shuffled)  # type: ignore[attr-defined]
    orders = []
    for each in (targets, shuffled):
        lane = Lane(ranker("random", {"seed": seed}))
        for target in each:
            lane.add(target, START)
        orders.append(lane.order(NOW))
    assert orders[0] == orders[1]


def test_random_draws_anew_for_every_round_and_seed() -> None:
    def order(seed: int, rounds: int) -> list[str]:
        lane = Lane(ranker("random", {"seed": seed}, timedelta(seconds=1)))
        for target in "abcdefghij":
            lane.add(target, START)
        for step in range(rounds):
            for task in lane.take(10, NOW + step * MINUTE):
                lane.visit(task, NOW + step * MINUTE)
        return lane.order(NOW + timedelta(days=1))

    assert order(1, 0) != order(2, 0)
    assert order(1, 0) != order(1, 1)
    assert order(1, 1) == order(1, 1)


class EchoLike:
    """A ranker as TwitterEcho had it, in small: priorities 1 to 100 that move, one sub-list per class, a memory of its own."""

    name = "echo_like"
    remembers = True

    def added(self, arrival: Arrival, known: Task | None, now: datetime) -> Placement:
        return Placement(50.0, now) if known is None else Placement(min(100.0, known.priority + 30), now, known.memory)

    def continued(self, visit: Visit) -> bytes | None:
        return visit.task.memory

    def visited(self, visit: Visit) -> Placement:
        found = int(visit.task.memory or b"0") + visit.new
        change = 25.0 if visit.new else -25.0
        return Placement(min(100.0, max(1.0, visit.task.priority + change)), visit.at, str(found).encode())

    def draws(self, room: int, now: datetime) -> Sequence[Draw]:
        return (Draw(room // 2, low=61), Draw(room * 3 // 4, 21, 61), Draw(room, high=21), Draw(room))


def test_the_interface_carries_classes_of_priority_and_a_memory() -> None:
    lane = Lane(EchoLike())
    for number in range(40):
        lane.add(f"user{number}", START)
    for _ in range(3):
        for task in lane.take(40, NOW):
            number = int(task.target.removeprefix("user"))
            lane.visit(task, NOW, new=2 if number % 4 == 0 else 0)
    chosen = [int(task.target.removeprefix("user")) for task in lane.take(8, NOW)]
    busy = [number for number in chosen if number % 4 == 0]
    assert (len(chosen), len(busy)) == (8, 4)
    task, _ = lane.tasks["user4"]
    assert (task.priority, task.memory) == (100.0, b"6")
    lane.add("user1", NOW)
    assert lane.tasks["user1"][0].priority == 31.0


def test_unknown_rankers_and_options_are_refused_with_what_there_is() -> None:
    with raises_code(UserError, "unknown_name") as caught:
        ranker("fifi")
    assert "'fifi'" in caught.value.problem
    assert "fifo, lifo, bfs, circular, random" in caught.value.advice
    with raises_code(UserError, "unknown_name") as caught:
        ranker("random", {"sed": 1})
    assert all(value in caught.value.problem for value in ("'random'", "'sed'"))
    assert "seed" in caught.value.advice
    with raises_code(UserError, "invalid") as caught:
        ranker("random", {"seed": "one"})
    assert all(value in caught.value.problem for value in ("'seed'", "'random'", "'one'"))


def test_gather_asks_at_full_periods_so_that_what_came_in_between_goes_together() -> None:
    gather = ranker("gather", {"minutes": 5})
    times = [datetime(2026, 1, 5, 12, minute, 30, tzinfo=UTC) for minute in (0, 3, 5)]
    due = [gather.added(Arrival(lane=1, target="a"), None, now).due for now in times]
    assert due == [datetime(2026, 1, 5, 12, minute, tzinfo=UTC) for minute in (5, 5, 10)]


@pytest.mark.parametrize("name", ["fifo", "circular", "oldest_first", "random"])
def test_who_is_not_to_be_had_rests_for_a_day_however_quickly_others_come_round(name: str) -> None:
    """A circle of one account that is not there was gone round as fast as the service answered."""
    chosen, hour = ranker(name, {}, timedelta(hours=1)), timedelta(hours=1)
    task = Task(task=1, lane=1, target="7", token=0, added_at=START)
    seen = {
        outcome: chosen.visited(Visit(task=task, at=START, outcome=outcome, is_finished=True)).due
        for outcome in (Outcome.OK, Outcome.NOT_FOUND, Outcome.SUSPENDED)
    }
    assert seen == {Outcome.OK: START + hour, Outcome.NOT_FOUND: START + 24 * hour, Outcome.SUSPENDED: START + 24 * hour}
