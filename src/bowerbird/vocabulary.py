"""The words that flow and crawl files may use, gathered from everybody who has some."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bowerbird.analysis.places.areas import area_named
from bowerbird.analysis.places.opened import resolver_in
from bowerbird.flows.built_in import builtin_flows
from bowerbird.flows.flow import Vocabulary
from bowerbird.limits.filling import fill
from bowerbird.policies.registry import RANKERS
from bowerbird.ports import GeographicProvider, StreamProvider
from bowerbird.providers import PROVIDERS, TabledProvider, provider
from bowerbird.providers.tables import with_limits
from bowerbird.settings import load_settings


def vocabulary() -> Vocabulary:
    """The words that flow and crawl files may use."""
    known = {name: provider(name) for name in PROVIDERS}
    streaming = {name: each for name, each in known.items() if isinstance(each, StreamProvider)}
    geographic = {name: each for name, each in known.items() if isinstance(each, GeographicProvider)}
    return Vocabulary(
        rankers=RANKERS,
        providers={name: each.facets for name, each in known.items()},
        flows=builtin_flows(),
        channels={name: each.channels for name, each in streaming.items()},
        subscribe=lambda name, channel, options: streaming[name].subscription(channel, options),
        area=lambda text: area_named(text, resolver_in(load_settings().cache_folder)),
        place_ways={name: each.place_ways for name, each in geographic.items()},
        check_limits=lambda name, limits: _check_limits(known[name], limits),
        geography=lambda name, areas, way: geographic[name].geography(areas, way),
    )


def _check_limits(speaks: TabledProvider, limits: Mapping[str, Mapping[str, Any]]) -> None:
    """Raises `UserError` for limits that the provider does not have, or that no call could keep."""
    for table in with_limits(speaks, limits).tables.values():
        for facet in table.values():
            fill(facet, speaks.name, None)
