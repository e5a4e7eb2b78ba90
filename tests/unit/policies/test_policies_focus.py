"""`focus`: candidates by score and by lot, members by another ranker, one queue."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from msgspec import structs

from bowerbird.errors import UserError
from bowerbird.model import Arrival, Judged, Outcome, Task, Visit
from bowerbird.policies import ranker
from bowerbird.policies.focus import CANDIDATE, MEMBER, OPEN, REFUSED, Focus, kind_of

NOW = datetime(2026, 1, 5, 12, tzinfo=UTC)
FOCUS = ranker("focus", {"members": "echo"}, timedelta(minutes=5))
ONCE = ranker("focus")
"""In a crawl that asks everybody once."""


def arrival(target: str, score: float | None = None, depth: int = 1, *, wakes: bool = False) -> Arrival:
    return Arrival(lane=1, target=target, depth=depth, score=score, wakes=wakes)


def task(target: str = "1", memory: bytes | None = None, depth: int = 1) -> Task:
    return Task(task=1, lane=1, target=target, token=1, memory=memory, depth=depth)


def visit(said: str | None, memory: bytes | None = CANDIDATE, depth: int = 1) -> Visit:
    judged = frozenset({Judged("community", said)}) if said else frozenset()
    return Visit(task=task(memory=memory, depth=depth), at=NOW, outcome=Outcome.OK, is_finished=True, judged=judged)


def test_the_likelier_candidate_comes_first_and_seeds_before_all() -> None:
    likely, unlikely = (FOCUS.added(arrival("3", score), None, NOW).priority for score in (0.9, 0.2))
    assert FOCUS.added(arrival("3", 0.1, depth=0), None, NOW).priority > likely > unlikely


def test_five_of_a_hundred_candidates_are_chosen_by_lot_whatever_their_score() -> None:
    kinds = [FOCUS.added(arrival(str(n), n % 7 / 7), None, NOW).memory for n in range(4_000)]
    assert 0.035 < kinds.count(CANDIDATE.upper()) / 4_000 < 0.065


def test_chance_is_remembered_when_the_candidate_was_judged() -> None:
    placed = FOCUS.visited(visit("yes", CANDIDATE.upper()))
    assert placed.memory is not None
    assert placed.memory[:1] == MEMBER.upper()
    assert kind_of(task(memory=placed.memory)) == MEMBER


@pytest.mark.parametrize(("said", "kind"), [("no", REFUSED), ("undecided", OPEN), (None, REFUSED)])
def test_who_does_not_belong_rests_for_a_month(said: str | None, kind: bytes) -> None:
    placed = FOCUS.visited(visit(said))
    assert placed.memory == kind
    assert placed.due is not None
    assert (placed.due - NOW).days == 30
    assert ONCE.visited(visit(said)).due is None


def test_a_seed_is_a_member_whatever_the_judge_says() -> None:
    assert kind_of(task(memory=FOCUS.visited(visit("undecided", depth=0)).memory)) == MEMBER


def test_somebody_who_turns_out_to_belong_joins_the_members() -> None:
    woken = FOCUS.added(arrival("1", wakes=True), task(memory=OPEN), NOW)
    assert kind_of(task(memory=woken.memory)) == MEMBER
    left = FOCUS.added(arrival("1"), task(memory=OPEN), NOW)
    assert left.memory == OPEN


def test_a_choice_is_shared_between_candidates_and_members() -> None:
    draws = Focus(ranker("echo"), candidates=30, random=10).draws(100, NOW)
    assert [draw.count for draw in draws[:3]] == [100, 3, 30]
    assert draws[-1].count == 100
    assert all(draw.count >= 30 for draw in draws[3:])
    assert all(draw.high <= 1e6 for draw in draws[3:-1])


@pytest.mark.parametrize("options", [{"members": "fifo"}, {"candidates": 101}, {"random": -1}, {"share": 5}])
def test_options_that_make_no_sense_are_refused(options: dict[str, object]) -> None:
    with pytest.raises(UserError):
        ranker("focus", options)


def test_a_score_that_rises_moves_a_candidate_that_waits() -> None:
    before = FOCUS.added(arrival("3", 0.2), None, NOW)
    known = structs.replace(task("3", before.memory), priority=before.priority, due=before.due)
    after = FOCUS.added(arrival("3", 0.8), known, NOW)
    assert after.moves
    assert after.priority > before.priority
