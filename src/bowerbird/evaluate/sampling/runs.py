"""One crawl that samples a simulated network whose truth is known, looked at after each part of its calls."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from math import sqrt
from random import Random
from statistics import fmean, pvariance

from msgspec import Struct, structs

from bowerbird.analysis import sampling
from bowerbird.app import Crawl
from bowerbird.clock import VirtualClock, run_virtual
from bowerbird.evaluate.laboratory import Laboratory
from bowerbird.flows.files.crawl_file import CrawlPlan
from bowerbird.flows.flow import Stop
from bowerbird.ports import Database
from bowerbird.reports.studies.sample import Sample, read_samples
from bowerbird.simulated.service import Setup
from bowerbird.simulated.world import WorldSettings

METHODS = ("mhrw", "rwrw", "frontier", "bfs")
FIGURES = ("degree", "label")
_START = datetime(2026, 1, 5, tzinfo=UTC)
_LABELLED = 0.05
_GLANCE = timedelta(seconds=2)
_WALK = """
flow.use = "sample"
flow.facets.following = {{ranker = "{method}", options = {{seed = {seed}}}}}
flow.facets.followers = {{ranker = "{method}", options = {{seed = {seed}}}}}
flow.facets.profiles.on = {shows}
"""
_BFS = """
flow.name = "bfs"
flow.seeds = ["following"]
flow.facets.following.ranker = "bfs"
flow.facets.followers.ranker = "bfs"
flow.edges = [
    {from = "following", to = "followers", take = "owners"},
    {from = "following", to = "following", take = "neighbours"},
    {from = "followers", to = "following", take = "neighbours"},
]
"""
_LISTED = """
select t.target, sum(g.listed) as degree
from tasks t join users u on u.id = 'x:' || t.target join listings g on g.user_no = u.user_no
where g.ended_at is not null and t.visits > 0 and t.lane in (select lane from lanes where facet = 'following')
group by t.target having count(*) = 2
"""


class Scene(Struct, frozen=True, kw_only=True):
    """What one run finds: a world, where to start, and how many calls it has."""

    accounts: int
    seed: int
    budgets: tuple[int, ...]


class Found(Struct, frozen=True, kw_only=True):
    """What a sample said after so many calls, and what is true."""

    calls: int
    steps: int
    estimates: dict[str, sampling.Estimate]
    truth: dict[str, float]

    def relative(self, name: str) -> float:
        return self.estimates[name].value / self.truth[name] - 1

    def holds(self, name: str) -> bool:
        estimate = self.estimates[name]
        return estimate.low <= self.truth[name] <= estimate.high


class Truth:
    """The accounts of a laboratory that a walk can reach, with what is to be estimated."""

    def __init__(self, laboratory: Laboratory, seed: int) -> None:
        graph, keys = _graph(laboratory), laboratory.keys()
        self.start = keys[_start(graph, seed)]
        reached = _reached(graph, keys.index(self.start))
        labelled = set(Random(seed).sample(sorted(reached), max(round(len(reached) * _LABELLED), 1)))
        self.degrees = {keys[number]: len(graph[number]) for number in reached}
        self.labels = {keys[number]: float(number in labelled) for number in reached}
        self.figures = {"degree": fmean(self.degrees.values()), "label": fmean(self.labels.values())}


def run_method(method: str, scene: Scene) -> list[Found]:
    """What the sample says after each part of the calls."""

    async def main(clock: VirtualClock) -> list[Found]:
        world = WorldSettings(accounts=scene.accounts, seed=scene.seed, following=15.0, longest_history=1, until=_START)
        laboratory = Laboratory(Setup(dialect="twitter_v1", world=world, tokens=2), clock)
        truth = Truth(laboratory, scene.seed)
        async with laboratory.crawl(_plan(laboratory, method, truth.start, scene)) as crawl:
            ended = asyncio.Event()
            looking = asyncio.create_task(_looks(crawl, clock, truth, scene.budgets[:-1], ended))
            await laboratory.run(crawl)
            ended.set()
            return [*await looking, await _look(crawl, truth)]

    found: list[Found] = run_virtual(main, start=_START)
    return found


def _plan(laboratory: Laboratory, method: str, start: str, scene: Scene) -> CrawlPlan:
    shows = "false" if method == "mhrw" else "true"
    flow = _BFS if method == "bfs" else _WALK.format(method=method, seed=scene.seed, shows=shows)
    plan = laboratory.plan(flow, [start])
    # The walk is judged here, after so many calls, and not by itself.
    return structs.replace(plan, flow=structs.replace(plan.flow, stop=Stop(calls=scene.budgets[-1])))


async def _looks(crawl: Crawl, clock: VirtualClock, truth: Truth, budgets: tuple[int, ...], ended: asyncio.Event) -> list[Found]:
    """Looks at the sample as it stands after so many calls."""
    found = []
    for calls in budgets:
        while crawl.tally.calls < calls and not ended.is_set():
            await clock.wait(ended, clock.now() + _GLANCE)
        found.append(await _look(crawl, truth))
    return found


async def _look(crawl: Crawl, truth: Truth) -> Found:
    calls = crawl.tally.calls
    samples = await read_samples(crawl.database, names=())
    return _walked(samples[0], truth, calls) if samples else _seen(await _listed(crawl.database), truth, calls)


def _walked(sample: Sample, truth: Truth, calls: int) -> Found:
    values: dict[str, sampling.Value] = {
        "degree": lambda key, degree: sample.known.value("degree", key, degree),
        # Whoever is looked at shows the label, as far as a walk may come to him.
        "label": lambda key, degree: truth.labels.get(key),
    }
    estimates = {name: sampling.estimate(sample.walks(value)) for name, value in values.items()}
    return Found(calls=calls, steps=len(sample.trace), estimates=estimates, truth=truth.figures)


def _seen(degrees: Mapping[str, int], truth: Truth, calls: int) -> Found:
    """What those say who take the first accounts that they meet for a fair sample."""
    labels = [truth.labels[key] for key in degrees if key in truth.labels]
    estimates = {"degree": _plain([float(degree) for degree in degrees.values()]), "label": _plain(labels)}
    return Found(calls=calls, steps=len(degrees), estimates=estimates, truth=truth.figures)


def _plain(values: list[float]) -> sampling.Estimate:
    error = sqrt(pvariance(values) / len(values))
    value, half_width = fmean(values), sampling.t_quantile(len(values) - 1) * error
    return sampling.Estimate(value, error, value - half_width, value + half_width)


async def _listed(database: Database) -> dict[str, int]:
    """By account: how long both its lists together are, where both were listed."""
    async with database.reading() as tx:
        return {row["target"]: int(row["degree"]) for row in await tx.fetch(_LISTED)}


def _graph(laboratory: Laboratory) -> list[list[int]]:
    """By account: who it follows and who follows it, a mutual relation twice; nobody for those whose lists are closed."""
    truth = laboratory.service.truth
    open_to_all = [truth.is_available(number, _START) for number in range(len(laboratory.service.world))]
    return [
        [*truth.following(number, _START), *truth.followers(number, _START)] if is_open else []
        for number, is_open in enumerate(open_to_all)
    ]


def _start(graph: list[list[int]], seed: int) -> int:
    """An ordinary account to start from; most of them are in the one large piece of the graph."""
    candidates = [number for number, others in enumerate(graph) if len(others) > 3]
    return Random(seed + 1).choice(candidates)


def _reached(graph: list[list[int]], start: int) -> set[int]:
    reached, ends = {start}, [start]
    while ends:
        for other in graph[ends.pop()]:
            if other not in reached and graph[other]:
                reached.add(other)
                ends.append(other)
    return reached
