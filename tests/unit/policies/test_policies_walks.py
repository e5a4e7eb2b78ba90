"""Walks over small graphs whose truth is known: where walkers go, what they remember, and how good the estimates are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import timedelta
from itertools import pairwise
from math import sqrt
from random import Random
from statistics import fmean

import pytest
from msgspec import structs
from posting_world import START, Lane, follows

from bowerbird.analysis import sampling
from bowerbird.model import Arrival, Outcome, Placement, Relation, Task, Visit
from bowerbird.policies import RankerSetting, ranker
from bowerbird.policies.graph_walks.starts import Start
from bowerbird.policies.graph_walks.walking import Step, Trodden, Walker, node_in, sent, steps_in, trodden

Graph = Mapping[str, Sequence[str]]
MINUTE = timedelta(minutes=1)


def grown(people: int, links: int, seed: int) -> Graph:
    """A graph in which the popular become more popular."""
    chance = Random(seed)
    neighbours: dict[str, set[str]] = {f"n{number}": set() for number in range(people)}
    ends = [f"n{number}" for number in range(links + 1)] * links
    for number in range(1, people):
        own = f"n{number}"
        others = {f"n{other}" for other in range(number)} if number <= links else set()
        while len(others) < links and number > links:
            others.add(chance.choice(ends))
        for other in sorted(others):
            neighbours[own].add(other)
            neighbours[other].add(own)
            ends += [own, other] if number > links else []
    return {key: sorted(each) for key, each in neighbours.items()}


class Walked:
    """A walk in progress: one lane, or two that share the ranker."""

    def __init__(self, name: str, graph: Graph, seeds: Sequence[str], seed: int = 0, **options: int) -> None:
        self.lane = Lane(ranker(name, {"seed": seed, **options}, setting=RankerSetting(None, (1,))))
        self.graph = graph
        self.asked: Counter[str] = Counter()
        self.now = START
        for each in seeds:
            self.lane.add(Arrival(lane=1, target=each), START)

    def call(self, page: int = 10**9) -> None:
        """One call; a list longer than `page` takes several."""
        self.now += MINUTE
        for task in self.lane.take(1, self.now):
            self.asked[task.target] += 1
            others = self.graph.get(task.target, ())
            shown = others[task.pages * page : (task.pages + 1) * page]
            is_last = (task.pages + 1) * page >= len(others)
            outcome = Outcome.OK if task.target in self.graph else Outcome.PROTECTED
            relations = follows(*((task.target, other) for other in shown))
            self.lane.visit(Visit(task=task, at=self.now, outcome=outcome, is_finished=is_last, relations=relations))

    def trace(self) -> list[Step]:
        return [step for task in self.lane.tasks.values() for step in steps_in(task.target, task.memory)]


def error(name: str, graph: Graph, calls: int, runs: int) -> float:
    """Root of the mean squared relative error of the mean degree over some runs."""
    truth = fmean(map(len, graph.values()))
    return sqrt(fmean((estimated(name, graph, calls, run).value / truth - 1) ** 2 for run in range(runs)))


def estimated(name: str, graph: Graph, calls: int, run: int) -> sampling.Estimate:
    walked = Walked(name, graph, [f"n{run * 37 % len(graph)}"], run)
    for _ in range(calls):
        walked.call()
    trace = sampling.until_slowest_walker(walked.trace()) if name == "frontier" else walked.trace()
    taken = sampling.walks(trace, lambda node, degree: degree, is_uniform=name == "mhrw")
    return sampling.estimate(sampling.without_burn_in(taken))


SMALL = grown(600, 3, seed=1)


def test_the_reweighted_walk_is_at_least_as_good_as_the_published_one_for_the_same_calls() -> None:
    graph = grown(2_000, 3, seed=1)
    assert error("rwrw", graph, 200, 16) <= error("mhrw", graph, 200, 16)


@pytest.mark.parametrize("name", ["mhrw", "rwrw", "frontier"])
def test_every_walk_comes_near_the_mean_degree(name: str) -> None:
    assert error(name, SMALL, 200, 6) < 0.12


def test_the_interval_holds_the_truth_in_most_runs() -> None:
    truth = fmean(map(len, SMALL.values()))
    estimates = [estimated("rwrw", SMALL, 200, run) for run in range(12)]
    assert sum(each.low <= truth <= each.high for each in estimates) >= 10


RING = {f"n{n}": (f"n{(n + 1) % 9}", f"n{(n - 1) % 9}") for n in range(9)}


@pytest.mark.parametrize("name", ["mhrw", "rwrw", "frontier"])
def test_steps_lead_from_neighbour_to_neighbour_and_every_walker_counts_each_of_its_steps_once(name: str) -> None:
    walked = Walked(name, RING, ["n0"], walkers=2)
    for _ in range(40):
        walked.call()
    for walker in {step.walker for step in walked.trace()}:
        way = sorted((step.clock, step.node) for step in walked.trace() if step.walker == walker)
        assert len({clock for clock, _ in way}) == len(way) > 10
        for (_, here), (_, there) in pairwise(way):
            assert there in (*RING[here], here) if name == "mhrw" else there in RING[here]


def test_a_walk_is_the_same_for_the_same_seed_and_another_for_another() -> None:
    def trace(seed: int) -> list[Step]:
        walked = Walked("rwrw", SMALL, ["n5"], seed)
        for _ in range(30):
            walked.call()
        return sorted(walked.trace())

    assert trace(1) == trace(1)
    assert trace(1) != trace(2)


def test_known_nodes_are_passed_through_without_a_call_until_their_draws_are_used_up() -> None:
    walked = Walked("rwrw", RING, ["n0"], walkers=1)
    for _ in range(30):
        walked.call()
    assert len(walked.trace()) > 100
    assert max(walked.asked.values()) <= 8


def test_a_long_list_is_read_to_its_end_and_every_neighbour_is_as_likely() -> None:
    star = {"hub": tuple(f"n{n}" for n in range(10))} | {f"n{n}": ("hub",) for n in range(10)}
    met: Counter[str] = Counter()
    for seed in range(60):
        walked = Walked("rwrw", star, ["hub"], seed, walkers=1)
        for _ in range(3):
            walked.call(page=4)
        node = node_in(walked.lane.tasks["hub"].memory)
        assert node.degree == 10
        met.update(node.picks)
    assert len(met) == 10
    assert max(met.values()) < 1.5 * min(met.values())


def test_a_walker_turns_back_at_an_account_that_is_not_to_be_had_and_does_not_ask_again() -> None:
    graph = {"a": ("b", "closed"), "b": ("a", "closed")}
    walked = Walked("rwrw", graph, ["a"], walkers=3)
    for _ in range(40):
        walked.call()
    assert {step.node for step in walked.trace()} == {"a", "b"}
    assert walked.asked["closed"] == 1


def test_metropolis_and_hastings_meet_the_popular_no_more_often_than_the_others() -> None:
    star = {"hub": tuple(f"n{n}" for n in range(6))} | {f"n{n}": ("hub",) for n in range(6)}
    shares = {}
    for name in ("mhrw", "rwrw"):
        walked = Walked(name, star, ["hub"], walkers=1)
        for _ in range(150):
            walked.call()
        trace = walked.trace()
        shares[name] = sum(step.node == "hub" for step in trace) / len(trace)
    assert shares["mhrw"] == pytest.approx(1 / 7, abs=0.04)
    assert shares["rwrw"] == pytest.approx(1 / 2, abs=0.04)


def test_frontier_sampling_gives_a_small_piece_of_the_graph_its_share() -> None:
    dense = {f"d{n}": tuple(f"d{other}" for other in range(12) if other != n) for n in range(12)}
    thin = {f"t{n}": (f"t{(n + 1) % 12}", f"t{(n - 1) % 12}") for n in range(12)}
    graph = {**dense, **thin}
    shares = {}
    for name in ("frontier", "rwrw"):
        walked = Walked(name, graph, list(graph), walkers=1)
        for _ in range(400):
            walked.call()
        trace = sampling.until_slowest_walker(walked.trace()) if name == "frontier" else walked.trace()
        shares[name] = sampling.mean(sampling.walks(trace, lambda node, degree: node.startswith("t"), is_uniform=False))
    assert shares["frontier"] == pytest.approx(0.5, abs=0.07)
    assert shares["rwrw"] > 0.7


def test_two_lists_make_up_the_neighbours_of_a_node() -> None:
    following = {"a": ("b",), "b": ("c",), "c": ("a",), "d": ("a",)}
    shared = ranker("rwrw", {"walkers": 2}, setting=RankerSetting(None, (1, 2)))
    lanes = {1: Lane(shared, 1), 2: Lane(shared, 2)}
    for lane in lanes.values():
        lane.follow = lambda arrival, now: lanes[arrival.lane].add(arrival, now)
    lanes[1].add(Arrival(lane=1, target="a"), START)
    for minute in range(80):
        now = START + minute * MINUTE
        for task in [task for lane in lanes.values() for task in lane.take(1, now)]:
            shown = _out(following, task.target) if task.lane == 1 else _in(following, task.target)
            lanes[task.lane].visit(Visit(task=task, at=now, outcome=Outcome.OK, is_finished=True, relations=shown))
    degrees = {task.target: node_in(task.memory).degree for task in lanes[1].tasks.values()}
    assert degrees == {"a": 3, "b": 2, "c": 2, "d": 1}


class Ends:
    """A walk over two lists with its calls in flight: what arrives meanwhile is in the task's memory when it is settled."""

    def __init__(self) -> None:
        self.rank = ranker("rwrw", {"walkers": 1}, setting=RankerSetting(None, (1, 2)))
        seed = self.rank.added(Arrival(lane=1, target="a"), None, START)
        self.first = Task(task=1, lane=1, target="a", token=0, added_at=START, memory=seed.memory)
        self.second = Task(task=2, lane=2, target="a", token=0, added_at=START)

    def list_first(self, *others: str) -> Placement:
        placement = self.rank.visited(self._visit(self.first, others))
        self.first = structs.replace(self.first, memory=placement.memory)
        return placement

    def list_second(self, *others: str) -> Placement:
        """The second list, and what becomes of the node when it arrives there."""
        (back,) = self.rank.visited(self._visit(self.second, others)).leads
        return self.arrive(back.memory)

    def arrive(self, message: bytes | None) -> Placement:
        placement = self.rank.added(Arrival(lane=1, target="a", memory=message), self.first, START)
        self.first = structs.replace(self.first, memory=placement.memory)
        return placement

    def walker(self, number: int) -> Placement:
        return self.arrive(sent(Walker(number, origin="b", degree=1)))

    @property
    def node(self) -> Trodden:
        return trodden("a", self.first.memory)

    def _visit(self, task: Task, others: Sequence[str]) -> Visit:
        shown = follows(*((task.target, other) for other in others))
        return Visit(task=task, at=START, outcome=Outcome.OK, is_finished=True, relations=shown)


