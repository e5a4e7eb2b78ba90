"""`bowerbird evaluate money` in short: one flow of each kind, with one budget."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

import pytest
from msgspec import structs

from bowerbird.app import Crawl
from bowerbird.cli.screens.dollars_shown import Seeing
from bowerbird.crawl.process.endings import Ending
from bowerbird.evaluate.money import ALLOWED, BUDGETS, CASES, evaluate_money
from bowerbird.flows.built_in import builtin_flows
from bowerbird.model import Credential
from bowerbird.planning.course import Course
from bowerbird.ports import Clock

SMALL = {
    "hydrate": structs.replace(CASES["hydrate"], posts=1_500, world=300),
    "topic": structs.replace(CASES["topic"], tags=6, world=300, posts_per_day=40.0, lasts=timedelta(hours=1)),
}


def silent(_: str) -> None:
    """Nobody listens."""


def test_every_built_in_flow_is_tried() -> None:
    assert CASES.keys() == builtin_flows().keys()
    assert BUDGETS["none"].least == 10.0


@pytest.mark.parametrize(("flow", "budget"), [("hydrate", "crawl"), ("topic", "month")])
def test_not_a_cent_too_much_is_spent_every_screen_tells_and_the_plan_comes_true(flow: str, budget: str) -> None:
    figures = evaluate_money(Seeing(), {flow: SMALL[flow]}, budgets=[budget], say=silent)
    assert (figures["crawls"], figures["overspent"], figures["unseen"]) == (1, 0, 0)
    assert figures["plan_error"] <= ALLOWED
    assert figures["is_good"]
    assert 0.8 * BUDGETS[budget].least < figures["spent"] <= BUDGETS[budget].least


class Blind:
    """Sees nothing anywhere."""

    async def crawl(self, crawl: Crawl, ending: Ending, clock: Clock) -> Sequence[str]:
        return ["panel", "status"]

    def plan(self, course: Course, credentials: tuple[Credential, ...]) -> Sequence[str]:
        return ["plan"]


def test_a_screen_without_dollars_is_counted() -> None:
    figures = evaluate_money(Blind(), {"hydrate": SMALL["hydrate"]}, budgets=["crawl"], say=silent)
    assert figures["unseen"] == 3
    assert not figures["is_good"]
