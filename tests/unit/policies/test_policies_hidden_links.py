"""Walks where only out-links can be seen, over a directed graph whose truth is known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from random import Random
from statistics import fmean

import pytest
from posting_world import START, Lane, follows

from bowerbird.analysis import sampling
from bowerbird.errors import UserError
from bowerbird.model import Arrival, Facet, Outcome, Side, Subject, Visit
from bowerbird.policies import RankerSetting, ranker
from bowerbird.policies.graph_walks.walking import Trodden, node_in, trodden
from failures import raises_code

FOLLOWING = Facet(name="following", subject=Subject.USER, yields=frozenset({"relations"}), side=Side.FOLLOWING)
JUMP = 30
Graph = Mapping[str, Sequence[str]]


def directed(people: int, seed: int) -> Graph:
    """Some follow many, a few are followed by very many, and three in five follow back."""
    chance = Random(seed)
    names = [f"n{number}" for number in range(people)]
    fame = [chance.paretovariate(1.3) for _ in names]
    sizes = {name: 0 if chance.random() < 0.1 else 1 + int(chance.expovariate(1 / 8)) for name in names}
    chosen = {name: {*chance.choices(names, fame, k=size)} - {name} for name, size in sizes.items()}
    back = [(other, name) for name, others in chosen.items() for other in sorted(others) if chance.random() < 0.6]
    for other, name in back:
        chosen[other].add(name)
    return {name: sorted(others) for name, others in chosen.items()}


class Hidden:
    """A walk that is shown whom an account follows, and never who follows it."""

    def __init__(self, graph: Graph, name: str = "rwrw", seed: int = 0) -> None:
        place = RankerSetting(FOLLOWING, (1,), name, tuple(graph))
        self.lane = Lane(ranker(name, {"seed": seed, "jump": JUMP}, setting=place))
        self.graph = graph
        self.now = START
        for key in graph:
            self.lane.add(Arrival(lane=1, target=key), START)

    def call(self) -> None:
        self.now += timedelta(minutes=1)
        for task in self.lane.take(1, self.now):
            shown = follows(*((task.target, other) for other in self.graph[task.target]))
            memories = {key: each.memory for key, each in self.lane.tasks.items() if each.memory}
            linked = tuple(key for key in memories if task.target in self.graph[key] and self.was_listed(key))
            self.lane.visit(
                Visit(
                    task=task,
                    at=self.now,
                    outcome=Outcome.OK,
                    is_finished=True,
                    relations=shown,
                    linked_by=linked,
                    around=memories,
                )
            )

    def was_listed(self, key: str) -> bool:
        return self.lane.tasks[key].visits > 0

    def nodes(self) -> list[Trodden]:
        return [trodden(task.target, task.memory) for task in self.lane.tasks.values()]


def estimated(graph: Graph, calls: int, seed: int, name: str = "rwrw") -> float:
    """The mean number of followed accounts."""
    walk = Hidden(graph, name, seed)
    for _ in range(calls):
        walk.call()
    nodes = {node.node: node for node in walk.nodes()}
    trace = [step for node in nodes.values() for step in node.steps]
    pending = [clock for node in nodes.values() for clock in node.pending]
    steps = sampling.until_slowest_walker(trace, pending)
    return sampling.mean(sampling.walks(steps, lambda key, degree: nodes[key].listed, is_uniform=False, jump=JUMP))


GRAPH = directed(800, seed=1)


@pytest.mark.parametrize("name", ["rwrw", "frontier"])
def test_the_mean_is_right_though_only_out_links_are_seen(name: str) -> None:
    truth = fmean(map(len, GRAPH.values()))
    assert fmean(estimated(GRAPH, 300, seed, name) for seed in range(4)) == pytest.approx(truth, rel=0.06)


def test_every_link_can_be_walked_both_ways_and_degrees_do_not_change_once_used() -> None:
    walk = Hidden(GRAPH)
    degrees: dict[str, int] = {}
    for _ in range(150):
        walk.call()
        listed = {node.node: node.degree for node in walk.nodes() if node_in(walk.lane.tasks[node.node].memory).since}
        assert degrees.items() <= listed.items()
        degrees = listed
    since = {key: node_in(walk.lane.tasks[key].memory).since for key in degrees}
    order = sorted(degrees, key=lambda key: since[key])
    for place, key in enumerate(order):
        before = set(order[:place])
        links = (set(GRAPH[key]) - before) | {other for other in before if key in GRAPH[other]}
        assert degrees[key] == len(links)


def test_who_follows_nobody_and_is_not_known_to_be_followed_is_left_by_a_jump() -> None:
    graph = {"hermit": (), "a": ("b",), "b": ("a",)}
    walk = Hidden(graph)
    for _ in range(6):
        walk.call()
    hermit = next(node for node in walk.nodes() if node.node == "hermit")
    assert (hermit.degree, hermit.listed) == (0, 0)
    assert hermit.steps


def test_jumps_need_seeds_that_are_written_by_id() -> None:
    with raises_code(UserError, "missing_value") as caught:
        ranker("rwrw", {"jump": 5}, setting=RankerSetting(FOLLOWING, (1,), "rwrw"))
    assert "jump = 0" in caught.value.advice


def test_the_published_walk_refuses_a_single_side_which_would_make_it_wrong() -> None:
    with raises_code(UserError, "unsupported") as caught:
        ranker("mhrw", setting=RankerSetting(FOLLOWING, (1,), "mhrw"))
    assert all(value in caught.value.problem for value in ("'mhrw'", "`following`", "`followers`"))
    assert all(value in caught.value.advice for value in ("'rwrw'", "'frontier'"))
