"""The words that flow and crawl files may use, gathered from everybody who has some."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar

from bowerbird.flows.built_in import builtin_flows
from bowerbird.flows.flow import Vocabulary
from bowerbird.keywords.keyword_set import parse_keyword
from bowerbird.keywords.methods import METHODS
from bowerbird.limits.rate_limits import call_charges
from bowerbird.model import Area, KeywordStream
from bowerbird.modules.running.found import KnownModules, KnownWords
from bowerbird.policies.registry import RANKERS
from bowerbird.providers import PROVIDERS, provider
from bowerbird.providers.limit_overrides import with_limits
from bowerbird.settings import load_settings

if TYPE_CHECKING:
    from bowerbird.providers import Provider

V = TypeVar("V")


class _ByProvider(Mapping[str, V]):
    """Something of each provider that has it. A provider's code is loaded when its name is looked up: a crawl file names one."""

    def __init__(self, read: Callable[[Provider], V | None]) -> None:
        self._read = cache(lambda name: read(_known(name)) if name in PROVIDERS else None)

    def __getitem__(self, name: str) -> V:
        found = self._read(name)
        if found is None:
            raise KeyError(name)
        return found

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self._read(name) is not None

    def __iter__(self) -> Iterator[str]:
        return (name for name in PROVIDERS if name in self)

    def __len__(self) -> int:
        return sum(1 for _ in self)


@cache
def _known(name: str) -> Provider:
    return provider(name)


def vocabulary() -> Vocabulary:
    """The words that flow and crawl files may use."""
    return Vocabulary(
        rankers=RANKERS,
        providers=_ByProvider(lambda each: each.facets),
        flows=builtin_flows(),
        channels=_ByProvider(lambda each: each.channels or None),
        subscribe=lambda name, channel, options: _known(name).subscription(channel, options),
        area=_area,
        place_ways=_ByProvider(lambda each: each.place_ways or None),
        check_limits=lambda name, limits: _check_limits(_known(name), limits),
        methods=METHODS,
        modules=KnownWords(KnownModules()),
        keywords=_keyword_stream,
        geography=lambda name, areas, way: _known(name).geography(areas, way),
    )


def _area(text: str) -> Area:
    # Only few crawls name areas, and the names of places take long to load.
    from bowerbird.analysis.places.classifier import find_area
    from bowerbird.analysis.places.resolver import open_resolver

    return find_area(text, open_resolver(load_settings().cache_folder))


def _keyword_stream(name: str, keywords: Sequence[str]) -> KeywordStream | None:
    speaks = _known(name)
    terms = tuple(dict.fromkeys(parse_keyword(each) for each in keywords))
    return speaks.keyword_stream(terms)


def _check_limits(speaks: Provider, limits: Mapping[str, Mapping[str, Any]]) -> None:
    """Raises `UserError` for limits that the provider does not have, or that no call could keep."""
    for table in with_limits(speaks, limits).tables.values():
        for facet in table.values():
            call_charges(facet, speaks.name, None)