def test_a_walker_that_comes_while_the_first_list_is_out_waits_for_the_second_and_nothing_is_asked_twice() -> None:
    ends = Ends()
    ends.walker(7)
    placement = ends.list_first("b", "c")
    assert (placement.due, placement.moves) == (None, True)
    assert [lead.lane for lead in placement.leads] == [2]
    met = ends.list_second("d")
    assert met.due is None
    assert [step.walker == 7 for step in ends.node.steps] == [False, True]
    assert (ends.node.degree, ends.node.listed) == (3, 3)


def test_a_second_list_that_nobody_asked_for_leaves_the_node_as_it_is() -> None:
    ends = Ends()
    ends.list_first("b", "c")
    ends.list_second("d")
    before = ends.node
    for others in (("d",), ()):
        assert ends.list_second(*others).due is None
        assert ends.node == before


def test_while_a_node_is_listed_again_its_degree_stays_what_it_was() -> None:
    ends = Ends()
    ends.list_first("b", "c")
    ends.list_second("d")
    ends.list_first("b")
    assert (ends.node.degree, ends.node.listed) == (3, 3)
    ends.list_second("d")
    assert (ends.node.degree, ends.node.listed) == (2, 2)


def test_an_account_that_closes_after_it_was_met_is_not_in_the_sample() -> None:
    ends = Ends()
    ends.list_first("b", "c")
    ends.list_second("d")
    assert len(ends.node.steps) == 1
    closed = Visit(task=ends.first, at=START, outcome=Outcome.PROTECTED, is_finished=True)
    node = trodden("a", ends.rank.visited(closed).memory)
    assert (node.degree, node.steps) == (-1, ())


