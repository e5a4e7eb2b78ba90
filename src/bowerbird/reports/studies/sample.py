"""Report the sample of walks along relations: accounts with weights, and estimates for all accounts with intervals."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Sequence
from math import isfinite
from typing import Any

import msgspec
from msgspec import Struct

from bowerbird.analysis import sampling
from bowerbird.flows.flow import ESTIMATES, Stop
from bowerbird.policies.graph_walks.walking import STAYS, Step, Trodden, trodden
from bowerbird.policies.registry import WALKS
from bowerbird.ports import Database
from bowerbird.reports.studies.known import Known
from bowerbird.reports.studies.walks import WalkLane, read_lanes, read_users, read_walk

_MEANS = frozenset({"degree", "followers", "following", "posts"})
LEAST_KNOWN = 0.8
"""Profiles are requested in batches, popular accounts earlier: estimates from few profiles are biased."""


class Account(Struct, frozen=True, kw_only=True):
    """An account of a sample; the weights of a sample add up to 1."""

    key: str
    id: str | None
    handle: str | None
    degree: int
    steps: int
    weight: float
    opts_out: bool


class Figure(Struct, frozen=True, kw_only=True):
    """An estimate for all accounts with its 95 % interval."""

    name: str
    value: float | None = None
    """None, like the other fields, if the walk is too short."""
    low: float | None = None
    high: float | None = None
    geweke: float | None = None
    r_hat: float | None = None
    known: float = 0.0
    """Share of steps with a known value."""
    wanted: float | None = None
    """The half-width at which the crawl stops, in the unit of the figure."""
    is_reached: bool = False
    """All diagnostics are good, with enough accounts and values for nearly all steps."""


class Sample(Struct, frozen=True, kw_only=True):
    """The sample of the walks of one crawl on one service."""

    crawl: str
    service: str
    method: str
    jump: int
    walkers: int
    trace: tuple[Step, ...]
    known: Known
    accounts: tuple[Account, ...]
    figures: tuple[Figure, ...]

    @property
    def is_uniform(self) -> bool:
        """True if the walk visits all accounts equally often, so that all weights are equal."""
        return self.method == "mhrw"

    def drawn(self, size: int, seed: int = 0) -> list[Account]:
        """Return at most so many accounts, all with the same chance, for use without weights; an account may occur twice."""
        accounts = {account.key: account for account in self.accounts}
        steps = sampling.reservoir(self.trace, size, seed, is_uniform=self.is_uniform, jump=self.jump)
        even = 1 / max(len(steps), 1)
        return [msgspec.structs.replace(accounts[step[2]], steps=1, weight=even) for step in steps]

    def walks(self, value: sampling.Value) -> list[sampling.Walk]:
        """Return the observations of the walks without the first steps."""
        around = self.known.around if not self.is_uniform else lambda node: ()
        taken = sampling.walks(self.trace, value, is_uniform=self.is_uniform, jump=self.jump, around=around)
        return sampling.without_burn_in(taken)


class _Use(Struct):
    name: str
    ranker: str = ""
    options: dict[str, Any] = {}


class _Told(Struct):
    """The relevant part of a stored flow."""

    facets: tuple[_Use, ...] = ()
    stop: Stop = Stop()


class _Walk(Struct, frozen=True):
    """A walk in the database."""

    lane: WalkLane
    use: _Use
    stop: Stop


async def read_samples(database: Database, crawl: str | None = None, names: Sequence[str] | None = None) -> list[Sample]:
    """Return the samples of all crawls or of one, with all figures or some."""
    return [await _sample(database, walk, names) async for walk in _walks(database, crawl)]


async def enough(database: Database, crawl: str) -> str:
    """Return the reason to end a crawl whose samples satisfy its stop rule, or an empty string."""
    walks = [walk async for walk in _walks(database, crawl)]
    figures = [each for walk in walks for each in (await _sample(database, walk, walk.stop.estimates)).figures]
    if not figures or not all(figure.is_reached for figure in figures):
        return ""
    return "good enough: " + ", ".join(f"{each.name} {each.value:.4g} ({each.low:.4g} to {each.high:.4g})" for each in figures)


async def _walks(database: Database, crawl: str | None) -> AsyncIterator[_Walk]:
    """Return the lane of each walk in which its walkers wait: the first one of its flow."""
    lanes = [lane for lane in await read_lanes(database) if crawl in (None, lane.crawl)]
    for place in dict.fromkeys((lane.crawl, lane.service) for lane in lanes):
        own = {lane.facet: lane for lane in lanes if (lane.crawl, lane.service) == place}
        told = msgspec.json.decode(next(iter(own.values())).flow, type=_Told)
        use = next((use for use in told.facets if use.ranker in WALKS and use.name in own), None)
        if use is not None:
            yield _Walk(own[use.name], use, told.stop)


async def _sample(database: Database, walk: _Walk, names: Sequence[str] | None) -> Sample:
    nodes = {target: trodden(target, memory) async for target, memory in read_walk(database, walk.lane)}
    pending = [clock for node in nodes.values() for clock in node.pending]
    steps = sampling.until_slowest_walker((step for node in nodes.values() for step in node.steps), pending)
    trace = [Step(*step) for step in steps]
    known = Known(nodes, await read_users(database, walk.lane, _everybody(nodes)))
    bare = Sample(
        crawl=walk.lane.crawl,
        service=walk.lane.service,
        method=walk.use.ranker,
        jump=int(walk.use.options.get("jump", 0)),
        walkers=len({step.walker for step in trace}),
        trace=tuple(trace),
        known=known,
        accounts=(),
        figures=(),
    )
    wanted = names if names is not None else [*dict.fromkeys((*ESTIMATES, *known.languages(), *walk.stop.estimates))]
    figures = tuple(_figure(bare, name, walk.stop.half_width) for name in wanted)
    return msgspec.structs.replace(bare, accounts=_accounts(bare), figures=figures)


def _everybody(nodes: dict[str, Trodden]) -> list[str]:
    """Return all accounts with possible profiles: visited ones and their random neighbours."""
    counted = [node for node in nodes.values() if node.steps]
    return [*({node.node for node in counted} | {key for node in counted for key in node.witnesses} - {STAYS})]


def _accounts(sample: Sample) -> tuple[Account, ...]:
    """Return the accounts of the sample, largest weight first."""
    weights: defaultdict[str, float] = defaultdict(float)
    for step in sample.trace:
        weights[step.node] += sampling.step_weight(step.degree, sample.jump, is_uniform=sample.is_uniform)
    steps, total = Counter(step.node for step in sample.trace), sum(weights.values())
    heaviest = sorted(weights.items(), key=lambda item: (-item[1], item[0]))
    return tuple(_account(sample.known, key, steps[key], weight / total) for key, weight in heaviest)


def _account(known: Known, key: str, steps: int, weight: float) -> Account:
    user = known.users.get(key)
    return Account(
        key=key,
        id=user["id"] if user else None,
        handle=user["handle"] if user else None,
        degree=known.nodes[key].listed,
        steps=steps,
        weight=weight,
        opts_out=bool(user and user["opts_out"]),
    )


def _figure(sample: Sample, name: str, half_width: float | None) -> Figure:
    taken = sample.walks(lambda key, degree: sample.known.value(name, key, degree))
    steps = sum(map(len, taken))
    if not steps:
        return Figure(name=name)
    found = sampling.convergence(taken)
    value, known = found.estimate.value, min(steps / max(0.9 * len(sample.trace), 1), 1.0)
    wanted = None if half_width is None else half_width * abs(value) if name in _MEANS else half_width
    return Figure(
        name=name,
        value=value,
        low=_finite(found.estimate.low),
        high=_finite(found.estimate.high),
        geweke=_finite(found.geweke),
        r_hat=_finite(found.r_hat),
        known=known,
        wanted=wanted,
        is_reached=wanted is not None and known >= LEAST_KNOWN and found.is_reached(wanted),
    )


def _finite(value: float) -> float | None:
    return value if isfinite(value) else None
