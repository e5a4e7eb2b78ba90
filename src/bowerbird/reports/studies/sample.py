"""The sample that walks along relations have drawn: the accounts with their weights, what they say about all accounts, and how
sure that is."""

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
"""Profiles are looked up in batches, and those not looked up yet are rather the unpopular ones: without them it is off."""
GOOD_ENOUGH = "good enough"


class Account(Struct, frozen=True, kw_only=True):
    """One account of a sample; the weights of a sample add up to one."""

    key: str
    id: str | None
    handle: str | None
    degree: int
    steps: int
    weight: float
    opts_out: bool


class Figure(Struct, frozen=True, kw_only=True):
    """What a sample says about all accounts, with the interval that holds the truth in 95 of 100 samples."""

    name: str
    value: float | None = None
    """Empty, like all the rest, where the walk is too short to tell."""
    low: float | None = None
    high: float | None = None
    geweke: float | None = None
    r_hat: float | None = None
    known: float = 0.0
    """Part of the steps for which something is known."""
    wanted: float | None = None
    """The half-width that the crawl stops at, in the figure's own unit."""
    is_reached: bool = False
    """All three signs say that it is good enough, of enough accounts, and it is known for nearly all steps."""


class Sample(Struct, frozen=True, kw_only=True):
    """What the walks of one crawl on one service have brought."""

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
        """Whether the walk meets all accounts alike, so that none must be weighed."""
        return self.method == "mhrw"

    def drawn(self, size: int, seed: int = 0) -> list[Account]:
        """So many accounts at most, all with the same chance, as they may be counted without weights; one may be drawn twice."""
        accounts = {account.key: account for account in self.accounts}
        steps = sampling.reservoir(self.trace, size, seed, is_uniform=self.is_uniform, jump=self.jump)
        even = 1 / max(len(steps), 1)
        return [msgspec.structs.replace(accounts[step[2]], steps=1, weight=even) for step in steps]

    def walks(self, value: sampling.Value) -> list[sampling.Walk]:
        """What was seen on the way, without the first steps."""
        around = self.known.around if not self.is_uniform else lambda node: ()
        taken = sampling.walks(self.trace, value, is_uniform=self.is_uniform, jump=self.jump, around=around)
        return sampling.without_burn_in(taken)


class _Use(Struct):
    name: str
    ranker: str = ""
    options: dict[str, Any] = {}


class _Told(Struct):
    """What the database remembers of a flow, as far as it matters here."""

    facets: tuple[_Use, ...] = ()
    stop: Stop = Stop()


class _Walk(Struct, frozen=True):
    """One walk to be read."""

    lane: WalkLane
    use: _Use
    stop: Stop


async def read_samples(database: Database, crawl: str | None = None, names: Sequence[str] | None = None) -> list[Sample]:
    """The samples of all crawls or of one, with all figures or only those named."""
    return [await _sample(database, walk, names) async for walk in _walks(database, crawl)]


async def enough(database: Database, crawl: str) -> str:
    """The reason to end a crawl whose samples are as good as its stop rule wants; empty to go on."""
    walks = [walk async for walk in _walks(database, crawl)]
    figures = [each for walk in walks for each in (await _sample(database, walk, walk.stop.estimates)).figures]
    if not figures or not all(figure.is_reached for figure in figures):
        return ""
    return f"{GOOD_ENOUGH}: " + ", ".join(f"{each.name} {each.value:.4g} ({each.low:.4g} to {each.high:.4g})" for each in figures)


async def _walks(database: Database, crawl: str | None) -> AsyncIterator[_Walk]:
    """The lane of each walk in which its walkers wait: the first one of its flow."""
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
    """All whose profiles may be known: who was counted, and their witnesses."""
    counted = [node for node in nodes.values() if node.steps]
    return [*({node.node for node in counted} | {key for node in counted for key in node.witnesses} - {STAYS})]


def _accounts(sample: Sample) -> tuple[Account, ...]:
    """Everybody who was counted, the heaviest first."""
    weights: defaultdict[str, float] = defaultdict(float)
    for step in sample.trace:
        weights[step.node] += sampling.weight(step.degree, sample.jump, is_uniform=sample.is_uniform)
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