def _out(following: Graph, who: str) -> tuple[Relation, ...]:
    return follows(*((who, other) for other in following[who]))


def _in(following: Graph, who: str) -> tuple[Relation, ...]:
    return follows(*((other, who) for other, others in following.items() if who in others))


def test_a_step_towards_a_closed_account_counts_where_the_walker_stays() -> None:
    """Otherwise those with many closed neighbours would be met too seldom for their degree."""
    graph = {"a": ("b", "c", "closed", "closed"), "b": ("a",), "c": ("a",)}
    walked = Walked("rwrw", graph, ["a"], walkers=1)
    for _ in range(120):
        walked.call()
    met = Counter(step.node for step in walked.trace())
    assert met["a"] / sum(met.values()) == pytest.approx(4 / 6, abs=0.05)


def test_accounts_that_asked_to_be_left_alone_are_not_asked_about() -> None:
    rank = ranker("rwrw", {"walkers": 2}, setting=RankerSetting(None, (1,)))
    lane, asked = Lane(rank), Counter[str]()
    graph = {"a": ("b", "shy"), "b": ("a", "shy"), "shy": ("a", "b")}
    lane.add(Arrival(lane=1, target="a"), START)
    for minute in range(40):
        now = START + minute * MINUTE
        for task in lane.take(1, now):
            asked[task.target] += 1
            shown = follows(*((task.target, other) for other in graph[task.target]))
            alone = frozenset({"shy"})
            visit = Visit(task=task, at=now, outcome=Outcome.OK, is_finished=True, relations=shown, left_alone=alone)
            lane.visit(visit)
    assert set(asked) == {"a", "b"}
    steps = [step for task in lane.tasks.values() for step in steps_in(task.target, task.memory)]
    assert {step.degree for step in steps} == {2}, "they are neighbours all the same"


