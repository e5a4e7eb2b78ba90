"""Very long lists get a share of a lane's calls, and no more while others wait."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from bowerbird.crawl.answers.long_lists import LongLists, as_ranked
from bowerbird.model import Draw, Placement, Progress, Settled, Task

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


def settled(pages: int, priority: float = -2.0, *, is_visit: bool = False) -> Settled:
    task = Task(task=1, lane=1, target="1", token=1, priority=priority)
    return Settled(task=task, progress=Progress("c"), placement=Placement(priority, NOON), pages=pages, is_visit=is_visit)


def test_a_long_list_goes_below_all_others_and_lower_each_time_it_doubles() -> None:
    lists = LongLists(0.2, 5)
    levels = [lists.placed(settled(pages)).placement.priority for pages in (1, 4, 5, 9, 10, 20, 40)]
    assert levels[:2] == [-2.0, -2.0]
    assert levels[2] == levels[3]
    assert sorted(set(levels), reverse=True) == [-2.0, *dict.fromkeys(levels[2:])]


@pytest.mark.parametrize("priority", [0.0, -3.0, 1_772_366_400.0, 99.0])
@pytest.mark.parametrize("pages", [0, 5, 100, 1_000_000])
def test_a_task_gets_the_priority_back_that_its_ranker_gave_it(priority: float, pages: int) -> None:
    placed = LongLists(0.2, 5).placed(settled(pages, priority))
    task = Task(task=1, lane=1, target="1", token=1, priority=placed.placement.priority)
    assert as_ranked(task).priority == priority


def test_a_finished_list_is_a_task_like_any_other() -> None:
    assert LongLists(0.2, 5).placed(settled(0, is_visit=True)).placement.priority == -2.0


def test_every_fifth_call_asks_a_long_list_first() -> None:
    lists = LongLists(0.2, 5)
    calls = [lists.draws([Draw(1)], 1, is_paged=False) for _ in range(50)]
    first = [draws[0].high < 0 for draws in calls]
    assert sum(first) == 10
    assert first[4::5] == [True] * 10


def test_whoever_waits_is_found_by_one_of_the_draws() -> None:
    lists = LongLists(0.3, 5)
    long = lists.placed(settled(5)).placement.priority
    for _ in range(10):
        draws = lists.draws([Draw(1, low=10.0), Draw(1)], 1, is_paged=True)
        assert [any(draw.low <= priority < draw.high for draw in draws) for priority in (50.0, -2.0, long)] == [True] * 3
        assert draws[-1] == Draw(1, high=draws[-1].high)


def test_the_halves_of_a_lane_earn_apart() -> None:
    lists = LongLists(0.5, 5)
    firsts = [lists.draws([Draw(1)], 1, is_paged=is_paged)[0].high < 0 for is_paged in (False, True, False, True)]
    assert firsts == [False, False, True, True]


def test_a_batch_gives_long_lists_their_part_of_its_places() -> None:
    draws = LongLists(0.2, 5).draws([Draw(50)], 50, is_paged=False)
    assert [(draw.count, draw.high < 0) for draw in draws] == [(10, True), (50, False), (50, True)]
