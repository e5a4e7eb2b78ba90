"""The scale model: fewer seeds, and limits, stops and the speed of the network made smaller by the same factor.

Then everything takes the same time as in the full crawl, and what is counted is the full crawl's times the factor.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import timedelta
from typing import Any

from msgspec import Struct, structs

from bowerbird.flows.files.crawl_file import CrawlPlan, ServicePlan
from bowerbird.flows.flow import Flow
from bowerbird.model import Credential, Facet, Limit, WindowKind
from bowerbird.providers import provider
from bowerbird.providers.limit_overrides import limit_name, with_limits
from bowerbird.simulated.serving.transport import NEARBY, Network

_LONGEST_WAY = 20.0
"""Slower calls would run out of their leases; a crawl so much larger than its model waits for limits, not for the network."""


class Model(Struct, frozen=True):
    """How many of the crawl's seeds are played."""

    seeds: int
    played: int

    @property
    def factor(self) -> float:
        return self.played / self.seeds

    def network(self, seed: int) -> Network:
        """Ways made longer, so that fewer calls keep the line as busy as all would."""
        stretch = min(_LONGEST_WAY, 1 / self.factor)
        return structs.replace(
            NEARBY, least=NEARBY.least * stretch, jitter=NEARBY.jitter * stretch, timeout=NEARBY.timeout * stretch, seed=seed
        )


def model_of(seeds: int, load: float, batch: int, most: int) -> Model:
    """A model that brings about `most` items when one seed brings `load`; whole batches, for half a batch costs a call too."""
    played = max(1, int(most / max(load, 1e-9)))
    if batch > 1:
        played = max(batch, played // batch * batch)
    return Model(seeds, min(seeds, played))


def scaled_flow(flow: Flow, model: Model) -> Flow:
    """The flow with its numbers of users, posts, items and calls made smaller."""
    stop = {name: _smaller(getattr(flow.stop, name), model) for name in ("calls", "items", "users", "posts")}
    filters = structs.replace(flow.filters, max_users=_smaller(flow.filters.max_users, model))
    return structs.replace(flow, stop=structs.replace(flow.stop, **stop), filters=filters)


def scaled_limits(planned: ServicePlan, plan: CrawlPlan, kind: str, model: Model) -> dict[str, dict[str, Any]]:
    """What the crawl file would have to say for the limits of the model, its own numbers taken into account."""
    speaks = with_limits(provider(planned.service.provider), planned.limits)
    table = speaks.facets_for(kind)
    own = {name: {key: each[key] for key in each if key.endswith("_per_call")} for name, each in planned.limits.items()}
    asked = [table[use.name] for use in plan.flow.among(speaks.facets).facets if use.name in table]
    smaller = {facet.name: dict(_limits(facet, model)) for facet in asked}
    return own | {name: {**own.get(name, {}), **limits} for name, limits in smaller.items() if limits}


def kind_in_use(planned: ServicePlan, credentials: Mapping[str, Credential]) -> str:
    own = [each.kind for each in credentials.values() if each.provider == planned.service.provider]
    return own[0] if own else "none"


def batch_of(plan: CrawlPlan) -> int:
    """The most objects that a call of the flow can ask about."""
    facets = provider(plan.services[0].service.provider).facets
    return max((facets[use.name].objects_per_call for use in plan.flow.facets if use.name in facets), default=1)


def _limits(facet: Facet, model: Model) -> Iterator[tuple[str, dict[str, int | timedelta]]]:
    yield from ((limit_name(limit), _limit(limit, model.factor)) for limit in facet.limits if not limit.is_money)


def _limit(limit: Limit, factor: float) -> dict[str, int | timedelta]:
    """A smaller allowance, rounded down, in a window that is shorter for it; a part of one call is one in a longer window."""
    wanted = limit.allowance * factor
    if limit.kind is WindowKind.MONTH:
        return {"allowance": max(1, round(wanted)), "window": limit.window}
    allowance = max(1, int(wanted + 1e-9))
    return {"allowance": allowance, "window": limit.window * (allowance / wanted)}


def _smaller(number: int | None, model: Model) -> int | None:
    return None if number is None else max(1, round(number * model.factor))