@pytest.mark.parametrize("is_known", [True, False])
@pytest.mark.parametrize(("seeds", "walkers", "shares"), [(1, 20, [20]), (3, 20, [6, 7, 7]), (20, 20, [1] * 20)])
def test_walkers_are_shared_out_among_the_seeds(seeds: int, walkers: int, shares: list[int], is_known: bool) -> None:
    names = [f"n{number}" for number in range(seeds)]
    start = Start(walkers, names) if is_known else Start(walkers, others=seeds)
    started = [start.walkers_at(name) for name in names]
    assert sorted(map(len, started)) == shares
    assert [start.walkers_at(name) for name in names] == started, "asked twice, the same"
    assert len({walker.number for each in started for walker in each}) == walkers


def test_of_many_seeds_only_as_many_start_a_walk_as_there_are_walkers() -> None:
    names = [f"n{number}" for number in range(500)]
    start = Start(20, names)
    assert sum(len(start.walkers_at(name)) for name in names) == 20


def test_eight_neighbours_of_every_node_are_looked_up_where_lists_do_not_tell_about_them() -> None:
    rank = ranker("rwrw", {"walkers": 1}, setting=RankerSetting(None, (1,), "rwrw", lookup=7))
    lane, shown = Lane(rank), list[Arrival]()
    lane.follow = lambda arrival, now: shown.append(arrival) if arrival.lane == 7 else lane.add(arrival, now)
    lane.add(Arrival(lane=1, target="n5"), START)
    for minute in range(10):
        for task in lane.take(1, START + minute * MINUTE):
            relations = follows(*((task.target, other) for other in SMALL[task.target]))
            lane.visit(Visit(task=task, at=START, outcome=Outcome.OK, is_finished=True, relations=relations))
    nodes = [trodden(task.target, task.memory) for task in lane.tasks.values()]
    listed = [node for node in nodes if node.degree]
    assert [len(node.witnesses) for node in listed] == [8] * len(listed)
    assert all(witness in SMALL[node.node] for node in listed for witness in node.witnesses)
    assert Counter(arrival.target for arrival in shown) == Counter(each for node in listed for each in node.witnesses)
